"""The sources for tests, the conformance suite and the sensitivity check."""

import copy
import hashlib
import itertools
import os
import pickle
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from safeselect.errors import ParameterError, ScoreError, SourceError
from safeselect.sources import CallbackSource, SystemSource
from safeselect.testing import (
    DeterministicSource,
    InsecureSourceWarning,
    RecordingSource,
    ReplaySource,
    SensitivityExceeded,
    check_sensitivity,
    check_source,
)

VARIABLE = "SAFESELECT_REQUIRE_PRODUCTION"


@pytest.fixture(autouse=True)
def _soft(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


def deterministic(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSourceWarning)
        return DeterministicSource(seed, i_understand_this_is_not_private=True)


def take(source, size):
    buffer = bytearray(size)
    source.fill(buffer)
    return bytes(buffer)


class TestDeterministicSource:
    def test_it_warns(self):
        with pytest.warns(InsecureSourceWarning, match="not private") as caught:
            DeterministicSource(b"", i_understand_this_is_not_private=True)
        assert caught[0].filename == __file__

    def test_the_stream_is_the_one_documented(self):
        stream = b"".join(
            hashlib.shake_256(b"seed" + i.to_bytes(8, "big")).digest(4096) for i in range(3)
        )
        source = deterministic(b"seed")
        sizes = [16, 1, 0, 4000, 4096, 3000]
        start = 0
        for position, size in enumerate(sizes):
            drawn = source.begin() if position == 0 else take(source, size)
            assert drawn == stream[start : start + size]
            start += size

    def test_known_answer(self):
        assert take(deterministic(b""), 4).hex() == hashlib.shake_256(bytes(8)).hexdigest(4)

    @pytest.mark.parametrize(("seed", "same"), [("12", b"12"), (12, b"12"), ("é", b"\xc3\xa9")])
    def test_seeds(self, seed, same):
        assert take(deterministic(seed), 32) == take(deterministic(same), 32)
        assert take(deterministic(seed), 32) != take(deterministic(b"other"), 32)

    @pytest.mark.parametrize("seed", [None, 1.0, True, bytearray(b"x"), [1]])
    def test_other_seeds_are_refused(self, seed):
        with pytest.raises(ParameterError, match="the seed must be"):
            deterministic(seed)

    @pytest.mark.parametrize("options", [{}, {"i_understand_this_is_not_private": 1}])
    def test_the_keyword_is_needed(self, options):
        with pytest.raises(ParameterError, match="i_understand_this_is_not_private=True"):
            DeterministicSource(b"", **options)

    def test_it_says_that_it_is_not_for_production(self):
        source = deterministic(7)
        assert source.production is False
        assert source.name == "DeterministicSource"

    def test_it_is_not_at_the_front_door(self):
        import safeselect

        for name in safeselect.testing.__all__:
            assert name not in getattr(safeselect, "__all__", ())


class TestReplaySource:
    def test_the_tape_is_played_once(self):
        source = ReplaySource(b"abcdefgh")
        assert [take(source, 3), take(source, 0), take(source, 5)] == [b"abc", b"", b"defgh"]
        assert source.left == 0
        buffer = bytearray(b"\xff")
        with pytest.raises(SourceError, match="used up"):
            source.fill(buffer)
        assert buffer == b"\x00"

    def test_a_request_beyond_the_end_plays_nothing_and_latches(self):
        source = ReplaySource(b"abc")
        buffer = bytearray(b"\xff" * 4)
        with pytest.raises(SourceError, match="used up"):
            source.fill(buffer)
        assert buffer == bytes(4)
        with pytest.raises(SourceError, match="stays failed"):
            take(source, 1)

    def test_nonces_are_replayed_then_counted(self):
        source = ReplaySource(b"xy", nonces=[b"a" * 16, b"a" * 16])
        assert [source.begin() for _ in range(4)] == [
            b"a" * 16,
            b"a" * 16,
            bytes(15) + b"\x02",
            bytes(15) + b"\x03",
        ]
        assert take(source, 2) == b"xy"  # the tape feeds fill alone

    @pytest.mark.parametrize("data", [None, "text", 3, [1], memoryview(b"x")])
    def test_other_tapes_are_refused(self, data):
        with pytest.raises(ParameterError, match="the bytes to replay must be bytes or a bytearr"):
            ReplaySource(data)

    @pytest.mark.parametrize("nonces", [[b"short"], ["x" * 16], [None]])
    def test_other_nonces_are_refused(self, nonces):
        with pytest.raises(ParameterError, match="nonces"):
            ReplaySource(b"", nonces=nonces)

    def test_a_later_change_of_the_tape_changes_nothing(self):
        tape = bytearray(b"abc")
        source = ReplaySource(tape)
        tape[:] = b"xyz"
        assert take(source, 3) == b"abc"


class TestRecordingSource:
    def test_it_keeps_everything_and_changes_nothing(self):
        source = RecordingSource(ReplaySource(b"abcdef", nonces=[b"n" * 16]))
        assert source.begin() == b"n" * 16
        assert [take(source, 2), take(source, 0), take(source, 3)] == [b"ab", b"", b"cde"]
        assert source.requests == [2, 3]
        assert source.data == b"abcde"
        assert source.nonces == [b"n" * 16]
        assert source.name == "RecordingSource(ReplaySource)"
        assert source.production is False

    def test_a_recording_can_be_replayed(self):
        first = RecordingSource(SystemSource())
        drawn = [first.begin(), take(first, 33), first.begin(), take(first, 7)]
        second = ReplaySource(first.data, nonces=first.nonces)
        assert [second.begin(), take(second, 33), second.begin(), take(second, 7)] == drawn

    def test_failures_pass_through(self):
        source = RecordingSource(ReplaySource(b"abc"))
        buffer = bytearray(b"\xff" * 4)
        with pytest.raises(SourceError, match="used up"):
            source.fill(buffer)
        assert buffer == bytes(4)
        assert source.requests == [4]
        assert source.data == b""

    def test_what_it_returns_is_a_copy(self):
        source = RecordingSource(SystemSource())
        take(source, 2)
        source.requests.clear()
        source.nonces.append(b"")
        assert source.requests == [2]
        assert source.nonces == []

    def test_only_sources_are_recorded(self):
        with pytest.raises(ParameterError, match="an object of type Generator cannot be the sour"):
            RecordingSource(np.random.default_rng(1))


BUILD = [
    lambda: deterministic(1),
    lambda: ReplaySource(bytes(100)),
    lambda: RecordingSource(SystemSource()),
]


@pytest.mark.parametrize("build", BUILD)
def test_sources_for_tests_are_refused_when_hardened(monkeypatch, build):
    built_before = build()
    monkeypatch.setenv(VARIABLE, "1")
    with pytest.raises(ParameterError, match=VARIABLE):
        build()
    with pytest.raises(ParameterError, match=VARIABLE):
        built_before.begin()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("build", BUILD)
def test_sources_for_tests_raise_in_a_forked_child(build):
    source = build()
    source.begin()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            take(source, 4)
        except SourceError:
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert len(take(source, 4)) == 4


class Careful:
    """A source that keeps the rules without help from the library; the base of the broken ones."""

    name, production = "Careful", True

    def __init__(self):
        self.failed = False

    def begin(self):
        if self.failed:
            raise SourceError("failed")
        return os.urandom(16)

    def fill(self, buffer, /):
        if not isinstance(buffer, (bytearray, memoryview)):
            raise ParameterError("no buffer")
        view = memoryview(buffer)
        if view.readonly or not view.c_contiguous or view.format != "B":
            raise ParameterError("no buffer")
        if self.failed:
            view[:] = bytes(len(view))
            raise SourceError("failed")
        self.write(view)

    def write(self, view):
        view[:] = os.urandom(len(view))

    def __reduce_ex__(self, protocol):
        raise TypeError("no copies")

    def __repr__(self):
        return "<Careful>"


class Failing(Careful):
    def write(self, view):
        self.failed = True
        view[:] = bytes(len(view))
        raise SourceError("failed")


class Counting(Careful):
    count = 0

    def write(self, view):
        self.count += 1
        view[:] = hashlib.shake_256(str(self.count).encode()).digest(len(view))


def broken(**members):
    return lambda: type("Broken", (Careful,), members)()


def short_fill(self, view):
    view[:-1] = os.urandom(max(0, len(view) - 1))


def stuck_nonce(self):
    return b"n" * 16


def static_fill(self, view):
    view[:] = (b"\xff" * len(view))[: len(view)]


def returns_count(self, buffer, /):
    Careful.fill(self, buffer)
    return len(buffer)


def takes_lists(self, buffer, /):
    if isinstance(buffer, list):
        return
    Careful.fill(self, buffer)


def outside(self, buffer, /):
    Careful.fill(self, buffer)
    if isinstance(buffer, memoryview) and isinstance(buffer.obj, bytearray) and len(buffer):
        whole = memoryview(buffer.obj)
        if len(whole) > len(buffer):
            whole[-1] = 1


def keeps_a_view(self, buffer, /):
    Careful.fill(self, buffer)
    self.kept = memoryview(buffer) if isinstance(buffer, bytearray) else None


def one_tail(self, view):
    view[:] = os.urandom(len(view))
    if len(view) > 32:
        view[-16:] = b"n" * 16


def changing():
    answers = itertools.count()
    return property(lambda self: f"Source{next(answers)}")


def plain_reduce(self, protocol):
    return (Careful, ())


def same(made=Careful()):  # noqa: B008
    return made


class TestCheckSource:
    def test_a_careful_source_passes(self):
        rules = check_source(Careful, failing=Failing)
        assert set(rules) >= {"fills exactly", "no copies", "threads", "failure"}
        assert "failure" not in check_source(Careful)

    def test_the_fork_is_tried(self):
        assert ("fork" in check_source(SystemSource)) is hasattr(os, "fork")

    @pytest.mark.parametrize(
        ("factory", "words"),
        [
            (same, "a new source each time"),
            (broken(name=""), "name must not be empty"),
            (broken(begin=lambda self: "x" * 16), "begin"),
            (broken(begin=lambda self: bytearray(os.urandom(16))), "begin"),
            (broken(begin=lambda self: os.urandom(15)), "begin"),
            (broken(begin=stuck_nonce), "same nonce twice"),
            (broken(write=short_fill), "overwrites every byte"),
            (broken(write=static_fill), "never repeats its bytes"),
            (broken(fill=returns_count), "returns None"),
            (broken(fill=outside), "nothing outside"),
            (broken(fill=takes_lists), "raises ParameterError"),
            (broken(fill=keeps_a_view), "keeps no view"),
            (broken(write=one_tail), "the tests of each request"),
            (broken(name=changing()), "the same whenever"),
            (broken(__reduce_ex__=plain_reduce), "copied"),
            (broken(__copy__=lambda self: self), "copied"),
            (broken(__deepcopy__=lambda self, memo: self), "copied"),
            (broken(__repr__=lambda self: f"<{id(self)}>"), "repr"),
            (broken(__repr__=lambda self: "<Broken at 0x7f>"), "repr"),
            (broken(__str__=lambda self: str(id(self))), "repr"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_each_rule_can_fail(self, factory, words):
        with pytest.raises(AssertionError, match=words):
            check_source(factory)

    def test_what_is_no_source_is_refused(self):
        with pytest.raises(ParameterError, match="an object of type object is not a source: it l"):
            check_source(object)

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
    def test_state_copied_by_a_fork_is_found(self):
        with pytest.raises(AssertionError, match="parent's bytes"):
            check_source(Counting)

    def test_threads_that_share_bytes_are_found(self):
        def factory():
            pool = [os.urandom(32) for _ in range(5)]

            def write(self, view):
                view[:] = pool[0] if len(view) == 32 else os.urandom(len(view))
                if len(view) == 32:
                    pool.append(pool.pop(0))

            return broken(write=write)()

        with pytest.raises(AssertionError, match="two threads"):
            check_source(factory)

    def test_threads_that_fail_are_found(self, monkeypatch):
        import threading

        monkeypatch.setattr(threading, "excepthook", lambda args: None)
        main = threading.get_ident()

        def write(self, view):
            if threading.get_ident() != main:
                raise SourceError("only one thread")
            view[:] = os.urandom(len(view))

        with pytest.raises(AssertionError, match="several threads"):
            check_source(broken(write=write))

    @pytest.mark.parametrize(
        ("write", "words"),
        [
            (lambda self, view: view.__setitem__(0, 1), "stays failed"),
            ("unlatched", "stays failed"),
            ("left", "zeros"),
            ("chained", "hangs behind"),
            ("begins", "begin"),
        ],
    )
    def test_failures_that_break_the_rules_are_found(self, write, words):
        def fail(self, view):
            self.calls = getattr(self, "calls", 0) + 1
            view[:] = bytes(len(view))
            if write == "unlatched" and self.calls > 1:
                return
            if write == "left":
                view[0] = 1
            if write == "chained":
                raise SourceError("failed") from ValueError("secret")
            self.failed = write not in ("unlatched", "begins")
            raise SourceError("failed")

        with pytest.raises(AssertionError, match=words):
            check_source(Careful, failing=broken(write=write if callable(write) else fail))

    def test_the_librarys_own_sources_pass_with_failures(self):
        def failing():
            left = [16 + 4 * 1024 + 16 + 20]

            def answer(count):
                left[0] -= count
                return os.urandom(count if left[0] >= 0 else 0)

            source = CallbackSource(answer, max_chunk=1)
            source.begin()
            return source

        check_source(lambda: CallbackSource(os.urandom), failing=failing)


def count(data):
    return [data.count("a"), data.count("b"), data.count("c")]


class TestCheckSensitivity:
    def test_counts_keep_what_is_declared(self):
        pairs = [("abc", "abca"), ("", "c"), ("aab", "ab")]
        assert check_sensitivity(count, pairs, sensitivity=1, monotonic=True) == 3
        assert check_sensitivity(count, pairs, range_=1) == 3

    def test_it_names_the_pair_and_the_candidate(self):
        with pytest.raises(SensitivityExceeded, match="pair 1 exceeds") as caught:
            check_sensitivity(count, [("a", "ab"), ("b", "bccc")], sensitivity=2)
        error = caught.value
        assert (error.pair, error.rule, error.candidate) == (1, "sensitivity", 2)
        assert error.observed == 3
        assert isinstance(error, AssertionError)

    @pytest.mark.parametrize("pair", [("ab", "b"), ("b", "ab")])
    def test_both_directions_count(self, pair):
        with pytest.raises(
            SensitivityExceeded, match="exceeds the declared sensitivity: the score of"
        ) as caught:
            check_sensitivity(count, [pair], sensitivity="1/2")
        assert caught.value.candidate == 0
        assert check_sensitivity(count, [pair], sensitivity=1) == 1

    def test_replacing_is_not_monotonic(self):
        assert check_sensitivity(count, [("a", "b")], sensitivity=1) == 1
        with pytest.raises(
            SensitivityExceeded, match="exceeds the declared monotonic: some scores ri"
        ) as caught:
            check_sensitivity(count, [("a", "b")], sensitivity=1, monotonic=True)
        assert (caught.value.rule, caught.value.observed) == ("monotonic", 2)

    def test_the_range_is_the_spread_of_the_changes(self):
        assert check_sensitivity(lambda d: [d, d + 1], [(0, 50)], range_=1) == 1
        with pytest.raises(
            SensitivityExceeded, match="exceeds the declared range: the changes of the"
        ) as caught:
            check_sensitivity(lambda d: [d, -d], [(0, 1)], range_=1)
        assert (caught.value.rule, caught.value.observed) == ("range", 2)

    def test_the_order_of_summation_is_found(self):
        """Floats clipped to 1, but summed in an order that a neighbour may change."""
        large, ones = [2.0**53], [1.0] * 1000
        left, right = large + ones, [*ones, *large]
        with pytest.raises(
            SensitivityExceeded, match="exceeds the declared sensitivity: the score of"
        ) as caught:
            check_sensitivity(lambda data: [sum(data)], [(left, right)], sensitivity=1)
        assert caught.value.observed == 1000
        exact = check_sensitivity(
            lambda data: [sum(map(int, data))], [(left, right)], sensitivity=1
        )
        assert exact == 1

    def test_a_grid_too_coarse_for_computed_floats_is_found(self):
        """The float 0.3 lies below 3/10, and 0.3 + 1.0 above 13/10: six steps of 0.2, not five."""
        pair = [(0.3, 0.3 + 1.0)]
        with pytest.raises(SensitivityExceeded, match="changes by 6/5"):
            check_sensitivity(lambda d: [d], pair, sensitivity=1, grid="0.2", score_error=0)
        assert check_sensitivity(lambda d: [d], pair, sensitivity=1, grid="0.2") == 1

    def test_the_steps_are_those_that_would_be_read(self):
        """k/n in floats: on the grid 1/n it changes by one step, as it should."""
        n = 48_842
        pairs = [(k / n, (k + 1) / n) for k in range(2_000)]
        on_grid = {"sensitivity": Fraction(1, n), "grid": Fraction(1, n), "on_grid": True}
        assert check_sensitivity(lambda d: [d], pairs, **on_grid, monotonic=True) == 2_000
        with pytest.raises(SensitivityExceeded, match="pair 0 exceeds the declared sensitivity"):
            check_sensitivity(lambda d: [d], [(0, 2 / n)], **on_grid)

    def test_rounding_may_move_a_monotonic_score_back(self):
        """With an error of e a score may move by ceil(2 e / h) steps the other way, and no more."""
        monotonic = {"sensitivity": 1, "monotonic": True, "grid": 1, "score_error": 1}
        assert check_sensitivity(lambda d: d, [([0, 0], [3, -2])], **monotonic) == 1
        assert check_sensitivity(lambda d: d, [([0, 0], [2, -3])], **monotonic) == 1
        with pytest.raises(SensitivityExceeded, match="monotonic: some scores rise"):
            check_sensitivity(lambda d: d, [([0, 0], [3, -3])], **monotonic)

    @pytest.mark.parametrize(
        ("low", "high", "change"),
        [
            (-(2**62), 2**62, 2**63),
            (np.int64(-(2**63)), np.int64(2**63 - 1), 2**64 - 1),
            (np.uint8(255), np.uint8(0), 255),
            (-(2.0**70), 2.0**70, 2**71),
            (Decimal(-1), Decimal(2), 3),
            (True, np.float32(0), 1),
        ],
        ids=str,
    )
    def test_arithmetic_is_exact(self, low, high, change):
        assert check_sensitivity(lambda d: [d], [(low, high)], sensitivity=change) == 1
        with pytest.raises(SensitivityExceeded, match="sensitivity") as caught:
            check_sensitivity(
                lambda d: [d], [(low, high)], sensitivity=change * Fraction(999, 1000)
            )
        assert caught.value.observed == change

    def test_arrays_and_mappings(self):
        pairs = [([1, 2], [1, 3])]
        assert check_sensitivity(np.array, pairs, sensitivity=1) == 1
        assert check_sensitivity(lambda d: {"x": d[0], "y": d[1]}, pairs, sensitivity=1) == 1

    @pytest.mark.parametrize(
        "scores",
        [
            lambda d: [1] * len(d),
            lambda d: dict.fromkeys(d, 1),
            lambda d: [1] if d == "a" else {"a": 1},
        ],
    )
    def test_candidates_that_depend_on_the_data_are_found(self, scores):
        with pytest.raises(
            SensitivityExceeded, match="exceeds the declared candidates: the two data"
        ) as caught:
            check_sensitivity(scores, [("a", "ab")], sensitivity=1)
        assert caught.value.rule == "candidates"
        assert caught.value.candidate is None

    @pytest.mark.parametrize(
        "score",
        [0.5, float("nan"), float("inf"), Decimal("NaN"), Decimal("sNaN"), "1", None, 1j],
        ids=repr,
    )
    def test_other_scores_are_refused(self, score):
        with pytest.raises(ScoreError, match="scores must "):
            check_sensitivity(lambda d: [d], [(score, 0)], sensitivity=1)

    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"sensitivity": 1, "range_": 1},
            {"range_": 1, "monotonic": True},
            {"sensitivity": 0},
            {"sensitivity": -1},
            {"range_": float("nan")},
        ],
    )
    def test_other_declarations_are_refused(self, options):
        with pytest.raises(
            ParameterError, match=r"give exactly one|goes with sensitivity=| must be "
        ):
            check_sensitivity(count, [("a", "b")], **options)

    def test_no_pairs_prove_nothing(self):
        with pytest.raises(ParameterError, match="no pairs"):
            check_sensitivity(count, [], sensitivity=1)

    def test_no_candidates(self):
        assert check_sensitivity(lambda d: [], [(1, 2)], sensitivity=1, monotonic=True) == 1


def test_the_check_itself_is_no_assert_statement():
    """The checks must work under python -O: they raise AssertionError themselves."""
    import inspect
    import io
    import tokenize

    from safeselect.testing import conformance, sensitivity

    for module in (conformance, sensitivity):
        tokens = tokenize.generate_tokens(io.StringIO(inspect.getsource(module)).readline)
        assert not any(t.type == tokenize.NAME and t.string == "assert" for t in tokens)


def test_exceptions_of_checks_can_be_copied_and_sources_cannot():
    error = SensitivityExceeded(1, "range", 0, Fraction(1, 2))
    assert "1/2" in str(error)
    with pytest.raises(TypeError, match="a ReplaySource cannot be copied or pickled, fo"):
        copy.copy(ReplaySource(b""))
    with pytest.raises(TypeError, match="a ReplaySource cannot be copied or pickled, fo"):
        pickle.dumps(ReplaySource(b""))
