"""After a fork, parent and child never share a byte."""

import json
import os

import pytest
from children import in_child

from safeselect.randomness.source import OpenSSLSource, default_source
from safeselect.sources import CallbackSource, CombinedSource, SystemSource

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


def draw(source):
    buffer, nonce = bytearray(32), source.begin()
    source.fill(buffer)
    return nonce + buffer


SOURCES = {
    "OpenSSLSource": OpenSSLSource,
    "SystemSource": SystemSource,
    "CombinedSource": lambda: CombinedSource(OpenSSLSource(), SystemSource()),
    "CallbackSource": lambda: CallbackSource(os.urandom, fork_safe=True),
    "default": default_source,
}


@pytest.mark.claim("C6")
@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("used_before", [False, True])
def test_child_parent_and_sibling_get_different_bytes(name, used_before):
    source = SOURCES[name]()
    if used_before:
        draw(source)
    outputs = [in_child(lambda: draw(source)), draw(source), in_child(lambda: draw(source))]
    assert all(type(output) is bytes and len(output) == 48 for output in outputs)
    assert len({output[:16] for output in outputs}) == 3
    assert len({output[16:] for output in outputs}) == 3


def test_start_up_tests_run_again_in_the_child():
    sizes = []

    def device(count):
        sizes.append(count)
        return os.urandom(count)

    source = CallbackSource(device, exclusive=True, fork_safe=True)
    source.begin()

    def child():
        sizes.clear()
        source.begin()
        source.begin()
        return json.dumps(sizes).encode()

    assert json.loads(in_child(child)) == [16, *[1024] * 4, 16, 16]
    sizes.clear()
    source.begin()
    assert sizes == [16]


def test_the_default_source_is_renewed_in_the_child():
    parents = default_source()
    assert default_source() is parents
    assert in_child(lambda: str(default_source() is parents).encode()) == b"False"
    assert default_source() is parents
