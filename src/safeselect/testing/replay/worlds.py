"""Data as rows that belong to units; neighbours of them, and data sets far away.

Every table is a list of rows, and a new one of the caller's kind is made of such rows.

What the data never break is taken for a rule of theirs, and made-up units keep it: a unit with one
row gets no second one; no two rows of a unit agree in what tells its rows apart; a column that is
constant within each unit stays so; identities are not shared between units.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from hashlib import shake_256
from importlib import import_module
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar, cast

import numpy as np

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe

Foreign = Any
"""An object of another library, or a caller's own."""

Column = Hashable
Cells = dict[Column, object]
Kind = Callable[[list[Foreign]], Foreign]
"""Makes a table of the caller's kind from rows."""

Odd = Literal["", "cell", "beyond", "case"]
"""What is odd about a made-up unit: a value or a type that the data do not have, a number beyond
theirs, or an identity that differs from another in its case."""

_Item = TypeVar("_Item")
_MOST_COLUMNS = 12  # of which pairs are tried as keys
_FEW = 3  # units that are left far away


class Row(NamedTuple):
    """One row of a data set that is to be made.

    Attributes:
        table: which table it belongs to.
        place: the row of the caller's table that it is taken from.
        unit: whose row it is; None for a row of nobody, which stays as it is.
        cells: what stands in it instead, by column.
    """

    table: int
    place: int
    unit: Hashable
    cells: tuple[tuple[Column, object], ...] = ()

    def write(self, cells: Cells) -> Row:
        """The same with other cells."""
        return self._replace(cells=tuple({**dict(self.cells), **cells}.items()))


World = tuple[Row, ...]
"""A data set that is to be made."""


@dataclass(slots=True)
class Table:
    """One table of the caller's.

    Attributes:
        name: for readers.
        rows: as they are.
        kind: what makes such a table of rows.
        closed: columns whose type lists all values.
        columns: the cells, column by column.
        unit: the column that says whose a row is, if one does.
        units: whose each row is; None where that is not known.
    """

    name: str
    rows: Sequence[Foreign]
    kind: Kind
    closed: Sequence[Column] = ()
    columns: dict[Column, list[object]] = field(init=False, default_factory=dict)
    unit: Column | None = None
    units: list[Hashable] = field(default_factory=list)

    def __post_init__(self) -> None:
        for place, row in enumerate(self.rows):
            for column, value in _cells(row).items():
                self.columns.setdefault(column, [None] * len(self.rows))[place] = value

    def cell(self, row: Row, column: Column) -> object:
        """What stands in a row."""
        return dict(row.cells).get(column, self.columns[column][row.place])

    def shown(self, row: Row) -> str:
        """A row for readers."""
        cells = (f"{column}={self.cell(row, column)!r}" for column in self.columns)
        return f"{self.name}: {', '.join(cells)}"


@dataclass(slots=True)
class Data:
    """All tables of the caller's, and how to make a data set of their form."""

    tables: list[Table]
    join: Kind

    @property
    def world(self) -> World:
        """The caller's own data."""
        return tuple(
            Row(number, place, unit)
            for number, table in enumerate(self.tables)
            for place, unit in enumerate(table.units)
        )

    def make(self, world: World) -> object:
        """The data set of these rows."""
        rows: list[list[object]] = [[] for _ in self.tables]
        for row in world:
            cells = dict(row.cells)
            rows[row.table].append(_with(self.tables[row.table].rows[row.place], cells))
        return self.join([table.kind(own) for table, own in zip(self.tables, rows, strict=True)])


def read_data(data: Foreign, unit: Hashable, folder: Path) -> Data:
    """Read the caller's data.

    Args:
        unit: the column that says whose a row is; None if each row is a unit of its own.
        folder: where files of this form are made.

    Raises:
        ParameterError: the data have another class, or no table has the column.
    """
    parts, join = {"data": data}, cast("Kind", lambda made: made[0])
    if isinstance(data, dict) and all(map(_is_table, data.values())):
        parts, join = data, lambda made: dict(zip(data, made, strict=True))
    elif type(data) is tuple and all(map(_is_table, data)):
        parts, join = {f"table {place}": part for place, part in enumerate(data)}, tuple
    tables = [_table(part, str(name), folder) for name, part in parts.items()]
    for table in tables:
        if table.unit is None and unit in table.columns:
            table.unit = unit
        cells: Iterable[Foreign] = [None] * len(table.rows)
        if unit is None and table.unit is None:
            cells = range(len(table.rows))
        elif table.unit is not None:
            cells = table.columns.get(table.unit, ())
        table.units = [None if cell != cell else cell for cell in cells]
    if all(each is None for table in tables for each in table.units):
        raise ParameterError(
            f"no table of the data has a column {describe(unit)}, so it is not known whose a row "
            "is; write the name of the column, its place in a row, or unit=None for one row each"
        )
    return Data(tables, join)


