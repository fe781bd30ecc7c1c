"""Data as rows that belong to units; neighbours of them, and data sets far away.

Every table is a list of rows, and a new one of the caller's kind is made of such rows.

What the data never break is taken for a rule of theirs, and made-up units keep it: a unit with one
row gets no second one; no two rows of a unit agree in what tells its rows apart; a column that is
constant within each unit stays so; identities are not shared between units.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from functools import partial
from hashlib import shake_256
from importlib import import_module
from itertools import chain, combinations, cycle, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from safeselect.errors import ParameterError
from safeselect.exact.parameters import describe

Foreign = Any
"""An object of another library, or a caller's own."""

Cells = dict[Hashable, Foreign]
Cell = tuple[Foreign, ...]
"""A table, a column, what stands in it, and whether in all rows or in one."""

Units = Sequence[Hashable]
Kind = Callable[[list[Foreign]], Foreign]
"""Makes a table of the caller's kind from rows."""

_MOST_COLUMNS = 12  # of which pairs are tried as keys
_NUMBERS = (int, float, Decimal)
_FEW = 3  # units that are left far away
_FILES: dict[str, tuple[str, Foreign, str, Foreign]] = {
    ".csv": ("read_csv", {"dtype": str, "keep_default_na": False}, "to_csv", {"index": False}),
    ".jsonl": ("read_json", {"lines": True}, "to_json", {"lines": True, "orient": "records"}),
    ".parquet": ("read_parquet", {}, "to_parquet", {"index": False}),
}
"""How pandas reads and writes them."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One row: its table, whose it is, and the row itself.  A row of nobody (None) stays."""

    table: int
    unit: Hashable
    value: Foreign

    @property
    def cells(self) -> Cells:
        """What stands in it, by column."""
        if isinstance(self.value, Mapping):
            return dict(self.value)
        if is_dataclass(self.value):
            return {each.name: getattr(self.value, each.name) for each in fields(self.value)}
        is_several = isinstance(self.value, (list, tuple))
        return dict(enumerate(self.value)) if is_several else {0: self.value}

    def write(self, cells: Cells) -> Row:
        """A copy with other cells: what a pipeline writes into its data is gone at the next run."""
        old, new = self.value, cast("dict[str, Foreign]", cells)
        if isinstance(old, Mapping):
            made: object = {**old, **new}
        elif is_dataclass(old) and not isinstance(old, type):
            made = replace(old, **new)
        elif isinstance(old, (list, tuple)):
            make = getattr(old, "_make", type(old))  # a named tuple has its own
            made = make(cells.get(place, value) for place, value in enumerate(old))
        else:
            made = cells.get(0, old)
        return replace(self, value=made)


World = tuple[Row, ...]
"""A data set that is to be made."""

Steps = list[tuple[Hashable, list[Row]]]
"""Units whose rows are exchanged, one after the other."""


class Form(NamedTuple):
    """A table as rows, what makes such a table of rows."""

    rows: Sequence[Foreign]
    kind: Kind


class Table:
    """One table of the caller's, and what its rows keep.

    Attributes:
        unit: the column that says whose a row is; None if there is none.
        rows: all rows, of which those without a unit are nobody's.
        columns: the cells of the others, column by column.
        keys: columns that tell the rows of a unit apart; none of them where it has one row.
        constant: columns in which all rows of a unit agree.
        owned: identities: columns of texts or whole numbers, each of one unit alone.
        plain: all columns but these and the unit's.
    """

    def __init__(self, number: int, unit: Hashable, form: Form) -> None:
        self.kind = form.kind
        cells = [Row(number, None, row).cells for row in form.rows]
        names = list(dict.fromkeys(chain.from_iterable(cells)))
        self.unit = unit if unit in names else None
        known = [row.get(self.unit) if unit is not None else at for at, row in enumerate(cells)]
        units: list[Foreign] = [None if each != each else each for each in known]
        self.rows = [Row(number, unit, row) for unit, row in zip(units, form.rows, strict=True)]
        own = [row for row, unit in zip(cells, units, strict=True) if unit is not None]
        self.columns = {each: [row.get(each) for row in own] for each in names}
        # A column that some rows lack is left alone.
        names = sorted({*names}.intersection(*own) - {self.unit}, key=names.index) if own else []
        texts = {each: [*map(repr, self.columns[each])] for each in names}
        units = [each for each in units if each is not None]

        def different(*cells: Sequence[object]) -> int:
            return len(set(zip(*cells, strict=True)))

        self.keys: list[tuple[Hashable, ...]] = []
        for some in chain.from_iterable(combinations(names[:_MOST_COLUMNS], n) for n in range(3)):
            is_new = not any(set(key) <= set(some) for key in self.keys)
            if is_new and different(units, *(texts[each] for each in some)) == len(units):
                self.keys.append(some)
        whole = different(units)
        self.constant = [each for each in names if different(units, texts[each]) == whole]

        def is_owned(name: Hashable) -> bool:
            count, kinds = different(texts[name]), {*map(type, self.columns[name])}
            is_name = kinds == {str} or (kinds == {int} and count == len(units))
            alone = different(units, texts[name]) == count and count >= max(whole, _FEW)
            return is_name and alone

        self.owned = [each for each in names if is_owned(each)]
        self.plain = [each for each in names if each not in self.owned]

    def values(self, column: Hashable) -> Iterator[tuple[object, str, str]]:
        """Values that a column has, or might have: how they differ, and whether they are odd."""
        cells = [each for each in self.columns[column] if each is not None and each == each]
        kinds = {*map(type, cells)}
        if kinds == {str}:
            yield "0 not seen before", "a text that is not among them", "cell"
        elif kinds and (len(kinds) == 1 or kinds <= {int, float, Decimal}):
            with suppress(TypeError):  # what has no order
                yield max(cells), "the largest value", ""
                yield min(cells), "the smallest value", ""
        yield None, "an empty cell", "" if len(cells) < len(self.columns[column]) else "cell"


