"""A release in JSON can be read alone: by people, by a JSON Schema, and back into the result."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from math import erf, exp
from pathlib import Path
from typing import Any

import either as safeselect
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from ledgers import new, scope
from written import CALLS, COUNTS, EVERY, POINTS, RHO, TABLES, UNKNOWN, opened

from safeselect import Budget, Counts, InputError, Ledger, ParameterError, from_json, json_schema
from safeselect.ledger.record import library
from safeselect.mechanisms.keys import StatedStrategy
from safeselect.releases import SCHEMAS, OtherLabel

Json = dict[str, Any]
WITHOUT = ("a vast integer", "a discrete gaussian")  # labels of which only the text is kept
EXACT = [name for name in EVERY if "odd" not in name and name not in WITHOUT]


@pytest.fixture(scope="module")
def written() -> dict[str, str]:
    """A release of every kind, charged to a ledger."""
    there = scope(new(":memory:", epsilon=10**6, delta="1/2"))
    rho = scope(Ledger.create(":memory:", {"a": Budget("person", "add_remove", rho=100)}))
    charged = {
        name: call(ledger=rho if name in RHO else there).to_json() for name, call in EVERY.items()
    }
    plain = {f"{name}, no ledger": call().to_json() for name, call in EVERY.items()}
    with pytest.MonkeyPatch.context() as patch:
        vector, end = opened(patch, there)
    # Ledgers of earlier versions committed to the opening of a sparse vector session.
    opening = {name: value for name, value in json.loads(vector).items() if name != "spent"}
    sessions = {
        "an opening": json.dumps(opening, sort_keys=True),
        "a vector": vector,
        "an end": end,
    }
    return {**charged, **plain, **sessions}


def validator(name: str) -> Draft202012Validator:
    schema = json_schema(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def equal(one: Any, two: Any) -> bool:
    """Whether all fields are equal; arrays by their numbers."""
    if type(one) is not type(two):
        return False
    for name in one.__dataclass_fields__:
        a, b = getattr(one, name), getattr(two, name)
        same = np.array_equal(a, b) and a.dtype == b.dtype if isinstance(a, np.ndarray) else a == b
        if not same:
            return False
    return True


@pytest.mark.parametrize("name", EVERY)
def test_the_round_trip_is_exact(name: str, written: dict[str, str]) -> None:
    result = EVERY[name]()
    again = from_json(result.to_json())
    assert again.to_json() == result.to_json()
    if isinstance(result, safeselect.PartitionStrategy):
        assert type(again) is StatedStrategy
        for each in ("guarantee", "mechanism", "source", "statement", "receipt"):
            assert getattr(again, each) == getattr(result, each)
        assert again.parts == result.terms.parts
    else:
        assert type(again) is type(result)
        assert equal(result, again) == (name in EXACT)
    assert from_json(json.dumps(json.loads(written[name]), indent=3)).to_json() == written[name]


def test_a_session_that_a_ledger_commits_to_is_read_too(written: dict[str, str]) -> None:
    for name in ("an opening", "a vector", "an end"):
        assert from_json(written[name]).to_json() == written[name]
    assert json.loads(written["a vector"])["spent"] == {"k": "0"}
    assert json.loads(written["an end"])["spent"]["queries"] == "1"


def test_other_labels_come_back_as_their_text() -> None:
    found = from_json(
        safeselect.permute_and_flip({(1, "b"): 1}, epsilon=1, sensitivity=1).to_json()
    )
    assert found.label == OtherLabel("(1, 'b')")
    assert str(found.label) == "(1, 'b')"


def test_arrays_that_were_read_cannot_be_written() -> None:
    found = from_json(CALLS["rows with labels"]().to_json())
    for array in (found.winners, found.indices):
        assert array.dtype == np.int64
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_a_release_says_all_that_a_reader_needs(written: dict[str, str]) -> None:
    about = library()
    for name, text in written.items():
        said = json.loads(text)
        with_ledger = "no ledger" not in name
        told = said["parameters"]
        scored = name.removesuffix(", no ledger") not in TABLES | POINTS
        if with_ledger:
            assert (said["unit"], said["neighbours"]) == ("person", "add_remove")
        else:
            assert said["unit"] == "not stated"
            moves = told.get("monotonic") == "yes" or "quantiles" in said["schema"]
            moved = "add_remove" if moves else "not stated"
            assert said["neighbours"] == moved
        assert ("utc" in said) == with_ledger
        assert said["library"] == {
            key: about[key] for key in ("name", "version", "source_tree_sha256")
        }
        assert said["source"] == "OpenSSLSource"
        if "measurement" in said["schema"]:
            assert (
                {"values"} < told.keys() <= {"values", "sensitivity_l1", "sensitivity_l2_squared"}
            )
            continue
        if "chosen-run" in said["schema"]:
            assert told["minimize"] == "no"
            continue
        if "quantiles" in said["schema"]:
            given = {"neighbours", "max_contributions", "quantiles", "ties"}
            assert told.keys() == {"lowest", "highest", "step", *given}
            continue
        assert told["monotonic"] in ("yes", "no")
        assert ("sensitivity" in told) != ("range" in told)
        assert "effective_range" in told
        if scored and "session" not in said["schema"]:
            assert {"candidates", "k", "grid", "minimize", "engine"} <= told.keys()


def test_what_a_ledger_records_and_what_the_release_says_are_the_same() -> None:
    there = new(":memory:", epsilon=10**6, delta="1/2")
    rho = Ledger.create(":memory:", {"a": Budget("person", "add_remove", rho=100)})
    for name, call in EVERY.items():
        ledger = rho if name in RHO else there
        said = json.loads(call(ledger=scope(ledger)).to_json())
        kept = list(ledger.records())[-2]
        record = kept.content
        for key in ("parameters", "mechanism", "guarantee", "utc"):
            assert said[key] == record[key], (name, key)
        assert said["library"].items() <= kept.library.items()


def test_counts_say_whose_privacy_they_keep() -> None:
    counts = Counts({"a": 5, "b": 3}, places="all", unit="one rider")
    found = safeselect.top_k(counts, k=1, epsilon=1, sensitivity=1, monotonic=True)
    assert found.statement.unit == "one rider"
    found = safeselect.unknown_domain_top_k(counts, k=1, k_bar=1, epsilon=1, delta="1e-9")
    assert found.statement.unit == "one rider"
    capped = Counts({"a": 5, "b": 3}, places="all", max_contributions=1, unit="one rider")
    found = safeselect.select_partitions(capped, epsilon=1, delta="1e-9", max_partitions=1)
    assert found.statement.unit == "one rider"
    found = safeselect.measure(capped, epsilon=1, sensitivity_l1=1)
    assert found.statement.unit == "one rider"
    pytest.importorskip("duckdb")
    tables = pytest.importorskip("safeselect.tables")
    table = pytest.importorskip("pyarrow").table({"city": ["Rome"] * 9, "rider": range(9)})
    for more in ({"delta": "1e-9"}, {"candidates": ["Rome"]}):
        found = tables.top_items(
            table, item="city", user="rider", k=1, epsilon=1, unit="one rider", **more
        )
        assert found.statement.unit == "one rider"


def test_the_bound_of_n_is_the_padded_one() -> None:
    """Two tables, of one item and of three, say the same of their size."""
    for table in ({"x": 1}, COUNTS):
        told = safeselect.unknown_domain_top_k(table, **UNKNOWN).statement.parameters
        assert dict(told)["candidates"] == "4"


@pytest.mark.parametrize("epsilon", ["1/100", "1", "30"])
@pytest.mark.parametrize("cap", [1, 3])
def test_the_noise_of_counts_is_what_the_law_gives(epsilon: str, cap: int) -> None:
    """Summed from the weights of the discrete Laplace law, in floats."""
    noise = safeselect.CountNoise.of(Fraction(epsilon), cap)
    a = exp(-float(Fraction(epsilon)) / cap)
    chances = {x: (1 - a) / (1 + a) * a ** abs(x) for x in range(-60_000, 60_001)}
    deviation = sum(chance * x * x for x, chance in chances.items()) ** 0.5
    assert deviation - 1e-9 <= float(noise.standard_deviation) <= deviation + 0.001 + 1e-9
    within = noise.within_95
    inside = sum(chances[x] for x in range(-within, within + 1))
    assert inside >= 0.95 - 1e-12
    assert within == 0 or inside - 2 * chances[within] < 0.95


@pytest.mark.parametrize(("most", "epsilon"), [(1, 1), (3, "1/2")])
def test_counts_of_keys_say_how_noisy_they_are(most: int, epsilon: Any) -> None:
    """Against the chances that a strategy states, in floats: the noise is a threshold's."""
    terms: Any = {"epsilon": epsilon, "delta": "1e-6", "max_partitions": most}
    kept = safeselect.select_partitions({"a": 900, "b": 800}, with_counts=True, **terms)
    told = json.loads(kept.to_json())["count_noise"]
    assert told["of"].endswith("one key" if most == 1 else f"{most} keys")
    assert "below the number of users" in told["bias"]
    keeps = safeselect.partition_strategy(with_counts=True, **terms).probability_of_keep
    upto = next(n for n in range(10**4) if keeps(n) == 1)
    law = {n: float(keeps(n) - keeps(n - 1)) for n in range(1, upto + 1)}
    mean = sum(n * chance for n, chance in law.items())
    centre = float(kept.mean_noise or 0) + mean
    noises = {round(centre - n): chance for n, chance in law.items()}
    deviation = sum(chance * (n - mean) ** 2 for n, chance in law.items()) ** 0.5
    assert deviation <= float(Fraction(told["standard_deviation"])) < deviation + 0.0011
    low, high = int(told["low_95"]), int(told["high_95"])
    assert (low, high) == kept.noise_95
    inside = sum(chance for noise, chance in noises.items() if low <= noise <= high)
    assert 0.95 <= inside < 0.95 + noises[low] + noises[high]
    bare = safeselect.select_partitions({"a": 900}, **terms)
    assert (bare.standard_deviation, bare.noise_95, "count_noise" in bare.to_json()) == (
        *(None, None),
        False,
    )


