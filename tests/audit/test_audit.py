"""`safeselect audit`: one verdict; forgeries, each with the sentence that refuses it.

Forgeries of bytes, salts, places and heads are in `cli/test_ledger.py` and `test_record.py`; these
are of those who compute commitments, chain and head anew, and of those who have another key.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from audited import CHARGED, CREATED, EARLIER, EARLIER_OUT, RELEASED, SCOPE, Case, Json, signer
from audited import certificate as new_certificate
from written import EVERY, RHO

from safeselect import from_json
from safeselect.audit.theorems import _THEOREMS, is_known
from safeselect.ledger import Ed25519Signer

pytestmark = pytest.mark.claim("C8")

Audit = Callable[..., tuple[int, dict[str, str], str]]
Run = pytest.CaptureFixture[bytes]


@pytest.fixture(scope="module")
def certified() -> str:
    return new_certificate()


@pytest.fixture
def case(tmp_path: Path, certified: str) -> Case:
    return Case(tmp_path, certified)


COMPARED = [
    *("release", "log", "signatures", "head", "commitment", "record", "law", "draws", "plan"),
    *("output", "price", "source", "certified code", "certificate", "libraries"),
]
UP_TO = "HOLDS up to record 6, which the head names: all 14 comparisons; none: signatures"


def test_one_command_and_one_verdict(case: Case, capfdbinary: Run) -> None:
    """Without signatures a log holds as far as the auditor's head reaches, in these words."""
    code, lines, last = case.audit(capfdbinary)
    assert code == 0, lines
    assert list(lines) == COMPARED
    absent = lines.pop("signatures")
    assert absent.startswith(
        "none: The ledger has no key: only a head shows that it was rewritten."
    )
    assert all(line.startswith("holds: ") for line in lines.values())
    assert last == UP_TO


def test_who_knows_the_public_key_reaches_a_verdict(
    tmp_path: Path, certified: str, capfdbinary: Run
) -> None:
    pytest.importorskip("cryptography")
    signer = Ed25519Signer(b"k" * 32, key_id="device 3")
    case = Case(tmp_path, certified, signer)
    key = signer.public_key.hex()
    code, lines, last = case.audit(capfdbinary, "--public-key", key)
    assert (code, last) == (0, "HOLDS: all 15 comparisons")
    # Signatures are enough to know that the log is its owner's.
    code, lines, last = case.audit(capfdbinary, "--public-key", key, without=["--head"])
    assert (code, last) == (0, "HOLDS: all 14 comparisons; none: head")
    assert lines["head"].startswith(
        "none: None was given (--head): nobody can tell whether the end"
    )
    code, lines, last = case.audit(capfdbinary)
    established = "NOT ESTABLISHED: what was compared holds"
    reach = " up to record 6, which the head names"
    assert (code, last) == (3, f"{established}{reach}; not compared: signatures")
    assert "signed with ed25519 key device 3; give --public-key" in lines["signatures"]
    # With signatures an old head is enough: it shows that this is the ledger that went on.
    case.head = f"0:{json.loads(case.log.splitlines()[0])['hash']}"
    assert case.audit(capfdbinary, "--public-key", key)[0] == 0
    other = Ed25519Signer(b"x" * 32, key_id="device 3").public_key.hex()
    code, lines, _ = case.audit(capfdbinary, "--public-key", other)
    assert (code, "not signed with the key that is to verify it" in lines["signatures"]) == (
        3,
        True,
    )


@pytest.mark.parametrize(
    ("left_out", "missing", "said"),
    [
        (["--head"], "; none: signatures, head", "nobody can tell whether the end was cut off"),
        (
            ["--certificate"],
            f"{UP_TO[5:43].rstrip(':')}; none: signatures, certificate",
            "None was given",
        ),
        (["--head", "--certificate"], "; none: signatures, head, certificate", "None was given"),
    ],
)
def test_what_is_absent_is_none_and_never_holds(
    case: Case, capfdbinary: Run, left_out: list[str], missing: str, said: str
) -> None:
    code, lines, last = case.audit(capfdbinary, without=left_out)
    assert (code, last) == (3, f"NOT ESTABLISHED: what was compared holds{missing}")
    for name in left_out:
        assert lines[name.removeprefix("--")].startswith("none: ")
    assert said in lines[left_out[-1].removeprefix("--")]


