"""The results of calls: frozen, and without any score, noise value or count of random bits.

`Release` is the header that all of them have; a shape adds what was drawn.  What was fixed before
the first bit stands in the parameters of its provenance.  What is true by definition, as that
there is a position for each label, is checked here, whoever makes the result.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cache, lru_cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from safeselect.errors import InputError, ParameterError
from safeselect.exact.parameters import as_float, exact_text, read_exact
from safeselect.scores.candidates import Label, label_text

if TYPE_CHECKING:
    from safeselect.accounting.repetition import AnyGuarantee

Value = TypeVar("Value")
Columns = dict[str, list[Any]]
"""The columns of a table, by name."""

NOT_STATED = "not stated"
"""The unit, or the neighbours, where neither a ledger nor an argument says them."""

_LAW = re.compile("[a-z][a-z0-9_]*/[1-9][0-9]*", re.ASCII)
_TREE = re.compile("[0-9a-f]{64}|unreadable", re.ASCII)
_UTC = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}(:[0-9]{2}){0,2}Z)?", re.ASCII)
_LEDGER = re.compile("[0-9a-f]{32}", re.ASCII)
_NUMBERS = ("k", "effective_range", "noise_rate", "factor", "sigma_squared")


def require(holds: object, what: str) -> None:
    """Refuse what no release can have.

    Raises:
        InputError: it does not hold.
    """
    if not holds:
        raise InputError(f"this release has an invalid value: {what}")


@dataclass(frozen=True, slots=True)
class Receipt:
    """The caller's copy of the facts that link a release to its record in a ledger.

    Attributes:
        ledger: identity of the ledger.
        record: position of the record that contains the commitment.
        salt: salt that opens the commitment; only the caller has it.
    """

    ledger: str
    record: int
    salt: bytes

    def __post_init__(self) -> None:
        require(_LEDGER.fullmatch(self.ledger) and 0 <= self.record < 2**63, "its ledger or place")
        require(len(self.salt) == 32, "its salt")


BESIDE = ("__main__", "adapters", "audit", "cli", "known_answers", "testing")
"""What decides no release: nothing else in the package imports these rooms."""


class Code(NamedTuple):
    """What ran, as releases and records state it.

    Attributes:
        version: of the library.
        deciding_sha256: the hash of the files that decide a release: all but those of `BESIDE`.
        source_tree_sha256: the hash of all of them.
    """

    version: str
    deciding_sha256: str
    source_tree_sha256: str


@cache
def code() -> Code:
    """Return version and hashes of the source; computed once a process, at its first release."""
    root, installed = Path(__file__).parents[1], "not installed"
    with suppress(PackageNotFoundError):
        installed = version("safeselect")
    return Code(installed, source_hash(root, beside=BESIDE), source_hash(root))


def source_hash(root: Path, *, beside: Collection[str] = ()) -> str:
    """Return SHA-256 over the path, length and bytes of each Python file of a package.

    Args:
        beside: names of rooms, or of files at the top, that are left out.
    """
    digest = hashlib.sha256(b"safeselect/source-tree/1\x00")
    try:
        files = {path.relative_to(root).as_posix(): path for path in root.rglob("*.py")}
        for name, path in sorted(files.items()):
            if name.removesuffix(".py").split("/")[0] not in beside:
                content = path.read_bytes()
                digest.update(b"%d %d\x00" % (len(name.encode()), len(content)))
                digest.update(name.encode() + content)
    except OSError:
        return "unreadable"
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of each released number; all of it is public.

    Attributes:
        law: such as "discrete Laplace".
        deviation: its standard deviation, or a bound on it, rounded up to a thousandth.
        low_95, high_95: it lies between them with a probability of 0.95 or more.
        mean: what is to be subtracted from a number.
    """

    law: str
    deviation: Fraction
    low_95: int
    high_95: int
    mean: Fraction = Fraction(0)

    def as_parameters(self) -> dict[str, str]:
        """As public parameters of a release; `Release.noise` reads them."""
        texts = {"noise": self.law, "noise_deviation": exact_text(self.deviation)}
        texts |= {"noise_low_95": str(self.low_95), "noise_high_95": str(self.high_95)}
        return texts | ({"noise_mean": exact_text(self.mean)} if self.mean else {})

    @classmethod
    def of(cls, parameters: Mapping[str, str]) -> Self | None:
        """The noise that these parameters state, if any."""
        if "noise" not in parameters:
            return None
        names = "noise_deviation", "noise_low_95", "noise_high_95"
        deviation, low, high = (read_exact(parameters[name]) for name in names)
        mean = read_exact(parameters.get("noise_mean", "0"))
        are_whole = low.denominator == high.denominator == 1
        require(are_whole and deviation > 0 and low <= high, "the noise of its numbers")
        return cls(parameters["noise"], deviation, int(low), int(high), mean)