@pytest.mark.parametrize("squared", ["1/9", "1", "30", "1000"])
@pytest.mark.parametrize("cost", ["epsilon", "rho", "mu"])
def test_measurements_say_how_noisy_they_are(cost: str, squared: str) -> None:
    """Summed from the weights of each law, in floats; bounds may be a little wide, never narrow."""
    change = "sensitivity_l1" if cost == "epsilon" else "sensitivity_l2_squared"
    found = safeselect.measure([7], **{cost: 1, change: squared})  # type: ignore[arg-type]
    told = json.loads(found.to_json())["noise"]
    assert Fraction(told["standard_deviation"]) == found.standard_deviation
    assert int(told["within_95"]) == found.within_95
    places = range(-20_000, 20_001)
    if cost == "epsilon":
        weights = {x: exp(-abs(x) / float(Fraction(squared))) for x in places}
    elif cost == "rho":
        weights = {x: exp(-(x**2) / float(Fraction(squared))) for x in places}
    else:
        wide = (2 * float(Fraction(squared))) ** 0.5
        weights = {x: erf((x + 0.5) / wide) - erf((x - 0.5) / wide) for x in places}
    whole = sum(weights.values())
    deviation = (sum(each * x * x for x, each in weights.items()) / whole) ** 0.5
    within = found.within_95
    inside = sum(weights[x] for x in range(-within, within + 1)) / whole
    assert deviation - 1e-9 <= float(found.standard_deviation)
    assert inside >= 0.95 - 1e-12
    if float(Fraction(squared)) >= 1:  # narrower noise is nearly always 0
        assert float(found.standard_deviation) <= deviation * 1.02 + 0.001
        assert within == 0 or inside - 2 * (weights[within] + weights[within - 1]) / whole < 0.95