def _kind(data: object) -> str:
    return f"{type(data).__module__.partition('.')[0].lstrip('_')}.{type(data).__name__}"


def _is_table(data: object) -> bool:
    return isinstance(data, (list, np.ndarray, Path)) or _kind(data) in _FRAMES


def _table(data: Foreign, name: str, folder: Path) -> Table:
    if _kind(data) in _FRAMES:
        return _FRAMES[_kind(data)](data, name)
    if isinstance(data, (str, Path)):
        return _file(Path(data), type(data), folder / Path(data).name)
    if isinstance(data, np.ndarray):
        shape, kind = data.shape[1:], data.dtype
        return Table(name, data.tolist(), lambda rows: np.array(rows, kind).reshape(-1, *shape))
    if isinstance(data, Mapping):
        return Table(name, [*data.items()], dict, unit=0)
    if isinstance(data, (list, tuple)):
        return Table(name, data, type(data))
    raise ParameterError(
        "data must be a frame of pandas or polars, an Arrow table, a relation of DuckDB, an array, "
        "the path of a csv, tsv, jsonl or parquet file, a list of rows, a mapping, or a dict or "
        f"tuple of these, got {describe(data)}"
    )


def _cells(row: Foreign) -> Cells:
    if isinstance(row, Mapping):
        return dict(row)
    if hasattr(row, "_asdict"):
        return dict(row._asdict())
    if isinstance(row, (list, tuple)):
        return dict(enumerate(row))
    return dict(vars(row)) if hasattr(row, "__dict__") else {0: row}


def _with(row: Foreign, cells: Foreign) -> object:
    """A copy of a row with other cells: what a pipeline writes into it is gone at the next run."""
    if isinstance(row, Mapping):
        return {**row, **cells}
    if hasattr(row, "_replace"):
        return row._replace(**cells)
    if isinstance(row, (list, tuple)):
        return type(row)(cells.get(place, value) for place, value in enumerate(row))
    made = copy(row)
    for name in cells if hasattr(row, "__dict__") else ():
        object.__setattr__(made, name, cells[name])  # a frozen row too
    return made if hasattr(row, "__dict__") else cells.get(0, row)


def _pandas(frame: Foreign, name: str) -> Table:
    levels = [each for each in frame.index.names if each is not None]
    flat = frame.reset_index() if levels else frame

    def kind(rows: list[Foreign]) -> Foreign:
        found = type(frame)(rows, columns=flat.columns)
        for column, dtype in flat.dtypes.items():
            # An empty cell makes floats of integers, as in a table that pandas read.
            with suppress(TypeError, ValueError):
                found[column] = found[column].astype(dtype)
        return found.set_index(levels) if levels else found

    closed = [each for each, dtype in flat.dtypes.items() if str(dtype) == "category"]
    return Table(name, flat.to_dict("records"), kind, closed)


def _arrow(
    table: Foreign, name: str, back: Callable[[Foreign], Foreign] = lambda table: table
) -> Table:
    schema, whole = table.schema, type(table)
    closed = [each.name for each in schema if "dictionary" in str(each.type)]
    rows = table.to_pylist()
    return Table(name, rows, lambda made: back(whole.from_pylist(made, schema)), closed)


def _polars(frame: Foreign, name: str) -> Table:
    return _arrow(frame.to_arrow(), name, import_module("polars").from_arrow)


def _lazy(frame: Foreign, name: str) -> Table:
    table = _polars(frame.collect(), name)
    return replace(table, kind=lambda rows, kind=table.kind: kind(rows).lazy())


def _relation(relation: Foreign, name: str) -> Table:
    fetch = getattr(relation, "to_arrow_table", None) or relation.fetch_arrow_table
    return _arrow(fetch(), name, import_module("duckdb").from_arrow)


_FRAMES: dict[str, Callable[[Foreign, str], Table]] = {
    "pandas.DataFrame": _pandas,
    "polars.DataFrame": _polars,
    "polars.LazyFrame": _lazy,
    "pyarrow.Table": _arrow,
    "duckdb.DuckDBPyRelation": _relation,
}