@pytest.mark.parametrize("log", [b"ward,patient\nnorth,p1\n", b""])
def test_a_file_that_is_no_log_at_all_names_no_ledger(
    case: Case, capfdbinary: Run, log: bytes
) -> None:
    case.log = log
    code, lines, _ = case.audit(capfdbinary)
    assert code == 3
    assert lines["commitment"].startswith("DOES NOT HOLD: The receipt names ledger ")
    assert lines["commitment"].endswith(", and the log is of none.")


def test_a_head_from_before_the_release_does_not_cover_it(case: Case, capfdbinary: Run) -> None:
    case.head = f"{EARLIER}:{json.loads(case.log.splitlines()[EARLIER])['hash']}"
    code, lines, _ = case.audit(capfdbinary)
    assert (code, lines["head"][:12]) == (3, "not compared")
    assert lines["head"].endswith("3 follow it, with the release, for which nothing vouches.")


# ----------------------------------------------------------------------------------- forgeries


def restate(case: Case, name: str, value: Any) -> bool:
    """Change a field of the release or of its statement; whether it said something else."""
    where = case.release if name in case.release else case.release["statement"]
    old = where[name]
    where[name] = {**old, **value} if isinstance(value, dict) else value
    return bool(where[name] != old)


def release(**fields: Any) -> Callable[[Case], None]:
    """The release says something else, and the forger commits to it."""

    def forge(case: Case) -> None:
        assert all(restate(case, name, value) for name, value in fields.items())
        from_json(json.dumps(case.release))  # the forgery is a whole release
        case.rewrite(lambda records: None)

    return forge


def record(place: int, change: Callable[[Json], object], **fields: Any) -> Callable[[Case], None]:
    """A record says something else too."""

    def forge(case: Case) -> None:
        for name, value in fields.items():
            restate(case, name, value)
        case.rewrite(lambda records: change(records[place]))

    return forge


def of_parts(count: str) -> Callable[[Case], None]:
    """A release that says it made another number of draws."""

    def forge(case: Case) -> None:
        case.release["parts"][0]["count"] = count
        case.rewrite(lambda records: None)

    return forge


def both(**parameters: str) -> Callable[[Case], None]:
    """Release and record agree on parameters that do not fit each other."""
    return record(
        CHARGED, lambda each: each["parameters"].update(parameters), parameters=parameters
    )


def cheaper(charged: Json) -> None:
    (amount,) = charged["charges"]
    assert amount["charge"] == {"epsilon": "1"}
    amount["charge"], amount["after"] = {"epsilon": "1/2"}, {"epsilon": "3/2"}


def replaced(case: Case) -> None:
    """Everywhere neighbours replace one unit by another, and scores are monotonic."""

    def change(records: list[Json]) -> None:
        records[SCOPE]["terms"]["neighbours"] = "replace_one"
        records[CHARGED]["parameters"]["monotonic"] = "yes"
        records[CHARGED]["parameters"]["effective_range"] = "1"

    restate(case, "neighbours", "replace_one")
    case.release["statement"]["parameters"] |= {"monotonic": "yes", "effective_range": "1"}
    case.rewrite(change)


def of_another(case: Case) -> None:
    """The receipt of an earlier release, under this output."""
    case.release["receipt"] = case.earlier["receipt"] | {"salt": case.release["receipt"]["salt"]}


def at_the_charge(case: Case) -> None:
    case.release["receipt"]["record"] = str(CHARGED)


def beyond(case: Case) -> None:
    case.release["receipt"]["record"] = "99"


def elsewhere(case: Case) -> None:
    case.release["receipt"]["ledger"] = "0" * 32


def without_receipt(case: Case) -> None:
    del case.release["receipt"], case.release["statement"]["utc"]


def aborted(case: Case) -> None:
    """The call was aborted, and its output shown all the same."""

    def change(records: list[Json]) -> None:
        del records[RELEASED]["commitment"]
        records[RELEASED] |= {"kind": "aborted", "reason": "error"}

    case.rewrite(change)


def twice(case: Case) -> None:
    """One charge, two outputs."""
    case.rewrite(lambda records: records.append({**records[RELEASED], "commitment": "0" * 64}))