# -------------------------------------------------------------------------------- JSON Schema

SOURCES = sorted(Path(safeselect.__file__).parent.rglob("*.py"))


def results() -> set[str]:
    """The classes of the package that write themselves as JSON; protocols only name the method."""
    found = set()
    for path in SOURCES:
        for each in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(each, ast.ClassDef) and "Protocol" not in map(ast.unparse, each.bases):
                members = [item.name for item in each.body if isinstance(item, ast.FunctionDef)]
                assigned = (item.targets for item in each.body if isinstance(item, ast.Assign))
                members += [ast.unparse(name) for names in assigned for name in names]
                found |= {each.name} if "to_json" in ", ".join(members) else set()
    return found


def test_every_schema_is_listed_and_shipped() -> None:
    folder = Path(safeselect.__file__).parent / "releases" / "schemas"
    files = {f"safeselect.{path.stem[:-2]}/{path.stem[-1]}" for path in folder.glob("*.json")}
    assert files == set(SCHEMAS)
    page = (Path(__file__).parents[2] / "docs" / "releases.md").read_text("utf-8")
    definitions: Json = {}
    for name in SCHEMAS:
        schema = json_schema(name)
        assert (schema["title"], schema["properties"]["schema"]) == (name, {"const": name})
        assert f"`{name}`" in page
        for key, definition in schema.get("$defs", {}).items():
            assert definitions.setdefault(key, definition) == definition
    with pytest.raises(ParameterError, match="name must be one of safeselect"):
        json_schema("../../etc/passwd")


