"""Watches the engine while it draws: what reached each draw, whoever asked for it and how.

A profile function sees every call of Python code.  Of the functions in `WATCHED`, which draw, it
notes the arguments as they stand in the frame: so it does not matter by which name, through which
class or from which cache they were reached.  Nothing is read from a plan: a rate is the enclosure
that a comparison of noisy scores was made with, a threshold's law the table that was searched.

Random bits that are taken outside of all watched functions are noted too, by the name of the
function that took them: a new road to random bits cannot be overlooked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from types import CodeType, FrameType
from typing import Any

_GUARD = 72  # digits by which the nats of a step have more than the precision of a comparison
_SHOWN = 10_000  # scores of so many candidates are kept


@dataclass
class Draw:
    """One draw.

    Args:
        law: of the noise, or of what was searched.
        low, high: enclose the rate in nats per grid step; 0 where the law has none.
        k: how many are ranked; 1 otherwise.
        size: how many noises, in each row.
        rows: of a batch.
        gaps: the unit of the gaps in steps, or None.
        weights: of the candidates, or None.
        scores: in steps as they were handed over, row by row.
        more: what else reached the draw.
    """

    law: str
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(0)
    k: int = 1
    size: int = 1
    rows: int = 1
    gaps: Fraction | None = None
    weights: tuple[Fraction, ...] | None = None
    scores: tuple[tuple[int, ...], ...] = ()
    more: dict[str, Any] = field(default_factory=dict)


@dataclass
class Seen:
    """What was observed.

    Args:
        draws: in their order.
        elsewhere: the functions that took random bits outside of all watched ones.
        reached: the watched functions that were called.
    """

    draws: list[Draw] = field(default_factory=list)
    elsewhere: set[str] = field(default_factory=set)
    reached: set[str] = field(default_factory=set)
    _open: list[tuple[int, Draw | None]] = field(default_factory=list)

    def now(self) -> Draw | None:
        """The draw that is going on."""
        return next((draw for _, draw in reversed(self._open) if draw is not None), None)

    def taken(self, frame: FrameType) -> None:
        """Random bits are taken: by a draw, or by nobody that is watched."""
        if not self._open:
            asking = frame.f_back
            while asking is not None and ".randomness." in asking.f_globals.get("__name__", ""):
                asking = asking.f_back
            if asking is not None:
                name = asking.f_globals.get("__name__", "?").removeprefix("safeselect.")
                self.elsewhere.add(f"{name}.{asking.f_code.co_qualname}")


Local = dict[str, Any]
Note = Callable[[Seen, Local], Draw | None]


def _nats(rate: Any) -> tuple[Fraction, Fraction]:
    low, high = rate.scaled(256)
    return Fraction(low, 1 << 256), Fraction(high, 1 << 256)


def _rows(scores: Any) -> tuple[tuple[int, ...], ...]:
    rows = scores.tolist() if scores.size <= _SHOWN else []
    return tuple(map(tuple, rows if rows and isinstance(rows[0], list) else [rows]))


def _weights(weights: Any) -> tuple[Fraction, ...] | None:
    if weights is None:
        return None
    found = [Fraction(str(weight)) for weight in weights.cells]  # a float is what it prints
    return tuple(weight / min(found) for weight in found)


def _ranked(seen: Seen, local: Local) -> Draw:
    plan, scores, removed = local["public"], local["scores_on_grid"], local["removed"]
    return Draw(
        plan.law.name,
        *_nats(plan.noise_rate),
        k=plan.k,
        size=scores.size - len(removed),
        gaps=plan.gap_unit if plan.ranked > plan.k else None,
        weights=_weights(plan.weights),
        scores=_rows(scores),
        more={"coarse": plan.fixed_rate, "removed": tuple(removed)},
    )


def _batch(seen: Seen, local: Local) -> Draw:
    plan, scores = local["public"], local["scores"]
    return Draw(
        plan.law.name,
        *_nats(plan.noise_rate),
        size=scores.shape[0],
        rows=scores.shape[1],
        weights=_weights(plan.weights),
        scores=_rows(scores.T),
        more={"coarse": plan.fixed_rate},
    )


def _compared(seen: Seen, local: Local) -> None:
    """What a comparison was made with, which is what counts: it replaces what was planned."""
    draw, plan, precision = seen.now(), local["plan"], local["precision"]
    if draw is not None and "slow" in local:
        draw.low = Fraction(local["slow"], 1 << precision + _GUARD)
        draw.high = Fraction(local["fast"], 1 << precision + _GUARD)
        draw.law = plan.law.name


def _array(law: str) -> Note:
    def note(seen: Seen, local: Local) -> Draw | None:
        now = seen.now()
        if now is not None and now.law == "discrete laplace":  # geometric noise with a sign
            now.low, now.high = _nats(local["noise_rate"])
            return None
        return Draw(law, *_nats(local["noise_rate"]), size=local["n"])

    return note


def _symmetric(seen: Seen, local: Local) -> Draw:
    law = local["law"]
    return Draw(type(law).__name__, size=local["n"], more={"sigma_squared": law.sigma_squared})


def _gaussian(seen: Seen, local: Local) -> Draw | None:
    squared = Fraction(local["sigma_squared"])
    return Draw("DiscreteGaussian", more={"sigma_squared": squared})


def _enclosed(seen: Seen, local: Local) -> Draw:
    return Draw(local["kind"], *_nats(local["noise_rate"]), more={"session": True})


def _inverted(seen: Seen, local: Local) -> None:
    draw = seen.now()
    if draw is not None:
        draw.low, draw.high = _nats(local["noise_rate"])
        draw.more["inverted"] = local["self"]


def _bounded(seen: Seen, local: Local) -> None:
    """The rate that divides the nats of a session's noise."""
    for draw in seen.draws:
        if draw.more.get("inverted") is local["self"] and "above" in local:
            rate = Fraction(local["above"] * local["denominator"], local["below"])
            draw.low = draw.high = rate