def hidden(case: Case) -> None:
    """The earlier release never was: its records are gone, and the balance with them."""
    head = case.head

    def change(records: list[Json]) -> None:
        charged = records[CHARGED]
        charged["charges"][0] |= {"after": {"epsilon": "1"}}
        del records[EARLIER : EARLIER_OUT + 1]
        records[-1]["charge"] = str(CHARGED - 2)

    case.release["receipt"]["record"] = str(RELEASED - 2)
    case.rewrite(change)
    salt = bytes.fromhex(case.release["receipt"]["salt"])
    assert salt
    case.head = head


def doubled(case: Case) -> None:
    """A key twice: readers that take the first see other labels than readers that take the last."""
    text = json.dumps(case.release)
    case.text = text.replace('"labels": ', '"labels": ["rum", "milk"], "labels": ', 1)
    assert case.text != text


def more(case: Case) -> None:
    case.release["approved_by"] = "the board"


def spelled(case: Case) -> None:
    case.release["guarantee"]["epsilon"] = "2/2"


def lookalike(case: Case) -> None:
    """Digits that int() reads and no ledger writes."""
    case.release["receipt"]["record"] = "\u0666"


def a_second_document(case: Case) -> None:
    case.text = json.dumps(case.release) + "\n" + json.dumps(case.earlier)


def certificate(**fields: Any) -> Callable[[Case], None]:
    def forge(case: Case) -> None:
        for name, value in fields.items():
            old = case.certificate[name]
            case.certificate[name] = {**old, **value} if isinstance(value, dict) else value
            assert case.certificate[name] != old

    return forge


def one_failed(case: Case) -> None:
    case.certificate["known_answers"]["differing"] = ["small: quantile"]


def unreadable(case: Case) -> None:
    """Neither the code that ran nor the code that was checked could be read."""
    case.certificate["library"]["source_tree_sha256"] = "unreadable"
    case.release["statement"]["source_tree_sha256"] = "unreadable"
    case.rewrite(
        lambda records: records[CREATED]["library"].update(source_tree_sha256="unreadable")
    )


SOURCE = {"name": "DeterministicSource", "production": "no", "health": "not tested"}
PURE = {"type": "PureDP", "epsilon": "1/9"}

