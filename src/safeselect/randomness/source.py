"""The protocol of a source of random bytes, the default source, and the door of `source=`.

Anyone may write a source; `safeselect.testing.check_source` tests it against these rules.  The
library uses such a source behind a guard all the same.  The guard requests 16 bytes more than are
needed, tests these, and mixes in the system's bytes.  A source that says `production` is False is
used as it is.

1. All or nothing: `fill` fills every byte, or zeroes the buffer and raises `SourceError`.
2. Latched: a source that failed once fails until a new one is built.
3. Nothing outlives the call: a source keeps no random bytes back for a later call.
4. One object, one process: no pickling, no copying; after a fork a source draws fresh bytes or
   raises.
5. Silent: `repr` and errors show neither state nor bytes.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, Protocol, cast, final, runtime_checkable

from safeselect.errors import ParameterError, SourceError
from safeselect.randomness.guard import (
    Guard,
    Guarded,
    Worth,
    generation,
    guard_of,
    is_own,
    own,
    xored,
)

_FRESH_BYTES = 32
_FEW_BYTES = 512  # up to so many, the kernel gives all of them sooner than OpenSSL is reseeded

_VARIABLE = "SAFESELECT_REQUIRE_PRODUCTION"


@runtime_checkable
class Source(Protocol):
    """The protocol for sources of independent, uniform random bytes.

    A source fills the whole buffer or raises an error.
    """

    @property
    def name(self) -> str:
        """The name of the source in results and records, such as "OpenSSLSource".

        For sources of other packages, the name appears inside ForeignSource(...).
        """

    @property
    def production(self) -> bool:
        """Whether the source is for releases; False for a source for tests."""

    def begin(self) -> bytes:
        """Return 16 random bytes (`NONCE_BYTES`) as the nonce of a new mechanism call.

        The nonce is public: it goes into the record and never into a sampler. The library calls
        this method once at the beginning of every call of a mechanism. Exception: for this
        package's generators, exclusive callbacks included, it does so only if a ledger keeps the
        nonce, because their nonce is just another tested request.

        Raises:
            SourceError: the source is broken, stuck, or belongs to another process.
        """

    def fill(self, buffer: bytearray | memoryview, /) -> None:
        """Overwrite a writable, contiguous buffer with random bytes.

        Raises:
            ParameterError: the buffer is of another kind; nothing was drawn.
            SourceError: the source failed; the buffer holds zeros.
        """


def guarded(value: object) -> Source:
    """Return a source that keeps the rules: one of this package's own, or a guard around another.

    Raises:
        ParameterError: the object does not have the form of the Source protocol.
    """
    if is_own(value):
        return cast(Source, value)
    # A release with one of this package's own sources runs nothing of that module.
    from safeselect.randomness.foreign import guarded_foreign

    return guarded_foreign(value)


def _openssl_bytes(count: int) -> bytes:
    try:
        import ssl  # takes milliseconds, so it is imported only when bytes are drawn
    except ImportError:
        raise SourceError("this Python has no ssl module; use SystemSource()") from None
    # OpenSSL notices a fork by the process id alone.  A child with its parent's id (new process-id
    # namespaces have such children) would repeat the parent's bytes.  So would the clone of a
    # virtual machine.  Fresh kernel bytes in each fill make their bytes differ.  A few bytes are
    # the XOR of both generators' bytes, so they are uniform if either's are.  Before more bytes,
    # OpenSSL is given kernel bytes; an entropy claim of zero makes it reseed from the kernel too.
    few = count <= _FEW_BYTES
    try:
        fresh = os.urandom(count if few else _FRESH_BYTES)
        if not few:
            ssl.RAND_add(fresh, 0.0)
        if ssl.RAND_status():
            taken = ssl.RAND_bytes(count)
            return xored(taken, fresh) if few else taken
    except TimeoutError:
        raise  # the caller's own time limit: neither generator has one
    except (OSError, NotImplementedError):  # those of ssl are OSErrors
        raise SourceError("OpenSSL's generator failed") from None
    raise SourceError("OpenSSL's generator has not been seeded")


@final
@own
class OpenSSLSource(Guarded):
    """A source of random bytes that combines `ssl.RAND_bytes` with fresh kernel bytes for every
    request.

    This is the default source. Requests of up to 512 bytes, including the 16 tested bytes, are the
    XOR of OpenSSL's bytes and the same number of kernel bytes. The XOR is tested, so it does no
    harm here if one of the two is stuck. For larger requests, OpenSSL first receives 32 fresh
    kernel bytes and reseeds itself from the kernel. This takes 5 us, and then about 0.14 ns for
    each byte. OpenSSL's configuration determines whether it runs in FIPS mode. This class makes no
    claim about this mode, and the kernel's bytes are not part of it.
    """

    __slots__ = ()

    def __init__(self) -> None:
        self._guard = Guard(_openssl_bytes, vouched=True, worth="yes")


# The whole process shares this object.  Two threads that first need it at the same time may each
# build one.  Either is good, and one of them stays.
_current: OpenSSLSource | None = None


def default_source() -> Source:
    """Return the source used when none is given: one OpenSSLSource a process, built when needed.

    A source that failed a test stays failed until the process ends.  After any other failure the
    next call builds a new one, which is tested anew.  So an error that was not the generator's
    fault ends one call and no later one.

    Example:
        >>> from safeselect.sources import default_source
        >>> default_source().name
        'OpenSSLSource'
    """
    global _current
    if (current := _current) is not None:
        guard = current._guard
        if guard.born == generation() and (guard.unfit or not guard.failed):
            return current
    current = _current = OpenSSLSource()
    return current


def require_production() -> bool:
    """Return whether only production is allowed: SAFESELECT_REQUIRE_PRODUCTION is not empty.

    Any value but the empty one counts, "0" too: a typing error must not switch the check off.

    Example:
        >>> from safeselect.sources import require_production
        >>> require_production() in (True, False)
        True
    """
    return os.environ.get(_VARIABLE, "") != ""


def resolve(source: object | None) -> Source:
    """Return the source to use for an argument `source=`: the default for None.

    A source of another class than this package's own comes back behind a guard, with the system's
    bytes mixed in, unless it says that it is for tests; its name is ForeignSource(...).

    Raises:
        ParameterError: not a source (a seed, a generator for simulations, a class ...).  Or, while
            SAFESELECT_REQUIRE_PRODUCTION is set, a source for tests, or a callback's bytes alone
            where the variable does not say "asserted".

    Example:
        >>> from safeselect.sources import resolve
        >>> resolve(None).name
        'OpenSSLSource'
    """
    if source is None:
        return default_source()
    checked = guarded(source)
    guard = guard_of(checked)
    if guard.worth == "yes" or not require_production():
        return checked
    if guard.worth == "no":
        raise ParameterError(f"{checked.name} is for tests, but {_VARIABLE} is set; omit source")
    if guard.unmixed and os.environ.get(_VARIABLE) != "asserted":
        raise ParameterError(
            f"{checked.name} gets its bytes only from your function, but {_VARIABLE} is set; omit "
            f"exclusive=True to mix in the system's bytes, or set {_VARIABLE}=asserted; every "
            "record then states that the source is asserted"
        )
    return checked


@dataclass(frozen=True, slots=True)
class Observed:
    """The status of a source of random bytes: its name, its fitness for releases, and whether it
    passed its tests.

    All values are strings, as records state them.

    Args:
        name: name of the source. Only classes of this package have names of this package.
        production: "yes" for the generators of OpenSSL and the system; "asserted" if other code
            provides the bytes and asserts that they are good; "no" for sources for tests.
        health: "passed" if the source passed the start-up tests and a canary in this process and
            has not failed since; otherwise "not tested".
    """

    name: str
    production: Worth
    health: Literal["passed", "not tested"]


def observed(source: Source) -> Observed:
    """Return the current status of a source of random bytes.

    The status of a combined source is that of its weakest part.

    Args:
        source: a result of `resolve`.

    Returns:
        Observed: the name of the source, and two words for records.

    Raises:
        ParameterError: the source does not come from `resolve`.

    Example:
        >>> from safeselect.sources import observed, resolve
        >>> observed(resolve(None)).production
        'yes'
    """
    guard = guard_of(source)
    return Observed(source.name, guard.worth, "passed" if guard.tested else "not tested")