def test_every_release_fits_its_schema(written: dict[str, str]) -> None:
    seen = set()
    for name, text in written.items():
        content = json.loads(text)
        seen.add(content["schema"])
        validator(content["schema"]).validate(content)
        assert name
    assert seen == {name for name in SCHEMAS if "certificate" not in name}


def changed(content: Json) -> Iterator[tuple[str, Json]]:
    """The release with each of its fields missing, of another type or otherwise wrong."""

    def at(path: tuple[Any, ...], value: object) -> Json:
        copy = json.loads(json.dumps(content))
        place: Any = copy
        for key in path[:-1]:
            place = place[key]
        if value is GONE:
            del place[path[-1]]
        else:
            place[path[-1]] = value
        return copy

    rest: list[tuple[tuple[Any, ...], Any]] = [((key,), value) for key, value in content.items()]
    free = ("parameters", "spent")  # any name belongs there
    while rest:
        path, value = rest.pop()
        kept = path[0] in free or path[0] in OPTIONAL or isinstance(path[-1], int)
        if not kept or (path[0] == "receipt" and len(path) > 1):
            yield f"{path} gone", at(path, GONE)
        for wrong in (1, 1.5, None, True, [1], {"x": 1}, float("nan")):
            yield f"{path} = {wrong}", at(path, wrong)
        if isinstance(value, dict):
            rest += [((*path, key), each) for key, each in value.items()]
            if path[-1] not in free:
                yield f"{path} with more", at((*path, "more"), "x")
        elif isinstance(value, list):
            rest += [((*path, place), each) for place, each in enumerate(value)][:2]
        elif path[-1] in NUMBERS and path[0] != "parameters":
            for number in (
                "",
                " 1",
                "1 ",
                "+1",
                "01",
                "1.0",
                "1e3",
                "-0",
                "0x1",
                "\u0661",
                "1/0",
                "NaN",
            ):
                yield f"{path} = {number!r}", at(path, number)
    yield "one more", {**content, "more": "x"}


GONE = object()
OPTIONAL = ("utc", "receipt", "index", "indices", "base", "gap", "gaps")
NUMBERS = (
    *("epsilon", "delta", "rho", "count", "k_bar", "offset", "gap", "base", "spent", "record"),
    *("rate", "sigma_squared", "mu_squared", "noise_rate", "mean_noise", "max_groups"),
    *("max_partitions", "pre_threshold"),
)


def test_the_schemas_and_the_reader_refuse_what_was_changed(written: dict[str, str]) -> None:
    kinds = ("a gap", "top k", "a set", "rows of mappings", "above", "discovered with counts")
    tables = ("keys with counts", "a strategy", "a measurement", "a rounded gaussian", "groups")
    points = ("a median", "quartiles", "a day", "decimals", "thirds and decimals", "fractions")
    runs = ("the best of runs", "the best of odd runs", "no run at all", "runs of poisson")
    for kind in (*kinds, *tables, "groups with counts", *points, *runs, "no run above"):
        content = json.loads(written[kind])
        check = validator(content["schema"])
        for what, wrong in changed(content):
            assert not check.is_valid(wrong), (kind, what)
            with pytest.raises(InputError, match="this is no release that safeselect wrote"):
                from_json(json.dumps(wrong))


# ------------------------------------------------------------------------------ hostile input

