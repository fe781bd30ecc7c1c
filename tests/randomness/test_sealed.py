"""No copies, no pickles, no subclasses, and a silent repr, for whatever touches random bytes."""

import copy
import os
import pickle

import pytest

from safeselect.randomness.bits import Bits
from safeselect.randomness.foreign import ForeignSource
from safeselect.randomness.guard import Guard
from safeselect.randomness.source import OpenSSLSource, guarded
from safeselect.sources import CallbackSource, CombinedSource, SystemSource
from safeselect.testing import DeterministicSource, RecordingSource, ReplaySource


class Plain:
    name, production = "Plain", True

    def begin(self):
        return os.urandom(16)

    def fill(self, buffer, /):
        buffer[:] = os.urandom(len(buffer))


BUILD = {
    OpenSSLSource: OpenSSLSource,
    SystemSource: SystemSource,
    CombinedSource: lambda: CombinedSource(SystemSource(), OpenSSLSource()),
    CallbackSource: lambda: CallbackSource(os.urandom, name="hsm"),
    DeterministicSource: lambda: DeterministicSource(7, i_understand_this_is_not_private=True),
    ReplaySource: lambda: ReplaySource(b"secret" * 99),
    RecordingSource: lambda: RecordingSource(SystemSource()),
    Guard: lambda: Guard(os.urandom),
    ForeignSource: lambda: guarded(Plain()),
    Bits: lambda: Bits(SystemSource()),
}

every_kind = pytest.mark.parametrize("kind", BUILD, ids=lambda kind: kind.__name__)


@every_kind
def test_copies_are_refused(kind):
    thing = BUILD[kind]()
    for attempt in (
        copy.copy,
        copy.deepcopy,
        *[
            lambda value, protocol=protocol: pickle.dumps(value, protocol)
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
        ],
    ):
        with pytest.raises(TypeError, match=f"{kind.__name__} objects cannot be copied or pickled"):
            attempt(thing)
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.deepcopy({"nested": [thing]})


@every_kind
def test_subclasses_are_refused(kind):
    with pytest.raises(TypeError, match="cannot be subclassed"):
        type("Mine", (kind,), {})


@every_kind
def test_repr_shows_the_class_only(kind):
    thing = BUILD[kind]()
    assert repr(thing) == str(thing) == f"{thing}" == f"<{kind.__name__}>"


@every_kind
def test_there_is_no_room_for_other_attributes(kind):
    thing = BUILD[kind]()
    assert not hasattr(thing, "__dict__")
    with pytest.raises(AttributeError, match="object has no attribute"):
        thing.seed = 7
    for member in ("begin", "fill"):
        if hasattr(kind, member):
            with pytest.raises(AttributeError, match="object attribute"):
                setattr(thing, member, lambda *_: bytes(16))