# ---------------------------------------------------------------------------- tables of callers


def _read(data: Foreign, folder: Path) -> Form | None:
    name = f"{type(data).__module__.partition('.')[0].lstrip('_')}.{type(data).__name__}"
    if name in ("pandas.DataFrame", "pandas.Series"):
        return _pandas(data)
    if name == "pyarrow.Table":
        return _arrow(data)
    if name.startswith("polars."):
        back, kind = import_module("polars").from_arrow, type(data)
        return _arrow(data.lazy().collect().to_arrow(), lambda made: kind(back(made)))
    if name == "duckdb.DuckDBPyRelation":
        fetch = getattr(data, "to_arrow_table", None) or data.fetch_arrow_table
        return _arrow(fetch(), import_module("duckdb").from_arrow)
    if isinstance(data, (str, Path)) and Path(data).suffix in _FILES:
        return _file(Path(data), type(data), folder / Path(data).name)
    if isinstance(data, np.ndarray):
        shape, kind = data.shape[1:], data.dtype
        return Form(data.tolist(), lambda rows: np.array(rows, kind).reshape(-1, *shape))
    return Form(data, list) if isinstance(data, list) else None


def _pandas(data: Foreign) -> Form:
    is_column = data.ndim == 1
    frame = data.to_frame() if is_column else data
    is_numbered = frame.index.names == [None] and type(frame.index).__name__ == "RangeIndex"
    flat = frame if is_numbered else frame.reset_index()
    levels = [*flat.columns][: flat.shape[1] - frame.shape[1]]

    def kind(rows: list[Foreign]) -> Foreign:
        found = type(frame)(rows, columns=flat.columns)
        for column, dtype in flat.dtypes.items():
            # An empty cell makes floats of integers, as in a table that pandas read.
            with suppress(TypeError, ValueError):
                found[column] = found[column].astype(dtype)
        if levels:
            found = found.set_index(levels).rename_axis(frame.index.names)
        return found.iloc[:, 0].rename(data.name) if is_column else found

    return Form(flat.to_dict("records"), kind)


def _arrow(table: Foreign, back: Callable[[Foreign], Foreign] = lambda table: table) -> Form:
    schema, make = table.schema, type(table).from_pylist
    return Form(table.to_pylist(), lambda rows: back(make(rows, schema)))


def _file(path: Path, kind: type, place: Path) -> Form:
    """A file; those of neighbours have its name, in another folder, one after the other."""
    read, reading, write, writing = _FILES[path.suffix]
    form = _pandas(getattr(import_module("pandas"), read)(path, **reading))

    def written(rows: list[Foreign]) -> Foreign:
        getattr(form.kind(rows), write)(place, **writing)
        return kind(place)

    return form._replace(kind=written)


# ---------------------------------------------------------------------------- neighbours