@dataclass(frozen=True, slots=True)
class Provenance:
    """Public facts about a release, such as its unit of privacy and the version of the library.

    All of them were fixed before the first random bit was drawn.

    Attributes:
        unit: unit of privacy, in the words of the ledger's scope or of the counts; or "not stated".
        neighbours: relation of neighbouring data sets, in the words of the scope, or "add_remove"
            if the scores are monotonic. If it is "not stated", the relation is that for which the
            sensitivity holds.
        parameters: sorted pairs of a name and an exact text, as in the record of a ledger, such as
            k, the grid, and the declared and effective sensitivity or range.
        version: version of the library.
        deciding_sha256: hash of the library's files that decide a release.
        source_tree_sha256: hash of all files of the library.
        utc: with `ledger=`, the day of the charge (or its time, to the precision of the ledger);
            otherwise None.
    """

    unit: str
    neighbours: str
    parameters: tuple[tuple[str, str], ...]
    version: str
    deciding_sha256: str
    source_tree_sha256: str
    utc: str | None = None

    def __post_init__(self) -> None:
        hashes = self.deciding_sha256, self.source_tree_sha256
        require(all(map(_TREE.fullmatch, hashes)), "the hash of its code")
        require(self.utc is None or _UTC.fullmatch(self.utc), "its time")
        stated = dict(self.parameters)
        positive = (read_exact(stated[name]) > 0 for name in _NUMBERS if name in stated)
        require(all(positive), "a parameter")
        Noise.of(stated)

    @staticmethod
    @lru_cache(maxsize=256)  # all of it is public, and the same in each call with equal arguments
    def of(
        parameters: tuple[tuple[str, str], ...], unit: str | None, by: str | None, utc: str | None
    ) -> Provenance:
        """Return the provenance of a release made by this process.

        Pass None for facts that are not stated.

        Args:
            by: relation of neighbouring data sets.
        """
        # Where all scores move the same way, a unit is added or removed: that is what it asserts.
        implied = "add_remove" if ("monotonic", "yes") in parameters else NOT_STATED
        unit, by = NOT_STATED if unit is None else unit, implied if by is None else by
        return Provenance(unit, by, tuple(sorted(parameters)), *code(), utc)

    def number(self, name: str) -> Fraction | None:
        """Return the value of a numeric parameter, or None if the parameter is not recorded."""
        written = dict(self.parameters).get(name)
        return None if written is None else read_exact(written)