def _thresholds(seen: Seen, local: Local) -> Draw:
    return Draw("thresholds", size=local["count"], more={"table": local["table"]})


def _keyed(seen: Seen, local: Local) -> Draw:
    return Draw("keyed thresholds", more={"table": local["table"]})


def _point(seen: Seen, local: Local) -> Draw:
    law, part = local["law"], local["part"]
    said = {"quantile": law.quantile, "ties": law.ties, "fine": part.fine, "points": part.points}
    return Draw("point", law.rate, law.rate, more=said)


def _runs(seen: Seen, local: Local) -> Draw:
    law = local["law"]
    names = ("eta", "gamma", "mean")
    said = {name: getattr(law, name) for name in names if hasattr(law, name)}
    return Draw(type(law).__name__, more=said)


def _bottom(seen: Seen, local: Local) -> Draw:
    return Draw("bottom", more={"offset": local["offset"]})


def _nothing(seen: Seen, local: Local) -> None:
    return None


WATCHED: dict[str, Note] = {
    "engine.rankings._ranked": _ranked,
    "engine.rows.noisy_max_rows": _nothing,
    "engine.rows.combine_rows": _batch,
    "engine.geometric.geometric": _array("geometric"),
    "engine.geometric.discrete_laplace": _array("discrete laplace"),
    "engine.gaussian.draw_symmetric": _symmetric,
    "samplers.discrete_gaussian": _gaussian,
    "engine.single.enclosed_noise": _enclosed,
    "engine.single.InvertedNoise.__init__": _inverted,
    "engine.single.InvertedNoise.refine": _nothing,
    "mechanisms.keys.draw_thresholds": _thresholds,
    "mechanisms.keys.keyed_threshold": _keyed,
    "mechanisms.quantiles.draw_point": _point,
    "mechanisms.runs.Stopping.__init__": _runs,
    "mechanisms.runs.Stopping._refine": _nothing,
    "mechanisms.unknown._above_bottom": _bottom,
}
"""The functions that draw, and what to note of their arguments."""

_AT_THE_END: dict[str, Note] = {
    "engine.rankings.certified_order": _compared,
    "engine.single.InvertedNoise.bounds": _bounded,
}
_BITS = ("randomness.bits.Bits.take", "randomness.bits.Bits.fill")


@contextmanager
def observed() -> Iterator[Seen]:
    """Watch this thread."""
    seen = Seen()
    known: dict[CodeType, str | None] = {}

    def name_of(frame: FrameType) -> str | None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("safeselect."):
            return None
        name = f"{module.removeprefix('safeselect.')}.{frame.f_code.co_qualname}"
        return name if name in WATCHED or name in _AT_THE_END or name in _BITS else None

    def hook(frame: FrameType, event: str, argument: object) -> None:
        if event not in ("call", "return"):
            return
        code = frame.f_code
        if code not in known:
            known[code] = name_of(frame)
        name = known[code]
        if name is None:
            return
        if event == "return":
            if name in WATCHED:
                while seen._open and seen._open.pop()[0] != id(frame):
                    pass
            elif name in _AT_THE_END:
                _AT_THE_END[name](seen, dict(frame.f_locals))
        elif name in _BITS:
            seen.taken(frame)
        elif name in WATCHED:
            seen.reached.add(name)
            draw = WATCHED[name](seen, dict(frame.f_locals))
            seen._open.append((id(frame), draw))
            if draw is not None:
                seen.draws.append(draw)

    before = sys.getprofile()
    sys.setprofile(hook)
    try:
        yield seen
    finally:
        sys.setprofile(before)