RELEASE = '{"schema": "safeselect.selection/3", "label": "x"'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not one object of JSON"),
        ("[]", "not one object of JSON"),
        ('"x"', "not one object of JSON"),
        ("{} {}", "not one object of JSON"),
        ("\ufeff{}", "not one object of JSON"),
        ("[" * 100_000, "not one object of JSON"),
        ('{"a":' * 100_000, "not one object of JSON"),
        ("{}", "the release has no 'schema'"),
        ('{"schema": "safeselect.selection/2"}', "schema must be one of safeselect.selection/3"),
        ('{"schema": "os.system"}', "schema must be one of"),
        ('{"schema": []}', "'schema' must be text"),
        ('{"schema": "a", "schema": "b"}', "a key occurs twice"),
        (f'{RELEASE}, "guarantee": {{"type": "a", "type": "b"}}}}', "a key occurs twice"),
        (f'{RELEASE}, "index": 1}}', "a number outside of quotes"),
        (f'{RELEASE}, "gap": 1e999}}', "a number outside of quotes"),
        (f'{RELEASE}, "gap": NaN}}', "a number outside of quotes"),
        (f'{RELEASE}, "gap": -Infinity}}', "a number outside of quotes"),
        (f'{RELEASE}, "gap": null}}', "null, true or false"),
        (f'{RELEASE}, "gap": true}}', "null, true or false"),
        (f'{RELEASE}, "gap": {"1" * 10_000}}}', "a number outside of quotes"),
        (RELEASE + "}", "the release has no 'label_kind'"),
    ],
)
def test_hostile_text_is_refused_with_a_reason(text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        from_json(text)


@pytest.mark.parametrize("wrong", [None, 1, b"{}", ["{}"], {"schema": "x"}])
def test_what_is_not_text_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="it must be text, got"):
        from_json(wrong)  # type: ignore[arg-type]