def _beside(name: str) -> Any:
    """What a reader is shown decides no release: its module is loaded when somebody looks."""
    return import_module(f"safeselect.adapters.{name}")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Release:
    """The base class of all releases, with the attributes and methods that they share.

    Attributes:
        mechanism: name of the mechanism and version of its law, such as "permute_and_flip/1".
        guarantee: cost of the release, as the strongest guarantee that is proved; for a session,
            the cost of the whole session.
        parts: guarantees of its draws, for `compose`; `guarantee` is their composition.
        source: source of the random bytes.
        provenance: public facts that a reader needs: unit, neighbours, parameters, library.
        receipt: with `ledger=`, the position of the record of the release and the salt of its
            commitment.
    """

    schema: ClassVar[str]
    mechanism: str
    guarantee: AnyGuarantee
    parts: tuple[AnyGuarantee, ...]
    source: str
    provenance: Provenance
    receipt: Receipt | None = None

    def __post_init__(self) -> None:
        require(_LAW.fullmatch(self.mechanism), "the name of its law")
        require(self.parts, "the number of its draws")

    def statement(self) -> str:
        """Return a description of the release in words.

        The text states the question, the result, the promise, the assumptions and the limits.
        """
        return str(_beside("statement").in_words(self))

    def to_json(self) -> str:
        """Return the release as one line of JSON.

        Numbers are written as strings. `from_json` reads this line.
        """
        from safeselect.release import codec  # loaded with the first release that is written

        return codec.write(self)

    def to_dict(self) -> Columns:
        """Return the release as a dict that maps each column name to a list of values."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """Return the release as a pandas DataFrame with the columns of `to_dict`."""
        return self._frame("pandas")

    def to_polars(self) -> Any:
        """Return the release as a polars DataFrame with the columns of `to_dict`."""
        return self._frame("polars")

    def plot(self) -> Any:
        """Return a matplotlib figure of the release.

        The figure shows the columns of `to_dict`. This method requires the extra `plots`.
        """
        return _beside("plots").plot(self)

    def _frame(self, library: str) -> Any:
        from safeselect.release import display

        return display.frame(library, self.to_dict())

    def __repr__(self) -> str:
        from safeselect.release import display

        return display.line(self)

    def _repr_html_(self) -> str:
        return str(_beside("notebook").html(self))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Noisy(Release):
    """What releases other than those of sessions say of their noise."""

    @property
    def noise_rate(self) -> Fraction | None:
        """The rate of the noise (1 / scale), or None if the noise has no rate.

        The scale is in the units of the scores, counts or values.
        """
        return self.provenance.number("noise_rate")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _Scored(_Noisy):
    """What releases of candidates with scores say of their scores and their noise."""

    @property
    def effective_range(self) -> Fraction | None:
        """The range of the change of the scores that the noise covers, in score units."""
        return self.provenance.number("effective_range")

    @property
    def base(self) -> Fraction | None:
        """For base 2, the exact factor of the weights: `base`, if it was given, for a score that is
        lower by R; otherwise for a score that is lower by one grid step. None without base 2.
        """
        return self.provenance.number("factor")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Selection(_Scored, Generic[Label]):
    """A release of one chosen candidate.

    Attributes:
        label: label of the candidate, or its position if no labels were given.
        index: position among the candidates, in the order in which they were passed. This order
            must not depend on the data. None if the candidates came as a mapping or as a labelled
            column, because their order often depends on the data.
        gap: from the functions `..._with_gap`, the winner's noisy score minus the next one, in
            score units, rounded down to a multiple of `gap_grid`; otherwise None.
    """

    schema: ClassVar[str] = "safeselect.selection/1"
    label: Label
    index: int | None = None
    gap: Fraction | None = None

    def __post_init__(self) -> None:
        Release.__post_init__(self)
        require(self.index is None or self.index >= 0, "its position")
        require(self.gap is None or self.gap >= 0, "its gap")

    def to_dict(self) -> Columns:
        """Return the release as a dict that maps each column name to a list of values.

        The columns are `rank`, `label`, `index` and `gap`.
        """
        index = None if self.index is None else [self.index]
        gap = None if self.gap is None else [as_float(self.gap)]
        return _columns(rank=[1], label=[self.label], index=index, gap=gap)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class TopK(_Scored, Generic[Label]):
    """A release of a list of chosen candidates. If `ordered` is true, they are in the order in
    which the mechanism ranked them, best first.

    Attributes:
        labels: labels of the candidates, or positions if no labels were given. There are fewer than
            k, perhaps none, if a threshold or the bottom of an unknown domain ended the list.
        indices: positions of the candidates, or None, as `Selection.index`.
        ordered: whether the candidates are in the order of their noisy scores, best first.
            Otherwise they are in the order of their positions or, if these are not released, of the
            text of their labels. The order of their noisy scores is then not private, and never
            released.
        gaps: each noisy score minus the next one in the order, in score units, rounded down to the
            gap grid; or None.
        counts: noisy counts, or None; `noise` describes their noise.
        k_bar: number of items that competed in an unknown domain; otherwise None.
    """

    schema: ClassVar[str] = "safeselect.top-k/1"
    labels: tuple[Label, ...]
    indices: tuple[int, ...] | None = None
    ordered: bool = True
    gaps: tuple[Fraction, ...] | None = None
    counts: tuple[int, ...] | None = None
    k_bar: int | None = None

    def __post_init__(self) -> None:
        Release.__post_init__(self)
        size, places = len(self.labels), self.indices
        if places is not None:
            apart = len(places) == size == len({*places})
            require(apart and min(places, default=0) >= 0, "its positions")
        require(self.gaps is None or len(self.gaps) == size, "the number of its gaps")
        if self.counts is not None:
            require(self.noise and len(self.counts) == size, "the noise or number of its counts")
        require(self.k_bar is None or self.k_bar >= 1, "how many competed")
        if not self.ordered:
            order = [*map(label_text, self.labels)] if places is None else [*places]
            require(order == sorted(order) and self.gaps is None, "its order")

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.labels)

    def __getitem__(self, place: Any) -> Any:
        return self.labels[place]

    @property
    def noise(self) -> Noise | None:
        """The distribution of the noise in each count; None if there are no counts."""
        return Noise.of(dict(self.provenance.parameters))

    @property
    def spent(self) -> Fraction | None:
        """For a release of `top_k_above`, the part of epsilon that it used, ex post; otherwise
        None.

        An outcome that ends with the threshold in place j is at most e**spent times as likely on a
        neighbour, where spent = epsilon j / k.
        """
        k, epsilon = self.provenance.number("k"), getattr(self.guarantee, "epsilon", None)
        if k is None or epsilon is None or "threshold" not in dict(self.provenance.parameters):
            return None
        return Fraction(epsilon) * min(Fraction(len(self) + 1), k) / k

    def to_dict(self) -> Columns:
        """Return the release as a dict that maps each column name to a list of values.

        The columns are `label`, `index`, `gap`, `count`, `low` and `high`. Ordered results also
        have `rank`.
        """
        rank = range(1, len(self) + 1) if self.ordered else None
        gaps = None if self.gaps is None else map(as_float, self.gaps)
        counted = _near(self.counts, self.noise, least=0)
        return _columns(rank=rank, label=self.labels, index=self.indices, gap=gaps, **counted)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Groups(_Noisy, Generic[Label]):
    """A release of the candidates that were chosen for each group in a public list of groups.

    All groups are in one release.

    Attributes:
        groups: the groups, in the stated order.
        labels: candidates of each group, best first.
        counts: noisy counts of the candidates of each group, or None.
    """

    schema: ClassVar[str] = "safeselect.groups/1"
    groups: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    counts: tuple[tuple[int, ...], ...] | None = None

    def __post_init__(self) -> None:
        Release.__post_init__(self)
        require(len(self.groups) == len({*self.groups}) == len(self.labels) > 0, "its groups")
        sizes = [*map(len, self.labels)]
        require(self.counts is None or [*map(len, self.counts)] == sizes, "its counts")
        require(self.counts is None or self.noise, "the noise of its counts")

    def __len__(self) -> int:
        return len(self.groups)

    def __iter__(self) -> Iterator[str]:
        return iter(self.groups)

    def __getitem__(self, group: str) -> tuple[Label, ...]:
        """The candidates of a group, best first."""
        return dict(zip(self.groups, self.labels, strict=True))[group]

    @property
    def noise(self) -> Noise | None:
        """The distribution of the noise in each count; None if there are no counts."""
        return Noise.of(dict(self.provenance.parameters))

    def to_dict(self) -> Columns:
        """Return the release as a dict that maps each column name to a list of values.

        The columns are `group`, `rank`, `label`, `count`, `low` and `high`.
        """
        rows = [*zip(self.groups, self.labels, strict=True)]
        counts = None if self.counts is None else [*chain.from_iterable(self.counts)]
        return _columns(
            group=[group for group, row in rows for _ in row],
            rank=[rank for _, row in rows for rank in range(1, len(row) + 1)],
            label=[label for _, row in rows for label in row],
            **_near(counts, self.noise, least=0),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False, eq=False)
class Batch(_Scored, Generic[Label]):
    """A release of independent selections, one for each row of a matrix of scores.

    Attributes:
        winners: read-only array of int64. Its shape is (m,), for the winner of each row, or (m, k),
            for the k best, best first. Each entry is a position in `names` or, without names, among
            the candidates.
        names: labels of the winners, in order of first occurrence; None if none were given.
        indices: positions of the winners among the candidates, as a read-only array of the same
            shape; or None, as `Selection.index`.
    """

    schema: ClassVar[str] = "safeselect.batch/1"
    winners: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    names: tuple[Label, ...] | None = None
    indices: np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None = None

    def __post_init__(self) -> None:
        Release.__post_init__(self)
        for places in (self.winners,) if self.indices is None else (self.winners, self.indices):
            same = places.shape == self.winners.shape and places.dtype == np.int64
            require(same and places.ndim in (1, 2) and places.size, "the shape of its winners")
            require(int(places.min()) >= 0, "a winner")
            places.flags.writeable = False
        if self.names is not None:
            first = list(dict.fromkeys(self.winners.ravel().tolist()))
            require(first == list(range(len(self.names))), "the names of its winners")

    def __reduce__(self) -> Any:
        # A copy is made read-only, too.
        return partial(type(self), **{f.name: getattr(self, f.name) for f in fields(self)}), ()

    def __len__(self) -> int:
        return len(self.winners)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.labels)

    def __getitem__(self, place: Any) -> Any:
        return self.labels[place]

    @property
    def labels(self) -> list[Any]:
        """The labels of the winners, or their positions if there are no labels.

        The result is a list of m entries, or m lists of k entries if k was given.
        """
        if self.names is None:
            return list(self.winners.tolist())
        return list(np.fromiter(self.names, dtype=object)[self.winners].tolist())

    def to_dict(self) -> Columns:
        """Return the release as a dict that maps each column name to a list of values.

        The columns are `row`, `rank`, `label` and `index`.
        """
        k = self.winners.shape[1] if self.winners.ndim == 2 else 1
        flat, names = self.winners.ravel().tolist(), self.names
        return _columns(
            row=[place // k for place in range(len(flat))],
            rank=[place % k + 1 for place in range(len(flat))],
            label=flat if names is None else [names[place] for place in flat],
            index=None if self.indices is None else self.indices.ravel().tolist(),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Numbers(_Noisy, Generic[Value, Label]):
    """A release of measurements, of quantiles, or of the score of the run that `best_of` or
    `first_above` chose.

    Attributes:
        values: measurements are integers. Quantiles are points of their grid: integers, dates,
            decimals or fractions, like its ends. The score of a run is the value that the run
            returned.
        labels: names of the values, or None. For quantiles these are the requested quantiles, as
            fractions. For a run it is the output of the run.
    """

    schema: ClassVar[str] = "safeselect.numbers/1"
    values: tuple[Value, ...]
    labels: tuple[Label, ...] | None = None

    def __post_init__(self) -> None:
        Release.__post_init__(self)
        require(self.labels is None or len(self.labels) == len(self.values), "its labels")
        require(self.noise is None or {*map(type, self.values)} == {int}, "its noisy values")

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Value]:
        return iter(self.values)

    def __getitem__(self, place: Any) -> Any:
        return self.values[place]

    @property
    def value(self) -> Value:
        """The first value. Use it for results with a single value, such as those of `quantile`.

        Raises:
            IndexError: there is none, because `best_of` or `first_above` chose no run.
        """
        if not self.values:
            raise IndexError("this release is empty: no run was chosen; test len() before value")
        return self.values[0]

    @property
    def noise(self) -> Noise | None:
        """The distribution of the noise in each value; None for quantiles and runs."""
        return Noise.of(dict(self.provenance.parameters))

    def to_dict(self) -> Columns:
        """Return the release as a dict that maps each column name to a list of values.

        The columns are `label` (or a position), `value`, `low` and `high`.
        """
        labels = range(len(self)) if self.labels is None else self.labels
        near = _near(self.values, self.noise)
        return _columns(label=labels, value=near.pop("count"), **near)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Answers(Release):
    """A release of the answers of a session that compares values with a noisy threshold.

    If it was created at the end of a session, or for a strategy that decides later, it contains no
    answers, only the amounts in `spent`.

    Attributes:
        consumed: number of values answered, counted from the first. It is smaller than the
            number passed if the session ended at one of them; no later value was used.
        indices: positions of the values above, ascending; all other consumed values are below.
        gaps: distance of each of them above the threshold, in score units, rounded down to the gap
            grid.
        branches: "top" or "middle" for each of them, in an adaptive session.
        costs: part of the session's epsilon that each of them used.
        budget: part of epsilon that is left for further answers of this session.
        remaining: guaranteed number of further answers above the threshold.
        spent: amounts the session has used, keyed by the names of its limits in the parameters.
    """

    schema: ClassVar[str] = "safeselect.answers/1"
    consumed: int = 0
    indices: tuple[int, ...] = ()
    gaps: tuple[Fraction, ...] = ()
    branches: tuple[str, ...] = ()
    costs: tuple[Fraction, ...] = ()
    budget: Fraction | None = None
    remaining: int | None = None
    spent: tuple[tuple[str, int], ...] = ()

    def __post_init__(self) -> None:
        Release.__post_init__(self)
        size = len(self.indices)
        places = [-1, *self.indices, self.consumed]
        require(all(a < b for a, b in pairwise(places)), "its positions")
        require(len(self.gaps) == len(self.costs) == size, "the number of its gaps or costs")
        require(len(self.branches) in (0, size), "the number of its branches")

    def __len__(self) -> int:
        return len(self.indices)

    def to_dict(self) -> Columns:
        """Return the release as a dict that maps each column name to a list of values.

        The columns are the index, gap, branch and cost of each answer "above".
        """
        gaps, costs = map(as_float, self.gaps), map(as_float, self.costs)
        branches = self.branches or None
        return _columns(index=self.indices, gap=gaps, branch=branches, cost=costs)


SHAPES: tuple[type[Release], ...] = (Selection, TopK, Groups, Batch, Numbers, Answers)


def from_json(written: str) -> Release:
    """Recreate a release from the text that its `to_json` method returned.

    The result has the same class and equal fields, except for labels and values of other types
    than `str`, `int`, `Fraction`, `Decimal` and `date`. Strings of a subclass are returned as
    `str`; all others, such as tuples, floats and booleans, are returned as `OtherLabel`.

    The text may come from an untrusted source: only objects of these classes are created. This
    function does not check that the release is in a ledger; `safeselect audit` does.

    Args:
        written: a JSON object with one of the schemas in `docs/releases.md`.

    Returns:
        Selection, TopK, Groups, Batch, Numbers or Answers.

    Raises:
        InputError: the text is not such an object.

    Example:
        >>> from safeselect import top_k
        >>> best = top_k({"tea": 3, "milk": 900, "rum": 2000}, k=2, epsilon=1, sensitivity=1)
        >>> from_json(best.to_json()) == best
        True
    """
    from safeselect.release import codec

    release: Release = codec.read(written, SHAPES)
    return release


def json_schema(shape: type[Release]) -> dict[str, Any]:
    """Return the JSON Schema for a class of releases, such as `TopK`.

    The schema (draft 2020-12) describes the output of `to_json`.

    Raises:
        ParameterError: the argument is not one of the six classes of releases.

    Example:
        >>> json_schema(TopK)["title"]
        'safeselect.top-k/1'
    """
    if shape not in SHAPES:
        names = ", ".join(each.__name__ for each in SHAPES)
        raise ParameterError(f"shape must be one of the classes {names}, got {shape!r}")
    from safeselect.release import codec

    return codec.json_schema(shape)


def _columns(**given: Any) -> Columns:
    return {name: list(column) for name, column in given.items() if column is not None}


def _near(values: Any, noise: Noise | None, least: int | None = None) -> dict[str, Any]:
    """The columns of noisy numbers: themselves, and the interval of what each of them is of."""
    if values is None or noise is None:
        return {"count": values}
    low = [value - noise.high_95 for value in values]
    high = [value - noise.low_95 for value in values]
    if least is not None:
        low, high = ([max(least, each) for each in column] for column in (low, high))
    return {"count": values, "low": low, "high": high}