@dataclass(frozen=True, slots=True)
class Pair:
    """Two neighbours, how the second was made, whose rows differ, and what is odd about them.

    Odd is a "cell" with a value or a type that the data do not have, a unit whose identity differs
    from another in its "case", or that "few" units, or few different cells, are left: then an error
    may be a true one.
    """

    made: str
    base: World
    other: World
    unit: Hashable
    odd: str = ""

    def rows(self, world: World) -> list[Row]:
        """The rows of the unit in one of the two."""
        return [row for row in world if row.unit == self.unit]

    def each(self, change: Mapping[Row, Row | None]) -> Pair:
        """Both with other rows in the place of these, or with none."""
        worlds = ((change.get(row, row) for row in world) for world in (self.base, self.other))
        base, other = (tuple(row for row in world if row is not None) for world in worlds)
        return replace(self, base=base, other=other)


class Maker:
    """Makes data sets of the caller's form, and neighbours of the caller's data.

    Args:
        data: the caller's.
        unit: the column that says whose a row is; None if each row is a unit of its own.
        neighbours: "add_remove" or "replace_one".
        seed: of all choices.
        folder: where files are made.

    Raises:
        ParameterError: the data have another class, or no table has the column.
    """

    def __init__(
        self, data: Foreign, unit: Hashable, neighbours: str, seed: int, folder: Path
    ) -> None:
        self.seed, self.is_replaced, self._made = seed, neighbours == "replace_one", 0
        parts: dict[Hashable, Foreign] = {"data": data}
        self._join: Callable[[list[Foreign]], object] = itemgetter(0)
        several = dict(enumerate(data)) if isinstance(data, tuple) else data
        if isinstance(several, dict) and all(_read(each, folder) for each in several.values()):
            parts, names = several, list(several)
            self._join = lambda made: type(data)(
                made if isinstance(data, tuple) else zip(names, made, strict=True)
            )
        self.tables: list[Table] = []
        for number, part in enumerate(parts.values()):
            form = _read(part, folder)
            if isinstance(part, dict):
                form, unit = Form([*part.items()], dict), 0
            if form is None:
                raise ParameterError(f"replay cannot read this kind of data: {describe(part)}")
            self.tables.append(Table(number, unit, form))
        self.world = tuple(row for table in self.tables for row in table.rows)
        self.rows: dict[Hashable, list[Row]] = {}
        for row in self.world:
            if row.unit is not None:
                self.rows.setdefault(row.unit, []).append(row)
        if not self.rows:
            instead = "use unit=None if each row is a separate unit"
            raise ParameterError(f"no table with rows has a column {describe(unit)}; {instead}")
        self.units = sorted(self.rows, key=lambda each: (-len(self.rows[each]), repr(each)))
        self.mixed = self._mixed(self.units)

    def _mixed(self, items: list[Foreign]) -> list[Foreign]:
        """The same in another order, which follows from the seed."""
        keys = [shake_256(f"{self.seed} {place}".encode()).digest(8) for place in range(len(items))]
        return [items[place] for place in sorted(range(len(items)), key=keys.__getitem__)]

    def make(self, world: World) -> object:
        """The data set of these rows."""
        rows: list[list[object]] = [[] for _ in self.tables]
        for row in world:
            rows[row.table].append(row.write({}).value)
        return self._join([table.kind(own) for table, own in zip(self.tables, rows, strict=True)])

    def identities(self, pair: Pair) -> Iterator[tuple[Hashable, Pair]]:
        """Each identity of which the unit has several, and the pair in which it has one."""
        for number, table in enumerate(self.tables):
            own = [row for row in pair.rows(pair.base + pair.other) if row.table == number]
            for column in table.owned:
                if len({row.cells[column] for row in own}) > 1:
                    same = {row: row.write({column: own[0].cells[column]}) for row in own}
                    yield column, pair.each(same)

    def _fresh(self, cells: Sequence[Foreign]) -> Foreign:
        """A cell of the kind of these that is none of them."""
        self._made += 1
        text = f"{cells[0]}{10**6 + self._made}"
        return max(cells) + self._made if isinstance(cells[0], int) else text

    def identity(self) -> Hashable:
        """The identity of a new unit; None where none can be made."""
        for table in self.tables:
            if table.unit is not None:
                known = [each for each in table.columns[table.unit] if each is not None]
                fits = {*map(type, known)} in ({int}, {str})
                return cast("Hashable", self._fresh(known)) if fits else None
        self._made += 1
        return "new", self._made

    def body(self, sources: Units, unit: Hashable, cell: Cell = ()) -> list[Row]:
        """The rows of these units as rows of this one, as far as the data's rules allow it."""
        kept: list[Row] = []
        seen: set[str] = set()
        same: Cells = {}
        for row in (row for source in sources for row in self.rows[source]):
            table, old = self.tables[row.table], row.cells
            new = {each: same.setdefault((row.table, each), old[each]) for each in table.constant}
            for column in table.owned:
                key = column, new.get(column, old[column])
                same[key] = new[column] = same.get(key) or self._fresh(table.columns[column])
            if table.unit is not None:
                new[table.unit] = unit
            if cell and cell[0] == row.table and (cell[3] or not same.get("done")):
                new[cell[1]], same["done"] = cell[2], True
            made = replace(row, unit=unit).write(new)
            whole = made.cells
            signs = {repr((row.table, [(each, whole[each]) for each in key])) for key in table.keys}
            if not signs & seen:
                seen |= signs
                kept.append(made)
        return kept

    def pair(
        self, made: str, sources: Units = (), cell: Cell = (), odd: str = "", unit: Hashable = None
    ) -> Pair | None:
        """One more unit, of these units' rows; without any, less this one; or another in its place.

        Args:
            unit: the one to remove or to replace, or the identity of the new one.
        """
        if self.is_replaced:
            unit = unit if unit in self.rows else self.mixed[0]
            sources = sources or self.mixed[self.mixed.index(unit) - 1 :][:1]
        elif unit is None:
            unit = self.identity()
        if unit is None:
            return None
        rows = self.body(sources, unit, cell)
        return Pair(made, self.world, exchanged(self.world, {unit: rows}), unit, odd)

    def pairs(self, count: int) -> Iterator[Pair]:
        """So many neighbours, those first that show most."""
        units = self.units
        ends = dict.fromkeys([*units[:3], *units[-3:]])
        first: list[Callable[[], Pair | None]] = []
        first += [partial(self.pair, "one unit removed", unit=each) for each in ends]
        more = {"the largest": units[:1], "the smallest": units[-1:], "all units": units}
        first += [partial(self.pair, f"one unit added, a copy of {how}", more[how]) for how in more]
        cells = self._mixed([*self._with_cells()])[: count // 2]
        rest = [partial(self.pair, "one unit removed", unit=each) for each in self.mixed]
        found = (pair for make in chain(first, cells, cycle(rest)) if (pair := make()) is not None)
        yield from islice(found, count)

    def _with_cells(self) -> Iterator[Callable[[], Pair | None]]:
        """Units with one cell, or all cells of a column, that tell more than the usual ones."""
        for number, table in enumerate(self.tables):
            for column in table.plain:
                for value, made, odd in table.values(column):
                    cell = number, column, value, column in table.constant or odd != "cell"
                    made = f"one unit added, with {made} in {column!r}"
                    yield partial(self.pair, made, self.units[:1], cell, odd)
        texts = [unit.swapcase() for unit in self.units if isinstance(unit, str)]
        for unit in [unit for unit in texts if unit not in self.rows][:1]:
            made = "one unit added, with its id in another case"
            yield partial(self.pair, made, self.units[-1:], odd="case", unit=unit)

    def levelled(self) -> Iterator[Pair]:
        """A unit whose numbers are large, or small, among others that have one number each."""
        unit = self.units[0]
        for number, table in enumerate(self.tables):
            for column in table.plain:
                numbers = (each for each in table.columns[column] if isinstance(each, _NUMBERS))
                cells = sorted({each for each in numbers if each == each})
                far = [(cells[max(len(cells) // 8, 1)], cells[-1])] if len(cells) >= _FEW else []
                for others, own in (*far, *(each[::-1] for each in far)):
                    cell = number, column, others, True
                    rows = {each: self.body([each], each, cell) for each in self.rows}
                    mine = self.body([unit], unit, (number, column, own, True))
                    base = exchanged(self.world, {**rows, unit: mine})
                    other = exchanged(base, {unit: rows[unit] if self.is_replaced else []})
                    made = f"a unit with {own!r} in {column!r}, where others have {others!r}"
                    yield Pair(made, base, other, unit, "few")

    def far(self) -> Iterator[tuple[str, Steps]]:
        """Ways to data sets far away, unit by unit: what is public is the same there too."""
        order = self.mixed
        fresh = order if self.is_replaced else [self.identity() for _ in order]
        if fresh[0] is not None:
            made = "units are replaced or added, one by one"
            others = zip(fresh, order[1:] + order[:1], strict=True)
            yield made, [(new, self.body([unit], new)) for new, unit in others]
        if not self.is_replaced:
            gone: Steps = [(unit, []) for unit in order]
            yield "units are removed, one by one", gone[: len(order) // 2]
            yield "units are removed, one by one", gone[:-_FEW]


def exchanged(world: World, units: Mapping[Hashable, Sequence[Row]]) -> World:
    """The data set with these rows as those of these units, behind all others."""
    return (*(row for row in world if row.unit not in units), *chain.from_iterable(units.values()))
