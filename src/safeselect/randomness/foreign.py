"""Sources that somebody else wrote: whatever they say of themselves, they run behind our guard."""

from __future__ import annotations

import re
from typing import cast, final

from safeselect.errors import SourceError
from safeselect.randomness._accept import Members, members_of
from safeselect.randomness._buffers import wipe
from safeselect.randomness._guard import Guard
from safeselect.randomness._mixed import mixed
from safeselect.randomness._own import is_own, own
from safeselect.randomness._protocol import NONCE_BYTES, Source
from safeselect.randomness._sealed import sealed
from safeselect.randomness.system import SystemSource

__all__ = ["ForeignSource", "guarded"]

_LONGEST_NAME = 64
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]", re.ASCII)

# The foreign sources met last with their guards, by identity, so that a source is tested once and
# stays failed.  A source is kept as long as its guard, so nothing else can have its identity.
_REMEMBERED = 32
_guards: dict[int, tuple[object, ForeignSource]] = {}


def guarded(value: object) -> Source:
    """Return a source that keeps the rules: one of this package's own, or a guard around another.

    Raises:
        ParameterError: it keeps not even the form of the Source protocol.
    """
    if is_own(value):
        return cast(Source, value)
    known = _guards.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    found = ForeignSource(members_of(value))
    # A source for tests has no state that a second guard would lack.
    if found.production:
        while len(_guards) >= _REMEMBERED:
            _guards.pop(next(iter(tuple(_guards)), 0), None)
        _guards[id(value)] = value, found
    return found


@final
class _Device:
    """What a foreign source gives, in memory of its own: what it keeps or alters is not ours.

    Every failure becomes a SourceError of constant text; only a source for tests says its own.
    """

    __slots__ = ("_members",)

    def __init__(self, members: Members) -> None:
        self._members = members

    def draw(self, count: int) -> bytes:
        scratch = bytearray(count)
        try:
            self._members.fill(memoryview(scratch))
            return bytes(scratch)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, its text may hold bytes
            raise self._failure(error, "the source failed while drawing bytes") from None
        finally:
            wipe(scratch)

    def nonce(self, _: int) -> bytes:
        try:
            nonce = self._members.begin()
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            raise self._failure(error, "the source failed as a call began") from None
        if type(nonce) is not bytes or len(nonce) != NONCE_BYTES:
            raise SourceError(f"the source gave a nonce that is not of {NONCE_BYTES} bytes")
        return nonce

    def _failure(self, error: Exception, sentence: str) -> SourceError:
        if not self._members.production and type(error) is SourceError:
            return SourceError(str(error))
        return SourceError(sentence)


@final
@own
@sealed
class ForeignSource:
    """The bytes of a source of another class, XOR-ed with those of the operating system.

    Its own bytes are tested at start-up and at each request, as a callback's are.  A source that
    says it is for tests (`production` is False) is neither mixed nor tested, so that its bytes can
    be repeated, and is never taken for one that is meant for production.

    Args:
        members: what the source said of itself.
    """

    __slots__ = ("_device", "_guard", "_name", "_production")

    def __init__(self, members: Members) -> None:
        device = _Device(members)
        self._production = members.production
        self._name = f"ForeignSource({_NO_NAME.sub('_', members.name[:_LONGEST_NAME])})"
        self._device = Guard(device.draw, nonce=device.nonce, health=self._production, vouched=True)
        self._guard = (
            mixed(self._device, SystemSource(), health=False) if self._production else self._device
        )

    @property
    def name(self) -> str:
        """ForeignSource(...) around the name that the source gives itself."""
        return self._name

    @property
    def production(self) -> bool:
        """What the source said."""
        return self._production

    @property
    def tested(self) -> bool:
        """Whether the foreign bytes passed the tests in this process."""
        return self._production and self._device.tested

    def begin(self) -> bytes:
        """Start one public call; see `Source.begin`."""
        return self._guard.begin()

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Fill the whole buffer or raise; see `Source.fill`."""
        self._guard.fill(buffer)