def _file(path: Path, kind: type, place: Path) -> Table:
    """A file; those of neighbours have its name, in another folder, one after the other."""
    if path.suffix == ".parquet":
        parquet = import_module("pyarrow.parquet")
        table = _arrow(parquet.read_table(path), path.name)
    elif path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        table = Table(path.name, rows, lambda made: "".join(f"{json.dumps(row)}\n" for row in made))
    elif path.suffix in (".csv", ".tsv"):
        mark = "\t" if path.suffix == ".tsv" else ","
        table = _pandas(
            import_module("pandas").read_csv(path, sep=mark, dtype=str, keep_default_na=False),
            path.name,
        )
    else:
        raise ParameterError("a file of data must be .csv, .tsv, .jsonl or .parquet")

    def write(made: list[Foreign]) -> Foreign:
        found = table.kind(made)
        if path.suffix == ".parquet":
            parquet.write_table(found, place)
        else:
            text = found if path.suffix == ".jsonl" else found.to_csv(sep=mark, index=False)
            place.write_text(text, "utf-8")
        return kind(place)

    return replace(table, kind=write)


# ---------------------------------------------------------------------------- neighbours


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbours, how the second was made, whose rows differ, and what is odd about them."""

    made: str
    base: World
    other: World
    unit: Hashable
    odd: Odd = ""

    def rows(self, world: World) -> list[Row]:
        """The rows of the unit in one of the two."""
        return [row for row in world if row.unit == self.unit]

    def each(self, change: Callable[[Row], Row | None]) -> Pair:
        """Both with other rows, or without some."""
        worlds = [[change(row) for row in world] for world in (self.base, self.other)]
        base, other = (tuple(row for row in world if row is not None) for world in worlds)
        return replace(self, base=base, other=other)


class Dice:
    """Choices that follow from a seed; no noise is drawn with them."""

    def __init__(self, seed: object) -> None:
        self._seed, self._thrown = repr(seed), 0

    def below(self, size: int) -> int:
        """A number from 0 to size - 1."""
        self._thrown += 1
        thrown = shake_256(f"{self._seed} {self._thrown}".encode()).digest(16)
        return int.from_bytes(thrown, "big") % size

    def one(self, items: Sequence[_Item]) -> _Item:
        """One of them."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[_Item]) -> list[_Item]:
        """All of them in another order."""
        return sorted(items, key=lambda _: self.below(2**64))


class Rules:
    """What the rows of one table keep.

    Attributes:
        keys: columns that tell the rows of a unit apart; none of them where it has one row.
        constant: columns in which all rows of a unit agree.
        owned: identities: columns of texts or whole numbers, each of one unit alone.
        plain: all columns but these and the unit's.
    """

    def __init__(self, table: Table) -> None:
        places = [place for place, unit in enumerate(table.units) if unit is not None]
        columns = [column for column in table.columns if column != table.unit and places]
        texts = {each: [repr(table.columns[each][place]) for place in places] for each in columns}
        units = [table.units[place] for place in places]

        def different(*cells: Sequence[object]) -> int:
            return len(set(zip(*cells, strict=True)))

        self.keys: list[tuple[Column, ...]] = []
        for size in range(3):
            for some in combinations(columns[:_MOST_COLUMNS], size):
                is_new = not any(set(key) <= set(some) for key in self.keys)
                if is_new and different(units, *(texts[each] for each in some)) == len(units):
                    self.keys.append(some)
        whole = different(units)
        self.constant = [each for each in columns if different(units, texts[each]) == whole]
        self.owned: list[Column] = []
        for each in columns:
            count, kinds = different(texts[each]), {type(cell) for cell in table.columns[each]}
            is_name = kinds == {str} or (kinds == {int} and count == len(units))
            alone = different(units, texts[each]) == count and count >= max(whole, _FEW)
            if is_name and alone and each not in table.closed:
                self.owned.append(each)
        self.plain = [each for each in columns if each not in self.owned]


