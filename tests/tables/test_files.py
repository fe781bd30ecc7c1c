from __future__ import annotations

import datetime
import enum
import gzip
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ready import read_scores

from safeselect import InputError, ParameterError, SafeSelectError, ScoreError
from safeselect.tables import count_distinct_users, read_candidates

pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TRIPS = "city,rider\nOslo,ann\nOslo,bob\nOslo,ann\nRome,bob\n,ann\nRome,\nBern,cyd\nLima,\n"


def write(path: Path, content: str | bytes) -> Path:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def trips(path: Path, **options: Any) -> dict[str, int]:
    return count_distinct_users(path, item="city", user="rider", **options)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "T.CSV", "a b[1]*?'\".csv", "{x}.csv.gz"])
def test_distinct_users_are_counted_whatever_the_file_is_called(tmp_path: Path, name: str) -> None:
    assert trips(write(tmp_path / name, TRIPS)) == {"Bern": 1, "Oslo": 2, "Rome": 1}


def test_the_order_is_that_of_labels_or_of_candidates_never_of_rows(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", TRIPS)
    assert list(trips(path)) == ["Bern", "Oslo", "Rome"]
    wanted = ["Rome", "Kyiv", "Oslo"]
    assert list(trips(path, candidates=wanted).items()) == [("Rome", 1), ("Kyiv", 0), ("Oslo", 2)]


@pytest.mark.parametrize("rows", ["", "\n", "\r\n"])
def test_an_empty_table_counts_nothing(tmp_path: Path, rows: str) -> None:
    path = write(tmp_path / "t.csv", "city,rider" + rows)
    assert (trips(path, candidates=["Oslo"]), trips(path)) == ({"Oslo": 0}, {})


@pytest.mark.parametrize(
    ("content", "label"),
    [
        ('\ufeffcity,rider\r\n"Os\nlo",ann\r\n', "Os\nlo"),
        ('rider,"city"\nann,"a ""b"", c"\n', 'a "b", c'),
        ("rider,city,city2,,\nann, Oslo ,x,y,z\n", " Oslo "),
        ("city,rider\nNULL,ann\n", "NULL"),
        ("city,rider\n007,ann\n", "007"),
        ('"ci\nty",city,rider\nx,a\\,ann\n', "a\\"),
        ('\ufeff"city","rider"\n"""a,""", "ann"\n', '"a,"'),
    ],
)
def test_every_csv_cell_is_text_as_it_stands(tmp_path: Path, content: str, label: str) -> None:
    assert trips(write(tmp_path / "t.csv", content)) == {label: 1}


@pytest.mark.parametrize("row", ["a\rb,ann\n", "Rome,ann\r\n", f"{'z' * 17_000_000},ann\n"])
def test_what_no_table_of_lines_has_is_said(tmp_path: Path, row: str) -> None:
    with pytest.raises(InputError, match="ends of lines differ, a line is longer than 16 MB"):
        trips(write(tmp_path / "t.csv", f"city,rider\n{row}Oslo,bob\n"))
    quoted = row.rstrip().replace("a\rb", '"a\rb"')[-9_000_000:]
    assert len(trips(write(tmp_path / "t.csv", f"city,rider\n{quoted}\nOslo,bob\n"))) == 2


@pytest.mark.parametrize(
    ("place", "cell", "end"),
    [(16_000_001, '""","', "\r\n"), (31_999_980, '"' + "a,b\n" * 10 + '"', "\n")],
)
def test_a_cell_where_a_thread_could_begin_hides_no_other_row(
    tmp_path: Path, place: int, cell: str, end: str
) -> None:
    row = f"Oslo,ann{end}"
    before = f"city,rider{end}{row * (place // len(row) - 9)}"
    before += f"{'x' * (place - len(before + row) + 4)},ann{end}"
    path = write(tmp_path / "t.csv", f"{before}{cell},ann{end}{row.replace('Oslo', 'Rome') * 9}")
    assert (len(before), [*trips(path).values()]) == (place, [1] * 4)


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("rows", ['a"b,1\n"c,2\nd,3\n', 'a,1\n"', '6" 2",1\n', 'a  "b",1\n'])
def test_a_quote_that_is_open_or_in_a_cell_without_is_refused(
    tmp_path: Path, name: str, rows: str
) -> None:
    for before in ("", f'"{"x" * (1 << 20)}",1\n', '"\u20ac""",1\n' * 200_000):
        correct = write(tmp_path / f"correct-{name}", f"city,rider\n{before}a,1\n")
        assert trips(correct)["a"] == 1
        with pytest.raises(InputError, match="a quote is open or in an unquoted cell"):
            trips(write(tmp_path / name, f"city,rider\n{before}{rows}"))


def test_column_names_mean_nothing_to_sql(tmp_path: Path) -> None:
    odd = '"; DROP TABLE x; --'
    path = write(tmp_path / "t.csv", 'city,"{}"\nOslo,ann\n'.format(odd.replace('"', '""')))
    assert count_distinct_users(path, item="city", user=odd) == {"Oslo": 1}
    path = parquet(tmp_path / "t.parquet", **{odd: ["Oslo"], "rider": ["ann"]})
    assert count_distinct_users(path, item=odd, user="rider") == {"Oslo": 1}


def test_integer_keys_are_read_by_their_declared_type(tmp_path: Path) -> None:
    city = pa.array([7, 7, -3, None, 2**63], pa.decimal128(19, 0)).cast(pa.uint64(), safe=False)
    path = parquet(tmp_path / "a.parquet", city=city, rider=pa.array([1, 2, 2, 3, 4], pa.int8()))
    assert trips(path)["7"] == 2
    path = parquet(tmp_path / "b.parquet", city=pa.array([7, -3], pa.int16()), rider=["a", "b"])
    assert trips(path, candidates=[-3, "7", 8]) == {"-3": 1, "7": 1, "8": 0}
    for wrong in ("07", "+7", "7.0", " 7", "-0", "seven"):
        with pytest.raises(InputError, match="candidate 2 is not an integer"):
            trips(path, candidates=[1, wrong])


@pytest.mark.parametrize(
    "column",
    [
        pa.array([datetime.date(2020, 1, 1)]),
        pa.array([datetime.datetime(2020, 1, 1)]),  # noqa: DTZ001 - a column without a zone
        pa.array([b"x"]),
        pa.array([[1]]),
    ],
    ids=lambda column: str(column.type),
)
def test_other_keys_are_refused_by_their_declared_type(tmp_path: Path, column: Any) -> None:
    path = parquet(tmp_path / "t.parquet", city=column, rider=["ann"])
    with pytest.raises(InputError, match="'city' must contain integers or strings, but contains"):
        trips(path)
    # Items may be any numbers; of users, which values are equal must be beyond doubt.
    for users in (column, pa.array([True]), pa.array([Decimal("1.5")])):
        path = parquet(tmp_path / "u.parquet", city=["Oslo"], rider=users)
        with pytest.raises(
            InputError, match="'rider' must contain integers or strings, but contains"
        ):
            trips(path)


def test_candidates_are_read_one_a_line(tmp_path: Path) -> None:
    for content in ("Oslo\nRome\n", "Oslo\r\nRome", "\ufeffOslo\nRome\n"):
        assert read_candidates(write(tmp_path / "c.txt", content)) == ["Oslo", "Rome"]
    path = write(tmp_path / "c.txt", " a\u2028b\x0b \n#c\n")  # only newlines part candidates
    assert read_candidates(path) == [" a\u2028b\x0b ", "#c"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty"),
        ("Oslo\n\nRome\n", "line 2 of .* is empty"),
        ("Oslo\nRome\nOslo\n", "candidate 3 repeats candidate 1"),
        ("Oslo\nBern\rRome\r", "line 2 of .* contains a carriage return"),
        (b"Oslo\n\xff\n", "cannot be read as a list of candidates in UTF-8"),
    ],
)
def test_a_wrong_list_of_candidates_is_refused(
    tmp_path: Path, content: str | bytes, sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        read_candidates(write(tmp_path / "c.txt", content))
    with pytest.raises(InputError, match="does not exist; pass a file with one group per line"):
        read_candidates(tmp_path / "missing.txt", what="group")


def test_wrong_candidates_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", TRIPS)
    wrong: list[Any] = ["Oslo", 7, [1.5], [True], [None], [], ["\udc80"], [2**200], {"Oslo"}]
    wrong += [
        {"Oslo": 1},
        np.array([["Oslo"]]),
        pytest.importorskip("pandas").DataFrame({"a": [1]}),
    ]
    for candidates in wrong:
        with pytest.raises(SafeSelectError, match="candidate"):
            trips(path, candidates=candidates)


def scores(path: Path, **options: Any) -> tuple[list[str], list[Any]]:
    return read_scores(path, label="item", score="n", **options)


def test_scores_come_in_the_order_of_labels_not_of_rows(tmp_path: Path) -> None:
    # A file is often sorted by score: the position would then release the true rank.
    path = write(tmp_path / "t.csv", "item,n\nc,30\na,20\nb,-10\n")
    assert scores(path) == (["a", "b", "c"], [20, -10, 30])


def test_text_is_read_exactly(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", f"item,n\na,{2**70}\nb, +07 \n")
    assert scores(path) == (["a", "b"], [2**70, 7])
    path = write(tmp_path / "u.csv", "item,n\na,0.1\nb,-.5\nc,1e-3\nd,7\n")
    expected = [Decimal("0.1"), Decimal("-0.5"), Decimal("0.001"), Decimal(7)]
    assert scores(path) == (["a", "b", "c", "d"], expected)
    assert all(type(score) is Decimal for score in scores(path)[1])


def test_the_limit_on_the_digits_of_integers_changes_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", f"item,n\na,{'7' * 1234}\n")
    usual = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        labels, (score,) = scores(path)
    finally:
        sys.set_int_max_str_digits(usual)
    assert (labels, score) == (["a"], int("7" * 1234))


def test_a_cell_that_is_no_number_is_refused_without_being_quoted(tmp_path: Path) -> None:
    wanted = "scores in column 'n' must be numbers, such as 7 or 1.25"
    for cell in ("x", "1_000", "0x1", "nan", "inf", "١", "1 2", "1/3", "1e99999", "9" * 1300):
        with pytest.raises(ScoreError, match="must be numbers, such as") as caught:
            scores(write(tmp_path / "t.csv", f"item,n\na,1\nb,{cell}\n"))
        assert (str(caught.value), caught.value.__context__) == (wanted, None), cell


def test_missing_labels_and_scores_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScoreError, match="column 'n' has a row without a score"):
        scores(write(tmp_path / "t.csv", "item,n\na,1\nb,\n"))
    with pytest.raises(InputError, match="column 'item' has a row without a label"):
        scores(write(tmp_path / "t.csv", "item,n\na,1\n,2\n"))


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([2**64 - 1, 0], pa.uint64()), [2**64 - 1, 0]),
        (pa.array([0.1, 0.5], pa.float32()), [float(np.float32(0.1)), 0.5]),
        (pa.array([True, False]), [True, False]),
        (pa.array([Decimal("0.10"), Decimal(2)]), [Decimal("0.10"), Decimal(2)]),
        (pa.array(["7", "8.0"]), [Decimal(7), Decimal("8.0")]),
    ],
    ids=lambda value: str(getattr(value, "type", "")),
)
def test_parquet_scores_keep_their_type(tmp_path: Path, column: Any, expected: list[Any]) -> None:
    labels, values = scores(parquet(tmp_path / "t.parquet", item=["a", "b"], n=column))
    assert (labels, values) == (["a", "b"], expected)
    assert [type(value) for value in values] == [type(value) for value in expected]


