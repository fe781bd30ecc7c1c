"""Rules of every mechanism: a fork shares nothing, and sources are known.

Whatever is looked at here follows from arguments and from the order of events, so a single release
shows it; where two releases are compared, they agree by chance with probability below 2**-30.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from safeselect.audit.finding import Refuted
from safeselect.audit.forks import in_child
from safeselect.audit.mechanisms import takes_engine
from safeselect.audit.trials import (
    OpenSSLSource,
    Stuck,
    fingerprint,
    open_session,
    refused,
    release,
    source_of,
)
from safeselect.errors import ParameterError, SourceError
from safeselect.sources import OpenSSLSource as Ours
from safeselect.testing import DeterministicSource

_VARIABLE = "SAFESELECT_REQUIRE_PRODUCTION"


def check_fork(name: str, every: int) -> str:
    """A child and its parent release different things, and a child cannot use an open session.

    Raises:
        Refuted: they release the same, or the child was answered.
    """
    if not hasattr(os, "fork"):
        return "this system has no fork"
    fingerprint(name)  # so that the source is warm, and has bytes to share if it kept any
    first, second = (in_child(lambda: fingerprint(name)) for _ in range(2))
    ours = repr(fingerprint(name))
    if len({first, second, ours}) < 3:
        raise Refuted("a process and its children release the same")
    ask = open_session(name)
    if ask is not None:
        ask()
        if in_child(ask) != "SourceError":
            raise Refuted("a child answers with its parent's noise")
        ask()
    return "a child's releases are its own" + (
        "" if ask is None else ", sessions are refused there"
    )


def check_sources(name: str, every: int) -> str:
    """Foreign sources are mixed with the system's bytes; seeds and stuck devices are refused.

    Raises:
        Refuted: a predictable source decided a release, or passed for one of this package's.
    """
    found = release(name, source=OpenSSLSource(b"a stream that somebody knows"))
    if source_of(found) != "ForeignSource(OpenSSLSource)":
        raise Refuted("a foreign source passes for one of this package's own")
    same = [fingerprint(name, source=OpenSSLSource(b"the same stream")) for _ in range(2)]
    if same[0] == same[1]:
        raise Refuted("a predictable source decides a release")
    refused(SourceError, name, source=Stuck())
    for seed in (7, b"seed", OpenSSLSource):
        refused(ParameterError, name, source=seed)
    with warnings.catch_warnings(), _production(""):
        warnings.simplefilter("ignore")
        seeded = DeterministicSource(b"known", i_understand_this_is_not_private=True)
        if "NOT PRIVATE" not in source_of(release(name, source=seeded)):
            raise Refuted("a result does not say that its source is for tests")
    with _production("1"):
        refused(ParameterError, name, source=seeded)
        if takes_engine(name):
            refused(ParameterError, name, engine="reference")
        if source_of(release(name, source=Ours())) != "OpenSSLSource":
            raise Refuted("a result names another source")
    return "foreign sources are named and mixed; seeds, stuck and predictable sources are refused"


@contextmanager
def _production(value: str) -> Iterator[None]:
    """The variable that allows only production, set for a while."""
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before