class Maker:
    """Makes neighbours of one data set: "add_remove" or "replace_one"."""

    def __init__(self, data: Data, neighbours: object, dice: Dice) -> None:
        self.data, self.dice, self.world = data, dice, data.world
        self.is_replaced = neighbours == "replace_one"
        self.rules = [Rules(table) for table in data.tables]
        self.rows: dict[Hashable, list[Row]] = {}
        for row in self.world:
            if row.unit is not None:
                self.rows.setdefault(row.unit, []).append(row)
        self.units = sorted(self.rows, key=lambda unit: (-len(self.rows[unit]), repr(unit)))
        self._made = 0

    def identities(self, pair: Pair) -> Iterator[tuple[Column, Pair]]:
        """Each identity of which the unit has several, and the pair in which it has one."""
        for number, table in enumerate(self.data.tables):
            own = [row for row in pair.rows(pair.base + pair.other) if row.table == number]
            for column in self.rules[number].owned:
                if len({table.cell(row, column) for row in own}) > 1:
                    one = {column: table.cell(own[0], column)}
                    yield column, pair.each(partial(_written, set(own), one))

    # ------------------------------------------------------------------------ made-up units

    def _fresh(self, cells: Sequence[object]) -> Foreign:
        """A cell of the kind of these that is none of them."""
        self._made += 1
        if isinstance(cells[0], int):
            return max(cast("Sequence[int]", cells)) + self._made
        name, digits = cast("re.Match[str]", re.fullmatch(r"(.*?)([0-9]*)", str(cells[0]))).groups()
        most = max(int(re.findall("[0-9]+", f"0{each}")[-1]) for each in cells)
        return f"{name}{str(most + self._made).zfill(len(digits))}"

    def identity(self) -> Hashable:
        """The identity of a new unit; None where none can be made."""
        for table in self.data.tables:
            if table.unit is not None:
                known = [each for each in table.units if each is not None]
                fits = {type(each) for each in known} in ({int}, {str})
                return cast("Hashable", self._fresh(known)) if fits else None
        self._made += 1
        return "new", self._made

    def body(self, sources: Sequence[Hashable], unit: Hashable) -> list[Row]:
        """The rows of these units as rows of this one, as far as the data's rules allow it."""
        kept: list[Row] = []
        seen: set[tuple[int, str]] = set()
        same: dict[tuple[int, Column], object] = {}
        renamed: dict[tuple[Column, object], object] = {}
        for row in (row for source in sources for row in self.rows[source]):
            table, rules, cells = self.data.tables[row.table], self.rules[row.table], Cells()
            for column in rules.constant:
                cells[column] = same.setdefault((row.table, column), table.cell(row, column))
            for column in rules.owned:
                old = column, cells.get(column, table.cell(row, column))
                if old not in renamed:
                    renamed[old] = self._fresh(table.columns[column])
                cells[column] = renamed[old]
            if table.unit is not None:
                cells[table.unit] = unit
            # A cell that stays is not written, so that a column keeps its type.
            changed = {each: new for each, new in cells.items() if new is not table.cell(row, each)}
            new = row._replace(unit=unit).write(changed)
            signs = {
                (row.table, repr([(each, table.cell(new, each)) for each in key]))
                for key in rules.keys
            }
            if not signs & seen:
                seen |= signs
                kept.append(new)
        return kept

    def pair(
        self,
        made: str,
        sources: Sequence[Hashable] = (),
        change: Callable[[list[Row]], list[Row]] = list,
        odd: Odd = "",
        unit: Hashable = None,
    ) -> Pair | None:
        """One more unit, of these units' rows; without any, less this one; or another in its place.

        Args:
            unit: the one to remove or to replace, or the identity of the new one.
        """
        if self.is_replaced:
            unit = unit if unit in self.rows else self.dice.one(self.units)
            sources = sources or [self.dice.one(self.units)]
        elif sources and unit is None:
            unit = self.identity()
            if unit is None:
                return None
        rows = change(self.body(sources, unit))
        return Pair(made, self.world, exchanged(self.world, {unit: rows}), unit, odd)

    # ------------------------------------------------------------------------ all of them

    def pairs(self, count: int) -> Iterator[Pair]:
        """So many neighbours, those first that show most."""
        ends = [
            each for both in zip(self.units[:3], self.units[::-1], strict=False) for each in both
        ]
        first = [partial(self.pair, "a unit less", unit=each) for each in dict.fromkeys(ends)]
        for made, sources in (
            ("a copy of the largest", self.units[:1]),
            ("a copy of the smallest", self.units[-1:]),
            ("all that is rare", self._rare()),
            ("more rows than any other", self.units[:3]),
        ):
            first.append(partial(self.pair, f"a unit more: {made}", sources))
        cells = self.dice.shuffled([*self._with_cells()])[: count // 2]
        found = [pair for make in [*first, *cells] if (pair := make()) is not None]
        yield from found[:count]
        left = self.dice.shuffled(self.units)
        for number in range(count - len(found)):
            several = [self.dice.one(self.units) for _ in range(1 + self.dice.below(4))]
            gone = self.pair("a unit less", unit=left[number % len(left)])
            more = self.pair("a unit more: rows of several", several) if number % 3 == 0 else None
            yield cast("Pair", more or gone)

    def _rare(self) -> list[Hashable]:
        """For each column a unit with the rarest cell."""
        found: dict[Hashable, None] = {}
        for table, rules in zip(self.data.tables, self.rules, strict=True):
            for column in rules.plain:
                texts = [repr(cell) for cell in table.columns[column]]
                counts = Counter(texts)
                whose = zip(texts, table.units, strict=True)
                own = [(counts[text], unit) for text, unit in whose if unit is not None]
                found[min(own, key=lambda each: each[0])[1]] = None
        return [*found][:_MOST_COLUMNS] or self.units[:1]

    def _with_cells(self) -> Iterator[Callable[[], Pair | None]]:
        """Units with one cell, or all cells of a column, that tell more than the usual ones."""
        for number, (table, rules) in enumerate(zip(self.data.tables, self.rules, strict=True)):
            for column in rules.plain:
                for value, made, odd in _values(table, column):
                    everywhere = column in rules.constant or odd != "cell"
                    change = partial(_set, number, {column: value}, everywhere)
                    whole = f"a unit more: {made} in {column!r}"
                    yield partial(self.pair, whole, self.units[:1], change, odd)
            texts = [unit.swapcase() for unit in self.units if isinstance(unit, str)]
            texts = [unit for unit in texts if unit not in self.rows and table.unit is not None]
            if texts:
                unit, made = (
                    self.dice.one(texts),
                    "a unit more: its id is another's in another case",
                )
                yield partial(self.pair, made, self.units[-1:], odd="case", unit=unit)

    def far(self) -> Iterator[tuple[str, list[tuple[Hashable, list[Row]]]]]:
        """Ways to data sets far away, unit by unit: what is public is the same there too."""
        order = self.dice.shuffled(self.units)
        others = order[1:] + order[:1]
        if self.is_replaced:
            pairs = zip(order, others, strict=True)
            yield "units are replaced", [(unit, self.body([more], unit)) for unit, more in pairs]
            return
        gone: list[tuple[Hashable, list[Row]]] = [(unit, []) for unit in order]
        yield "units are removed, one by one", gone[: len(order) // 2]
        yield "units are removed, one by one", gone[:-_FEW]
        copies = [(self.identity(), unit) for unit in order]
        if copies[0][0] is not None:
            more = [(new, self.body([unit], new)) for new, unit in copies]
            yield "units are added, one by one", more


def exchanged(world: World, units: Mapping[Hashable, Sequence[Row]]) -> World:
    """The data set with these rows as those of these units."""
    found: list[Row] = []
    placed: set[tuple[Hashable, int]] = set()
    for row in world:
        key = row.unit, row.table
        if row.unit not in units:
            found.append(row)
        elif key not in placed:
            placed.add(key)
            found += [each for each in units[row.unit] if each.table == row.table]
    rows = (each for rows in units.values() for each in rows)
    return (*found, *(each for each in rows if (each.unit, each.table) not in placed))


def _written(own: set[Row], cells: Cells, row: Row) -> Row:
    return row.write(cells) if row in own else row


def _set(number: int, cells: Cells, everywhere: bool, rows: list[Row]) -> list[Row]:
    """The rows with other cells in those of one table, or in the first of them alone."""
    own = [row for row in rows if row.table == number]
    return [_written(set(own if everywhere else own[:1]), cells, row) for row in rows]


def _values(table: Table, column: Column) -> Iterator[tuple[object, str, Odd]]:
    """Values that a column has, or might have: how they differ, and whether they are odd."""
    cells = [each for each in table.columns[column] if each is not None and each == each]
    kinds = {type(each) for each in cells}
    if cells and (len(kinds) == 1 or kinds <= {int, float, Decimal}):
        if kinds != {str} and hasattr(cells[0], "__lt__"):
            ends = cast("list[int]", cells)
            yield max(ends), "the largest value", ""
            yield min(ends), "the smallest value", ""
            if not kinds - {int, float, Decimal} and len(set(ends)) > 2:
                yield 10 * max(ends) + 1, "a number beyond all others", "beyond"
        elif kinds == {str} and column not in table.closed:
            yield "0 not seen before", "a text that is not among them", "cell"
    yield None, "an empty cell", "" if len(cells) < len(table.columns[column]) else "cell"