@pytest.mark.parametrize("column", [[datetime.date(2020, 1, 1)], [b"1"], [[1]]])
def test_scores_of_another_type_are_refused(tmp_path: Path, column: Any) -> None:
    path = parquet(tmp_path / "t.parquet", item=["a"], n=pa.array(column))
    with pytest.raises(ScoreError, match="scores must be numbers, but column 'n' contains"):
        scores(path)


@pytest.mark.parametrize("names", [["Rome", "Kyiv"], [7, 8]])
def test_members_of_an_enumeration_are_what_they_are(tmp_path: Path, names: list[Any]) -> None:
    path = parquet(tmp_path / "t.parquet", city=names, rider=["ann", "bob"])
    members = [*enum.Enum("Own", [("A", names[0]), ("B", names[1])], type=type(names[0]))]
    for listed in (members, [np.array(names)[0], names[1]]):
        assert trips(path, candidates=listed) == {str(name): 1 for name in names}


@pytest.mark.parametrize("names", [["Rome", "Kyiv"], [7, 8]])
def test_candidates_may_be_a_column(tmp_path: Path, names: list[Any]) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    path = parquet(tmp_path / "t.parquet", city=[names[0]] * 2, rider=["ann", "bob"])
    expected = {str(names[0]): 2, str(names[1]): 0}
    for column in (
        pa.chunked_array([names]),
        pa.array(names).dictionary_encode(),
        pandas.Series(names, dtype="category"),
        pandas.Series(names).to_numpy(),
        polars.Series(names),
    ):
        assert trips(path, candidates=column) == expected
    with pytest.raises(ParameterError, match="candidates must not contain nulls"):
        trips(path, candidates=pa.array(["Rome", None]))
