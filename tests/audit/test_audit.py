"""`safeselect audit`: one verdict; forgeries, each with the sentence that refuses it.

Forgeries of bytes, salts, places and heads are in `test_cli_ledger.py` and `test_record.py`; these
are of those who compute commitments, chain and head anew, and of those who have another key.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from audited import CHARGED, CREATED, EARLIER, EARLIER_OUT, RELEASED, SCOPE, Case, Json, hmac
from audited import certificate as new_certificate
from jsonschema import Draft202012Validator
from written import EVERY, RHO

from safeselect import from_json, json_schema
from safeselect.audit.theorems import _THEOREMS, is_known
from safeselect.cli import main

pytestmark = pytest.mark.claim("C8")

Audit = Callable[..., tuple[int, dict[str, str], str]]
Run = pytest.CaptureFixture[bytes]


@pytest.fixture(scope="module")
def certified() -> str:
    return new_certificate()


@pytest.fixture
def case(tmp_path: Path, certified: str) -> Case:
    return Case(tmp_path, certified)


def test_one_command_and_one_verdict(case: Case, capfdbinary: Run) -> None:
    code, lines, last = case.audit(capfdbinary)
    assert code == 0, lines
    assert all(line.startswith("holds: ") for line in lines.values())
    assert last == f"HOLDS: all {len(lines)} comparisons"
    assert list(lines) == [
        *("release", "log", "signatures", "head", "commitment", "mechanism", "law", "guarantee"),
        *("draws", "composition", "parameters", "range", "shape", "unit", "neighbours"),
        *("price", "time"),
        *("source", "code that ran", "certificate", "certified law", "loaded code"),
        *("certified code", "libraries"),
    ]


def test_the_certificate_fits_its_schema(certified: str) -> None:
    validator = Draft202012Validator(json_schema("safeselect.certificate/2"))
    validator.validate(json.loads(certified))
    for name in json.loads(certified):
        content = json.loads(certified)
        del content[name]
        assert not validator.is_valid(content)


def test_who_knows_the_public_key_reaches_a_verdict(
    tmp_path: Path, certified: str, capfdbinary: Run
) -> None:
    ed25519 = pytest.importorskip("safeselect.adapters.ed25519")
    pytest.importorskip("cryptography")
    signer = ed25519.Ed25519Signer(b"k" * 32, key_id="device 3")
    case = Case(tmp_path, certified, signer)
    key = signer.public_key.hex()
    assert case.audit(capfdbinary, "--public-key", key)[0] == 0
    code, lines, last = case.audit(capfdbinary)
    assert (code, last) == (3, "NOT ESTABLISHED: what was compared holds; not compared: signatures")
    assert "signed with ed25519 key device 3; give --public-key" in lines["signatures"]
    # With signatures an old head is enough: it shows that this is the ledger that went on.
    case.head = f"0:{json.loads(case.log.splitlines()[0])['hash']}"
    assert case.audit(capfdbinary, "--public-key", key)[0] == 0
    other = ed25519.Ed25519Signer(b"x" * 32, key_id="device 3").public_key.hex()
    code, lines, _ = case.audit(capfdbinary, "--public-key", other)
    assert (code, "not signed with the key that is to verify it" in lines["signatures"]) == (
        3,
        True,
    )


@pytest.mark.parametrize(
    ("left_out", "what", "said"),
    [
        ("--head", "head", "nobody can tell whether the end was cut off"),
        ("--certificate", "certificate", "No certificate was given"),
    ],
)
def test_what_was_not_compared_is_said(
    case: Case, capfdbinary: Run, left_out: str, what: str, said: str
) -> None:
    code, lines, last = case.audit(capfdbinary, without=[left_out])
    assert (code, last) == (3, f"NOT ESTABLISHED: what was compared holds; not compared: {what}")
    assert said in lines[what]


@pytest.mark.parametrize("log", [b"ward,patient\nnorth,p1\n", b""])
def test_a_file_that_is_no_log_at_all_names_no_ledger(
    case: Case, capfdbinary: Run, log: bytes
) -> None:
    case.log = log
    code, lines, _ = case.audit(capfdbinary)
    assert code == 3
    assert lines["commitment"] == (
        "not compared: The log has no record in which this release could be found."
    )


def test_a_head_from_before_the_release_does_not_cover_it(case: Case, capfdbinary: Run) -> None:
    case.head = f"{EARLIER}:{json.loads(case.log.splitlines()[EARLIER])['hash']}"
    code, lines, _ = case.audit(capfdbinary)
    assert (code, "which a head so old does not cover" in lines["head"]) == (3, True)


# ----------------------------------------------------------------------------------- forgeries


def release(**fields: Any) -> Callable[[Case], None]:
    """The release says something else, and the forger commits to it."""

    def forge(case: Case) -> None:
        for name, value in fields.items():
            old = case.release[name]
            case.release[name] = {**old, **value} if isinstance(value, dict) else value
            assert case.release[name] != old
        from_json(json.dumps(case.release))  # the forgery is a whole release
        case.rewrite(lambda records: None)

    return forge


def record(place: int, change: Callable[[Json], object], **fields: Any) -> Callable[[Case], None]:
    """A record says something else too."""

    def forge(case: Case) -> None:
        for name, value in fields.items():
            old = case.release[name]
            case.release[name] = {**old, **value} if isinstance(value, dict) else value
        case.rewrite(lambda records: change(records[place]))

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
        for place in (EARLIER, CHARGED):
            records[place]["charges"][0]["terms"]["neighbours"] = "replace_one"
        records[CHARGED]["parameters"]["monotonic"] = "yes"
        records[CHARGED]["parameters"]["effective_range"] = "1"

    case.release["neighbours"] = "replace_one"
    case.release["parameters"] |= {"monotonic": "yes", "effective_range": "1"}
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
    del case.release["receipt"], case.release["utc"]


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
        charged["charges"][0] |= {"before": {"epsilon": "0"}, "after": {"epsilon": "1"}}
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
    case.certificate["checks"][1]["passed"] = False


def unreadable(case: Case) -> None:
    """Neither the code that ran nor the code that was checked could be read."""
    case.certificate["library"]["source_tree_sha256"] = "unreadable"
    case.release["library"]["source_tree_sha256"] = "unreadable"
    case.rewrite(
        lambda records: records[CHARGED]["library"].update(source_tree_sha256="unreadable")
    )


SOURCE = {"name": "DeterministicSource", "production": "no", "health": "not tested"}
PURE = {"type": "PureDP", "epsilon": "1/9"}

FORGERIES: dict[str, tuple[Callable[[Case], object], str, str]] = {
    "another unit": (
        release(unit="visit"),
        "unit",
        "The release says visit, and record 5 says pers",
    ),
    "other neighbours": (
        release(neighbours="replace_one"),
        "neighbours",
        "The release says replace_one, and record 5 says add_remove.",
    ),
    "a better guarantee": (
        release(guarantee={"epsilon": "1/9"}),
        "guarantee",
        "The release says LaplaceDominated(epsilon = 1/9), and record 5 says Lap",
    ),
    "another law": (
        release(mechanism="top_k_permute_and_flip/2"),
        "mechanism",
        "The release says top_k_permute_and_flip/2, and record 5 says",
    ),
    "a law that nobody proved": (
        record(
            CHARGED, lambda each: each.update(mechanism="top_k_best/1"), mechanism="top_k_best/1"
        ),
        "law",
        "This library has no mechanism top_k_best/1",
    ),
    "a smaller sensitivity": (
        release(parameters={"sensitivity": "1/2"}),
        "parameters",
        "Release and record 5 differ in sensitivity.",
    ),
    "one more parameter": (
        release(parameters={"reviewed": "yes"}),
        "parameters",
        "Release and record 5 differ in reviewed.",
    ),
    "fewer draws": (
        release(parts={"count": "1"}),
        "draws",
        "The release says 1 x LaplaceDominated(epsilon = 1/2), and record 5 says 2 x",
    ),
    "another time": (release(utc="2020-01-01T00:00:00Z"), "time", "The release says 2020-01-01"),
    "another source": (
        release(source="CombinedSource"),
        "source",
        "The release says CombinedSource, and record 5 says OpenSSLSource.",
    ),
    "a source for tests": (
        record(CHARGED, lambda each: each.update(source=SOURCE), source="DeterministicSource"),
        "source",
        "a source for tests: NOT PRIVATE.",
    ),
    "other code": (
        release(library={"source_tree_sha256": "0" * 64}),
        "code that ran",
        "The release says version 0.1.0, source 0000",
    ),
    "a charge below the price": (
        record(CHARGED, cheaper),
        "price",
        "Record 5 charged scope a less than the guarantee costs.",
    ),
    "noise that covers less": (
        both(effective_range="1"),
        "range",
        "The noise covers a range of 1, and the declared change of the scores needs 2.",
    ),
    "no sensitivity at all": (
        record(CHARGED, lambda each: each["parameters"].pop("sensitivity")),
        "range",
        "The record does not say how far a unit may move the scores.",
    ),
    "monotonic where one replaces another": (
        replaced,
        "range",
        "Scores are declared monotonic, but neighbours replace one unit by another",
    ),
    "more labels than were paid for": (
        both(k="1"),
        "shape",
        "It has 2 labels, and no more than 1 were paid for.",
    ),
    "more places than candidates": (
        both(candidates="1"),
        "shape",
        "It has more places than there were candidates.",
    ),
    "draws that are none": (
        record(CHARGED, lambda each: each.update(parts=["x"])),
        "draws",
        "Record 5 does not name its draws.",
    ),
    "a guarantee that is none": (
        record(CHARGED, lambda each: each.update(guarantee={"type": "Trust", "epsilon": "0"})),
        "price",
        "Record 5 states a guarantee that its scope cannot add up.",
    ),
    "the receipt of another release": (of_another, "commitment", "Record 4 commits to another out"),
    "the record of the charge": (at_the_charge, "commitment", "which is of kind charged and comm"),
    "a record that is not there": (beyond, "commitment", "names record 99, which is not there."),
    "another ledger": (elsewhere, "commitment", "The receipt names ledger 00000000000000000000"),
    "no receipt": (without_receipt, "commitment", "The release has no receipt"),
    "an output of an aborted call": (aborted, "commitment", "which is of kind aborted and commits"),
    "a second output of one charge": (
        twice,
        "log",
        "tells the outcome of a charge that awaits none",
    ),
    "a release that never was": (hidden, "head", "the log ends before it: it was cut."),
    "a key twice": (doubled, "release", "a key occurs twice in one object."),
    "a field of one's own": (more, "release", "has a field that does not belong there."),
    "another spelling of a number": (spelled, "release", "an exact number in lowest terms"),
    "digits of another script": (lookalike, "release", "must be a number of things"),
    "two releases in one file": (a_second_document, "release", "it is not one object of JSON."),
    "a certificate of other code": (
        certificate(library={"source_tree_sha256": "1" * 64}),
        "certified code",
        "The certificate is of source 1111",
    ),
    "a certificate whose check failed": (
        one_failed,
        "certificate",
        "A check of the certificate fai",
    ),
    "a certificate that failed as a whole": (
        certificate(passed=False),
        "certificate",
        "A check of the certificate failed: it says so, and names none.",
    ),
    "a certificate without checks": (
        certificate(checks=[]),
        "certificate",
        "It is no whole certificate of schema safeselect.certificate/2.",
    ),
    "a certificate of another schema": (
        certificate(schema="safeselect.certificate/0"),
        "certificate",
        "It is no whole certificate",
    ),
    "a certificate of nothing": (unreadable, "certified code", "and source unreadable ran."),
    "other libraries": (
        certificate(library={"gmp": "GMP 1.0"}),
        "libraries",
        "The certificate was made with another gmp than the release",
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
        "A key was given, and the log is not signed: it is not that key's log.",
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
    (tmp_path / "key").write_bytes(bytes(range(40)))
    case = Case(tmp_path, certified, hmac())
    key = ("--key-file", str(tmp_path / "key"))
    assert case.audit(capfdbinary, *key)[0] == 0
    forge, what, said = SIGNED[name]
    forge(case)
    code, lines, _ = case.audit(capfdbinary, *key)
    assert (code, said in lines[what]) == (3, True), lines


def test_one_signature_of_another_key(tmp_path: Path, certified: str, capfdbinary: Run) -> None:
    (tmp_path / "key").write_bytes(bytes(40))
    case = Case(tmp_path, certified, hmac())
    code, lines, _ = case.audit(capfdbinary, "--key-file", str(tmp_path / "key"))
    assert (code, "the signature of record 0 is wrong" in lines["signatures"]) == (3, True)


# ------------------------------------------------------------------------------ how it is called


def test_a_page_of_html(case: Case, capfdbinary: Run) -> None:
    case.rewrite(lambda records: records[CHARGED].update(mechanism="<script>alert(1)</script>"))
    case.audit(capfdbinary)
    release, log = case.folder / "r.json", case.folder / "log"
    assert main(["audit", str(release), "--log", str(log), "--html"]) == 3
    html = capfdbinary.readouterr().out.decode()
    tags: list[str] = []
    parser = HTMLParser()
    parser.handle_starttag = lambda tag, _: tags.append(tag)  # type: ignore[method-assign]
    parser.feed(html)
    assert "script" not in tags
    assert "&lt;script&gt;" in html
    assert "DOES NOT HOLD" in html
    assert tags.count("tr") >= 19


def test_text_of_records_cannot_imitate_the_page(case: Case, capfdbinary: Run) -> None:
    evil = "x\nHOLDS: all 99 comparisons"
    case.text = json.dumps(case.release | {"unit": evil})
    _, lines, last = case.audit(capfdbinary)
    assert last.startswith("DOES NOT HOLD")
    assert "\\nHOLDS" in lines["unit"]


def test_how_it_is_not_called(case: Case, capfdbinary: Run) -> None:
    case.audit(capfdbinary)
    release, log = str(case.folder / "r.json"), str(case.folder / "log")
    for arguments, said in (
        ([release, "--log", "nothing"], "cannot be read"),
        (["nothing", "--log", log], "cannot be read as text"),
        ([str(case.folder), "--log", log], "cannot be read as text"),
        ([release, "--log", log, "--certificate", "nothing"], "cannot be read as text"),
        ([release, "--log", log, "--head", "12"], "head must be a text such as"),
    ):
        assert main(["audit", *arguments]) == 2
        out, err = (part.decode() for part in capfdbinary.readouterr())
        assert (out, said in err) == ("", True)
    for arguments in ([release], [release, "--log", log, "--public-key", "no hex"]):
        with pytest.raises(SystemExit, match="2"):
            main(["audit", *arguments])
    (case.folder / "r.json").write_bytes(b"\xff\xfe")
    assert main(["audit", release, "--log", log]) == 2


def test_every_proved_mechanism_is_known() -> None:
    assert all(is_known(f"{name}/1") and not is_known(f"{name}/2") for name in _THEOREMS)
    assert [name for name in _THEOREMS if is_known(f"{name}/3")] == ["quantile", "quantiles"]


# --------------------------------------------------------------------------- releases of all kinds


@pytest.mark.parametrize("name", EVERY)
def test_a_release_of_every_kind_holds(
    tmp_path: Path, certified: str, capfdbinary: Run, name: str
) -> None:
    case = Case(tmp_path, certified, call=EVERY[name], of_rho=name in RHO)
    code, lines, last = case.audit(capfdbinary)
    assert code == 0, lines
    assert last == f"HOLDS: all {len(lines)} comparisons"


def both(**wrong: str) -> Callable[[Case], None]:
    """Release and record say another parameter."""

    def forge(case: Case) -> None:
        case.release["parameters"].update(wrong)
        case.rewrite(lambda records: records[CHARGED]["parameters"].update(wrong))

    return forge


def cheaper(kind: str, number: str, value: str = "1/10000") -> Callable[[Case], None]:
    """Release, guarantee of the record and its draws say what the noise does not give."""

    def forge(case: Case) -> None:
        less = {"type": kind, number: value}
        case.release["guarantee"] = less
        if kind == "GaussianDP" and case.release["noise"]["law"] == "discrete Gaussian":
            # What rounded noise of this sigma squared, 4, would say of itself.
            case.release["noise"] = {"law": "rounded Gaussian", **how_noisy("2021/1000", "4")}

        def change(records: list[Json]) -> None:
            records[CHARGED]["guarantee"] = less
            records[CHARGED]["parts"] = [{"count": "1", "each": less}]

        case.rewrite(change)

    return forge


def how_noisy(deviation: str, within: str) -> Json:
    """What a measurement of other noise would say of it."""
    return {"standard_deviation": deviation, "within_95": within}


def forged_noise(case: Case) -> None:
    """A measurement whose noise is said to be less than its rate gives."""
    case.release["noise"]["within_95"] = "1"
    case.rewrite(lambda records: None)


def forged_variance(case: Case) -> None:
    """A measurement without noise."""
    case.release["sigma_squared"] = "0"
    case.rewrite(lambda records: None)


def forged_nothing(case: Case) -> None:
    """A chosen run is said not to be there."""
    case.release["found"] = "no"
    for name in ("output", "output_kind", "score", "score_kind"):
        del case.release[name]
    case.rewrite(lambda records: None)


OF_TABLES: dict[str, tuple[str, Callable[[Case], None], str, str]] = {
    "a rate that is too large": (
        "a measurement",
        release(rate="1", noise=how_noisy("1357/1000", "3")),
        "range",
        "does not cover",
    ),
    "noise that is said to be less": (
        "a measurement",
        forged_noise,
        "release",
        "its fields do not fit each other",
    ),
    "a variance that is too small": (
        "a discrete gaussian",
        release(sigma_squared="3", noise=how_noisy("1733/1000", "4")),
        "range",
        "Noise of sigma_squared 3 does not cover a sensitivity_l2_squared of 1",
    ),
    "a rounded variance that is too small": (
        "a rounded gaussian",
        release(sigma_squared="95", noise=how_noisy("1219/125", "19")),
        "range",
        "does not cover",
    ),
    "no noise": (
        "a rounded gaussian",
        forged_variance,
        "release",
        "its parameters allow no such numbers",
    ),
    "a smaller mu": (
        "a rounded gaussian",
        cheaper("GaussianDP", "mu_squared"),
        "range",
        "does not cover",
    ),
    "Gaussian-DP of discrete noise": (
        "a discrete gaussian",
        cheaper("GaussianDP", "mu_squared", "1/4"),
        "range",
        "measure_discrete_gaussian/1 has no guarantee of type GaussianDP.",
    ),
    "a larger sensitivity": (
        "a measurement",
        both(sensitivity_l1="3"),
        "range",
        "does not cover a sensitivity_l1 of 3",
    ),
    "no sensitivity": ("a measurement", both(sensitivity_l1="x"), "range", "does not say how far"),
    "values that were not asked for": (
        "a measurement of integers",
        release(values=["1", "2", "3"]),
        "shape",
        "another number of values",
    ),
    "more keys of a user": (
        "keys",
        release(max_partitions="4"),
        "shape",
        "Its max_partitions is not that of its parameters.",
    ),
    "another threshold": (
        "keys",
        release(pre_threshold="1"),
        "shape",
        "Its pre_threshold is not that of its parameters.",
    ),
    "draws of another user": (
        "keys with counts",
        release(parts={"count": "2"}),
        "draws",
        "The release says 2 x",
    ),
    "counts that were not asked for": (
        "keys with counts",
        both(with_counts="no"),
        "shape",
        "It has counts that its parameters do not have",
    ),
    "more items in a group": (
        "groups",
        release(labels=[["a", "b", "c"], [], []]),
        "shape",
        "and 3 of 2 items each at most were paid for",
    ),
    "an item twice": ("groups", release(labels=[["a", "a"], [], []]), "shape", "names an item twi"),
    "more groups": (
        "groups",
        release(groups=["x", "y", "z", "u"], labels=[[], [], [], []]),
        "shape",
        "It has 4 groups, and 3 of",
    ),
    "groups of another noise": (
        "groups of candidates",
        release(noise_rate="9"),
        "shape",
        "Its noise_rate is not that of its parameters.",
    ),
    "a number that is none": ("groups", both(k="x"), "shape", "is no number"),
    "a point beside the grid": ("a median", release(values=["100"]), "shape", "not on the grid"),
    "a decimal beside the grid": (
        "decimals",
        release(values=["5E-8", "5E-8"]),
        "shape",
        "not on the grid",
    ),
    "a day beside the grid": ("a day", release(values=["2025-01-01"]), "shape", "not on the grid"),
    "quantiles that cross": (
        "quartiles",
        release(values=["1", "2", "3"]),
        "shape",
        "A larger quantile has a smaller point.",
    ),
    "another quantile": ("a median", release(quantiles=["1/3"]), "shape", "other quantiles"),
    "ties of the other law": (
        "a median",
        both(ties="below"),
        "shape",
        "Its mechanism is not that of its parameters.",
    ),
    "noise for other neighbours": (
        "a median",
        both(neighbours="replace_one"),
        "range",
        "for other neighbours",
    ),
    "users with no values": ("a median", both(max_contributions="0"), "range", "how many values"),
    "no grid": ("a median", both(step="0"), "shape", "do not say what the grid is"),
    "no run of best_of": (
        "the best of runs",
        forged_nothing,
        "shape",
        "best_of always releases one",
    ),
    "another kind of cost of runs": (
        "the best of runs",
        cheaper("PureDP", "epsilon"),
        "range",
        "best_of/1 has no guarantee of type PureDP",
    ),
    "a strategy of another user": (
        "a strategy",
        release(parts={"count": "2"}),
        "draws",
        "The release says 2 x",
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