def test_numbers_that_would_take_for_ever_are_refused(written: dict[str, str]) -> None:
    counted = json.loads(written["discovered with counts"])
    chosen = json.loads(written["top k"])
    rows = json.loads(written["rows with labels"])
    for wrong, said in (
        (chosen | {"parts": chosen["parts"] | {"count": "9" * 18}}, "number of draws"),
        (counted | {"parts": [counted["parts"][0] | {"count": "9" * 18}]}, "number of draws"),
        (counted | {"parts": [counted["parts"][0] | {"count": str(2**20)}] * 3}, "number of draws"),
        (chosen | {"labels": ["9" * 10**6], "label_kinds": "integer"}, "an exact number"),
        (chosen | {"guarantee": {"type": "PureDP", "epsilon": "9" * 10**6}}, "an exact number"),
        (chosen | {"guarantee": {"type": "PureDP", "epsilon": "9" * 10**5}}, "no guarantee can"),
        (rows | {"indices": ["9" * 19, "1"]}, "beyond all that can be counted"),
        (
            counted | {"guarantee": {"type": "ApproximateDP", "epsilon": "0", "delta": "1/9"}},
            "no such numbers",
        ),
        (
            counted | {"parameters": counted["parameters"] | {"max_contributions": "9" * 18}},
            "no such numbers",
        ),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            from_json(json.dumps(wrong))


def test_fields_that_do_not_fit_each_other_are_refused(written: dict[str, str]) -> None:
    set_ = json.loads(written["a set, no ledger"])
    chosen = json.loads(written["top k, no ledger"])
    rows = json.loads(written["rows with labels"])
    counted = json.loads(written["discovered with counts"])
    keys, measured = (
        json.loads(written["keys with counts"]),
        json.loads(written["a rounded gaussian"]),
    )
    groups = json.loads(written["groups with counts"])
    points, days = json.loads(written["quartiles"]), json.loads(written["a day"])
    run = json.loads(written["the best of runs"])
    for wrong, said in (
        (set_ | {key: set_[key][::-1] for key in ("labels", "label_kinds")}, "do not fit"),
        (chosen | {"labels": chosen["labels"] * 2}, "label_kinds|as many entries"),
        (chosen | {"label_kinds": ["text", "text"]}, "do not fit|is none|exact number"),
        (chosen | {"labels": ["x", "y"], "label_kinds": "integer"}, "exact number"),
        (chosen | {"labels": ["1/2", "y"], "label_kinds": ["integer", "text"]}, "is none"),
        (rows | {"indices": rows["indices"][:1]}, "a place for each label"),
        (rows | {"labels": [["a"], ["b", "c"]]}, "lists of equal length"),
        (rows | {"labels": []}, "lists of equal length"),
        (counted | {"counts": counted["counts"][:1]}, "as many entries"),
        (counted | {"counts": ["1/2", "3"]}, "must be integers"),
        (counted | {"count_noise": counted["count_noise"] | {"scale": "1"}}, "do not fit"),
        (keys | {"labels": keys["labels"][::-1]}, "in the order of their labels|is none|exact"),
        (keys | {"counts": keys["counts"][:1]}, "as many entries"),
        (keys | {"parts": {"count": "1", "each": {"type": "PureDP", "epsilon": "1"}}}, "the type"),
        (keys | {"guarantee": {"type": "PureDP", "epsilon": "1"}}, "not the type"),
        ({**keys, "label_kinds": "other"}, "neither a text nor an integer"),
        (measured | {"guarantee": {"type": "PureDP", "epsilon": "1"}}, "has no 'rate'"),
        (measured | {"values": ["1/2", "1", "2"]}, "must be integers"),
        (measured | {"values": ["1"]}, "as many entries"),
        (chosen | {"guarantee": measured["guarantee"]}, "a type that no selection has"),
        (points | {"values": points["values"][:2]}, "a point, and what it was, for each"),
        (points | {"value_kinds": "text"}, "a point, and what it was, for each"),
        (points | {"value_kinds": ["integer"] * 2}, "a point, and what it was, for each"),
        (points | {"values": ["1/2", "1", "2"]}, "a point that is not of its kind"),
        (points | {"parts": points["parts"] | {"count": "3"}}, "number of draws"),
        (days | {"values": ["2024-02-30"]}, "not of its kind"),
        (days | {"values": ["20240228"]}, "not of its kind"),
        (days | {"value_kinds": "decimal", "values": ["1E+999999"]}, "not of its kind"),
        (run | {"found": "no"}, "does not belong there"),
        (run | {"found": "perhaps"}, "does not belong there"),
        (run | {"score_kind": "text"}, "is a text, and no run"),
        (run | {"output_kind": "integer"}, "exact number"),
        (run | {"guarantee": run["guarantee"] | {"eta": "-1"}}, "no guarantee can have"),
        (run | {"guarantee": run["guarantee"] | {"base": run["guarantee"]}}, "is no guarantee"),
        (run | {"guarantee": {"type": "Repeated", "eta": "1", "gamma": "1/2"}}, "no 'base'"),
        (run | {"guarantee": run["guarantee"] | {"mean": "1"}}, "not the numbers of its type"),
        (groups | {"groups": ["May", "May", "June"]}, "different groups"),
        (groups | {"groups": ["May"]}, "as there are groups"),
        (groups | {"counts": [["1"]] * 3}, "as many entries"),
        (groups | {"noise_rate": "1/7"}, "do not fit"),
        (groups | {"noise_rate": "0"}, "no such numbers"),
    ):
        with pytest.raises(InputError, match=said):
            from_json(json.dumps(wrong))


def test_no_message_quotes_a_label(written: dict[str, str]) -> None:
    for text in written.values():
        content = json.loads(text)
        if "labels" in content:
            for wrong in ({"labels": ["SECRET"] * 9}, {"labels": [["SECRET"], "SECRET"]}):
                with pytest.raises(InputError, match="this is no release") as caught:
                    from_json(json.dumps(content | wrong))
                assert "SECRET" not in str(caught.value)


def test_reading_runs_nothing_and_opens_nothing(written: dict[str, str]) -> None:
    from_json(written["top k"])
    seen: list[str] = []
    sys.addaudithook(lambda event, _: seen.append(event) if watched else None)
    watched = [True]
    try:
        for text in written.values():
            from_json(text)
    finally:
        watched.clear()
    assert not {"open", "import", "exec", "compile", "pickle.find_class"} & set(seen)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
NAMED = st.sampled_from(
    ["0", "1", "-1", "1/2", "2/4", "text", "integer", "other", "position", "PureDP"]
)


@given(data=st.data())
def test_whatever_is_changed_is_refused_or_written_again(
    written: dict[str, str], data: st.DataObject
) -> None:
    """Values anywhere in a release become any JSON: no other error, and no other release."""
    content: Any = json.loads(written[data.draw(st.sampled_from(sorted(written)))])
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = content
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = data.draw(st.sampled_from(keys))
            if isinstance(place[key], (dict, list)) and data.draw(st.booleans()):
                place = place[key]
                continue
            place[key] = data.draw(JSON | NAMED)
            break
    try:
        again = from_json(json.dumps(content))
    except InputError:
        return
    assert json.loads(again.to_json()) == content