FORGERIES: dict[str, tuple[Callable[[Case], object], str, str]] = {
    "another unit": (release(unit="visit"), "record", "unit is visit, and its record says person."),
    "other neighbours": (
        release(neighbours="replace_one"),
        "record",
        "neighbours is replace_one, and its record says add_remove.",
    ),
    "a better guarantee": (
        release(guarantee={"epsilon": "1/9"}),
        "record",
        "guarantee epsilon is 1/9, and its record says 1.",
    ),
    "another law": (
        release(mechanism="top_k_permute_and_flip/2"),
        "record",
        "mechanism is top_k_permute_and_flip/2, and its record says top_k_permute_and_flip/1.",
    ),
    "a law that nobody proved": (
        record(
            CHARGED, lambda each: each.update(mechanism="top_k_best/1"), mechanism="top_k_best/1"
        ),
        "law",
        "Nothing here proves it: top_k_best/1 is not known.",
    ),
    "a smaller sensitivity": (
        release(parameters={"sensitivity": "1/2"}),
        "record",
        "parameters sensitivity is 1/2, and its record says 1.",
    ),
    "one more parameter": (
        release(parameters={"reviewed": "yes"}),
        "record",
        "parameters reviewed is yes, and its record says None.",
    ),
    "fewer draws": (
        of_parts("1"),
        "record",
        "draws is 1 x {'type': 'LaplaceDominated', 'epsilon': '1/2'}, and its record says 2 x",
    ),
    "another time": (release(utc="2020-01-01T00:00:00Z"), "record", "utc is "),
    "another source": (
        release(source="CombinedSource"),
        "record",
        "source is CombinedSource, and its record says OpenSSLSource.",
    ),
    "a source for tests": (
        record(CHARGED, lambda each: each.update(source=SOURCE), source="DeterministicSource"),
        "source",
        "a source for tests: NOT PRIVATE.",
    ),
    "other code": (release(source_tree_sha256="0" * 64), "record", "library source_tree_sha256 is"),
    "a charge below the price": (
        record(CHARGED, cheaper),
        "price",
        "Scope a was charged another amount than its guarantee costs.",
    ),
    "noise that covers less": (
        both(effective_range="1"),
        "plan",
        "parameters effective_range is 1, and what follows is 2.",
    ),
    "no sensitivity at all": (
        record(CHARGED, lambda each: each["parameters"].pop("sensitivity")),
        "record",
        "parameters sensitivity is 1, and its record says None.",
    ),
    "monotonic where one replaces another": (
        replaced,
        "plan",
        "Monotonic scores move both ways where neighbours replace one unit by another.",
    ),
    "more labels than were paid for": (both(k="1"), "draws", "It takes 1, and its record says 2."),
    "more places than candidates": (
        both(candidates="1"),
        "plan",
        "There is no such release: k must be between 1 and 1, got 2 (int).",
    ),
    "draws that are none": (
        record(CHARGED, lambda each: each.update(parts=["x"])),
        "record",
        "draws is 2 x {'type': 'LaplaceDominated', 'epsilon': '1/2'}, and its record says .",
    ),
    "a guarantee that is none": (
        record(CHARGED, lambda each: each.update(guarantee={"type": "Trust", "epsilon": "0"})),
        "record",
        "guarantee epsilon is 1, and its record says 0; guarantee type is LaplaceDominated, and",
    ),
    "the receipt of another release": (of_another, "commitment", "Record 4 commits to another out"),
    "the record of the charge": (
        at_the_charge,
        "commitment",
        "Record 5 is of kind charged, and commits to no release of this kind.",
    ),
    "a record that is not there": (beyond, "commitment", "names record 99, which is not there."),
    "another ledger": (elsewhere, "commitment", "The receipt names ledger 00000000000000000000"),
    "no receipt": (without_receipt, "commitment", "The release has no receipt"),
    "an output of an aborted call": (
        aborted,
        "commitment",
        "Record 6 is of kind aborted, and commits to no release of this kind.",
    ),
    "a second output of one charge": (
        twice,
        "log",
        "tells the outcome of a charge that awaits none",
    ),
    "a release that never was": (hidden, "head", "the log ends before it: it was cut."),
    "a key twice": (doubled, "release", "with each key once."),
    "a field of one's own": (
        more,
        "release",
        "a field is missing, has another form or does not fit the others",
    ),
    "another spelling of a number": (
        spelled,
        "release",
        "a field is missing, has another form or does not fit the others",
    ),
    "digits of another script": (
        lookalike,
        "release",
        "a field is missing, has another form or does not fit the others",
    ),
    "two releases in one file": (a_second_document, "release", "it is not one object of JSON,"),
    "a certificate of other code": (
        certificate(library={"source_tree_sha256": "1" * 64}),
        "certified code",
        "It is of version 0.1.0, source_tree_sha256",
    ),
    "a certificate with an answer that differs": (
        one_failed,
        "certificate",
        "It is not whole: verify writes other answers, or other findings.",
    ),
    "a certificate that failed as a whole": (
        certificate(passed=False),
        "certificate",
        "It is not whole: verify writes other answers, or other findings.",
    ),
    "a certificate of other answers": (
        certificate(known_answers={"sha256": "0" * 64}),
        "certificate",
        "It is not whole: verify writes other answers, or other findings.",
    ),
    "a certificate of another schema": (
        certificate(schema="safeselect.certificate/9"),
        "certificate",
        "It is not whole: verify writes other answers, or other findings.",
    ),
    "a certificate of nothing": (
        unreadable,
        "certified code",
        "It is of version 0.1.0, source_tree_sha256 unreadable; version 0.1.0,",
    ),
    "other libraries": (
        certificate(library={"gmp": "GMP 1.0"}),
        "libraries",
        "It was made with another gmp: verify where releases are made.",
    ),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_forgeries_are_refused_with_a_sentence(case: Case, capfdbinary: Run, name: str) -> None:
    forge, what, said = FORGERIES[name]
    forge(case)
    code, lines, last = case.audit(capfdbinary)
    assert code == 3
    assert said in lines[what], lines
    assert not lines[what].startswith("holds")
    assert what in last


SIGNED: dict[str, tuple[Callable[[Case], object], str, str]] = {
    "rewritten without the key": (
        lambda case: case.rewrite(lambda records: None),
        "log",
        "record 0 has no signature",
    ),
    "the key taken out": (
        lambda case: case.rewrite(lambda records: records[CREATED].update(signer={})),
        "signatures",
        "A key was given, and the log is not signed: it is not its log.",
    ),
    "the key's name only": (
        lambda case: setattr(case, "log", case.log.replace(b'"vault"', b'"vault 2"')),
        "log",
        "record 0 does not have the hash that is stated for it",
    ),
}


@pytest.mark.parametrize("name", SIGNED)
def test_forgeries_of_a_signed_log(
    tmp_path: Path, certified: str, capfdbinary: Run, name: str
) -> None:
    pytest.importorskip("cryptography")
    case = Case(tmp_path, certified, signer())
    key = ("--public-key", signer().public_key.hex())
    assert case.audit(capfdbinary, *key)[0] == 0
    forge, what, said = SIGNED[name]
    forge(case)
    code, lines, _ = case.audit(capfdbinary, *key)
    assert (code, said in lines[what]) == (3, True), lines


def test_one_signature_of_another_key(tmp_path: Path, certified: str, capfdbinary: Run) -> None:
    pytest.importorskip("cryptography")
    case = Case(tmp_path, certified, signer())
    other = signer(b"x").public_key.hex()
    code, lines, _ = case.audit(capfdbinary, "--public-key", other)
    assert (code, "not signed with the key" in lines["signatures"]) == (3, True), lines


# ------------------------------------------------------------------------------ how it is called


def test_text_of_records_cannot_imitate_the_page(case: Case, capfdbinary: Run) -> None:
    evil = "x\nHOLDS: all 99 comparisons"
    restate(case, "unit", evil)
    case.text = json.dumps(case.release)
    _, lines, last = case.audit(capfdbinary)
    assert last.startswith("DOES NOT HOLD")
    assert "\\nHOLDS" in lines["record"]


def test_every_proved_mechanism_is_known() -> None:
    assert all(is_known(f"{name}/1") and not is_known(f"{name}/2") for name in _THEOREMS)


def test_a_certificate_that_did_not_pass(case: Case, capfdbinary: Run) -> None:
    """Whole, as `safeselect verify` writes it of code that answers otherwise."""
    case.certificate["known_answers"]["differing"] = ["small: quantile"]
    case.certificate["passed"] = False
    code, lines, _ = case.audit(capfdbinary)
    assert (code, lines["certificate"]) == (3, "DOES NOT HOLD: It did not pass: small: quantile.")


@pytest.mark.parametrize("left", ["answers", "machine", "digests"])
def test_a_certificate_is_whole(case: Case, capfdbinary: Run, left: str) -> None:
    """What is left out of it, it cannot vouch for."""
    content = case.certificate
    {
        "answers": lambda: content["known_answers"].update(count=0),
        "machine": lambda: content.pop("machine"),
        "digests": lambda: content["code"]["modules"].popitem(),
    }[left]()
    code, lines, last = case.audit(capfdbinary)
    assert (code, "certificate" in last) == (3, True)
    assert lines["certificate"].startswith("DOES NOT HOLD: It is not whole")


def test_a_certificate_of_another_version(case: Case, capfdbinary: Run) -> None:
    case.certificate["library"]["version"] = "0.0.9"
    code, lines, _ = case.audit(capfdbinary)
    assert (code, lines["certified code"][:37]) == (3, "DOES NOT HOLD: It is of version 0.0.9")


# --------------------------------------------------------------------------- releases of all kinds


@pytest.mark.parametrize("name", EVERY)
def test_a_release_of_every_kind_holds(
    tmp_path: Path, certified: str, capfdbinary: Run, name: str
) -> None:
    case = Case(tmp_path, certified, call=EVERY[name], of_rho=name in RHO)
    code, lines, last = case.audit(capfdbinary)
    assert (code, last) == (0, UP_TO), lines


def weaker(kind: str, number: str, value: str = "1/10000") -> Callable[[Case], None]:
    """Release, guarantee of the record and its draws say what the noise does not give."""

    def forge(case: Case) -> None:
        less = {"type": kind, number: value}
        case.release["guarantee"] = less
        if case.release["schema"] == "safeselect.numbers/1":
            case.release["parts"] = [{"count": "1", "each": less}]

        def change(records: list[Json]) -> None:
            records[CHARGED]["guarantee"] = less
            records[CHARGED]["parts"] = [{"count": "1", "each": less}]

        case.rewrite(change)

    return forge


def forged_nothing(case: Case) -> None:
    """A chosen run is said not to be there."""
    case.release["labels"] = case.release["values"] = {"texts": [], "kinds": []}
    case.rewrite(lambda records: None)


NONE: Json = {"kinds": [], "texts": []}
OF_TABLES: dict[str, tuple[str, Callable[[Case], None], str, str]] = {
    "a rate that is too large": (
        "a measurement",
        both(noise_rate="1"),
        "plan",
        "parameters noise_rate is 1, and what follows is 1/6.",
    ),
    "noise that is said to be less": (
        "a measurement",
        both(noise_low_95="-1", noise_high_95="1"),
        "plan",
        "parameters noise_high_95 is 1, and what follows is 18;",
    ),
    "a variance that is too small": (
        "a discrete gaussian",
        both(sigma_squared="3"),
        "plan",
        "parameters sigma_squared is 3, and what follows is 4.",
    ),
    "no noise": (
        "a rounded gaussian",
        both(sigma_squared="0"),
        "release",
        "a field is missing, has another form or does not fit the others",
    ),
    "a smaller mu": (
        "a rounded gaussian",
        weaker("GaussianDP", "mu_squared"),
        "plan",
        "parameters noise_deviation is ",
    ),
    "Gaussian-DP of discrete noise": (
        "a discrete gaussian",
        weaker("GaussianDP", "mu_squared", "1/4"),
        "plan",
        "There is no such release: measure_discrete_gaussian/1 has no such guarantee.",
    ),
    "a larger sensitivity": (
        "a measurement",
        both(sensitivity_l1="3"),
        "plan",
        "parameters noise_deviation is ",
    ),
    "no sensitivity": (
        "a measurement",
        both(sensitivity_l1="x"),
        "plan",
        "There is no such release: sensitivity_l1 must be a finite number, got 'x' (str); write",
    ),
    "values that were not asked for": (
        "a measurement of integers",
        release(values={"texts": ["1", "2", "3"]}),
        "output",
        "It has another number of values than its parameters say.",
    ),
    "more keys of a user": (
        "keys",
        both(max_partitions="4"),
        "draws",
        "It takes 4, and its record says 3.",
    ),
    "draws of another user": (
        "keys with counts",
        of_parts("2"),
        "record",
        "draws is 2 x {'type': 'ApproximateDP', 'epsilon': '1/3', 'delta':",
    ),
    "counts that were not asked for": (
        "keys with counts",
        both(with_counts="no"),
        "plan",
        "There is no such release: its mechanism is not that of its parameters.",
    ),
    "more items in a group": (
        "groups",
        release(labels=[{"kinds": "text", "texts": ["a", "b", "c"]}, NONE, NONE]),
        "output",
        "It has 3 labels, and 2 at most were paid for.",
    ),
    "another mean of the noise": (
        "keys with counts",
        both(noise_mean="1"),
        "plan",
        "parameters noise_mean is 1, and what follows is -156830319/2147483648.",
    ),
    "counts that are said to be closer": (
        "keys with counts",
        both(noise_low_95="0"),
        "plan",
        "parameters noise_low_95 is 0, and what follows is -9.",
    ),
    "counts that are said to deviate less": (
        "keys with counts",
        both(noise_deviation="1/1000"),
        "plan",
        "parameters noise_deviation is 1/1000, and what follows is 529/125.",
    ),
    "a base that costs more": (
        "a base",
        both(factor="1/4"),
        "plan",
        "parameters factor is 1/4, and what follows is 18433987699345257043/18446744073709551616.",
    ),
    "a base that is none": (
        "a base",
        both(factor="1"),
        "plan",
        "There is no such release: factor must be less than 1, got '1' (str)",
    ),
    "a base of a list that costs more": (
        "top k by base 2",
        both(factor="3/8"),
        "plan",
        "parameters factor is 3/8, and what follows is 16971823853113042117/18446744073709551616.",
    ),
    "more competitors": (
        "discovered with counts",
        release(k_bar="4"),
        "plan",
        "k_bar is 4, and what follows is 3.",
    ),
    "fewer competitors": (
        "discovered, capped",
        release(k_bar="1"),
        "plan",
        "There is no such release: k_bar must be between 2 and 3, got 1 (int).",
    ),
    "a bottom that is too near": (
        "discovered",
        both(offset="40"),
        "plan",
        "parameters offset is 40, and what follows is 1429/32.",
    ),
    "a bottom of few items that is too near": (
        "discovered, capped",
        both(offset="60"),
        "plan",
        "parameters offset is 60, and what follows is None.",
    ),
    "a bottom of counts that is too near": (
        "discovered with counts",
        both(offset="71"),
        "plan",
        "parameters offset is 71, and what follows is 72.",
    ),
    "one winner of two": (
        "a selection",
        both(k="2"),
        "plan",
        "draws is 1 x {'type': 'LaplaceDominated', 'epsilon': '1/3'}, and what follows is 2 x",
    ),
    "runs of another base": (
        "a run above",
        both(base="PureDP 1/5"),
        "plan",
        "There is no such release: its guarantee is not twice that of its base, PureDP 1/5.",
    ),
    "a stop that never comes": (
        "a run above",
        both(gamma="0"),
        "plan",
        "There is no such release: gamma must be greater than zero, got '0' (str); write for",
    ),
    "a stop that is more than sure": (
        "a run above",
        both(gamma="3/2"),
        "plan",
        "There is no such release: gamma must be less than 1, got '3/2' (str); write for example",
    ),
    "an item twice": (
        "groups",
        release(labels=[{"kinds": "text", "texts": ["a", "a"]}, NONE, NONE]),
        "output",
        "It names an item twice, or one that is no item.",
    ),
    "more groups": (
        "groups",
        release(groups=["x", "y", "z", "u"], labels=[NONE] * 4),
        "output",
        "It has 4 groups, and 3 were paid for.",
    ),
    "groups of another noise": (
        "groups of candidates",
        both(noise_rate="9"),
        "plan",
        "parameters noise_rate is 9, and what follows is 1/4.",
    ),
    "a number that is none": (
        "groups",
        both(k="x"),
        "draws",
        "There is no such release: this is no release that safeselect wrote: 'k' must be a",
    ),
    "a point beside the grid": (
        "a median",
        release(values={"texts": ["100"]}),
        "output",
        "It has a point that is not on the grid of its parameters.",
    ),
    "a decimal beside the grid": (
        "decimals",
        release(values={"texts": ["5E-8", "5E-8"]}),
        "output",
        "It has a point that is not on the grid of its parameters.",
    ),
    "a day beside the grid": (
        "a day",
        release(values={"texts": ["2025-01-01"]}),
        "output",
        "It has a point that is not on the grid of its parameters.",
    ),
    "quantiles that cross": (
        "quartiles",
        release(values={"texts": ["1", "2", "3"]}),
        "output",
        "A larger quantile has a smaller point.",
    ),
    "another quantile": (
        "a median",
        release(labels={"texts": ["1/3"]}),
        "plan",
        "parameters quantiles is 1/2, and what follows is 1/3.",
    ),
    "ties of the other law": (
        "a median",
        both(ties="below"),
        "plan",
        "parameters ties is below, and what follows is interval.",
    ),
    "noise for other neighbours": (
        "a median",
        both(neighbours="replace_one"),
        "plan",
        "There is no such release: its noise is for other neighbours than it states.",
    ),
    "users with no values": (
        "a median",
        both(max_contributions="0"),
        "plan",
        "There is no such release: max_contributions must be between 1 and 4294967296, got 0",
    ),
    "no grid": (
        "a median",
        both(step="0"),
        "output",
        "It has a point that is not on the grid of its parameters.",
    ),
    "no run of best_of": (
        "the best of runs",
        forged_nothing,
        "output",
        "It has no run, or several, and best_of always releases one.",
    ),
    "another kind of cost of runs": (
        "the best of runs",
        weaker("PureDP", "epsilon"),
        "plan",
        "There is no such release: best_of has no guarantee of type PureDP.",
    ),
    "a strategy of another user": (
        "a strategy",
        of_parts("2"),
        "record",
        "draws is 2 x {'type': 'ApproximateDP', 'epsilon': '1/3', 'delta':",
    ),
}


@pytest.mark.parametrize("name", OF_TABLES)
def test_forgeries_of_what_is_made_of_tables_are_refused_with_a_sentence(
    tmp_path: Path, certified: str, capfdbinary: Run, name: str
) -> None:
    kind, forge, what, said = OF_TABLES[name]
    case = Case(tmp_path, certified, call=EVERY[kind], of_rho=kind in RHO)
    forge(case)
    code, lines, last = case.audit(capfdbinary)
    assert code == 3
    assert said in lines[what], lines
    assert not lines[what].startswith("holds")
    assert what in last
