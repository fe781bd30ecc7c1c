"""Releases of all six shapes, made by hand."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from safeselect import BoundedRange, GaussianDP, PureDP
from safeselect.accounting import Repeated
from safeselect.release import results


def said(parameters: dict[str, str]) -> results.Provenance:
    return results.Provenance.of(tuple(parameters.items()), "person", None, None)


_A = Fraction(1, 2)
_NOISE = results.Noise("discrete Laplace", Fraction(3), -3, 4).as_parameters()
SAID: dict[str, Any] = {
    "mechanism": "m/1",
    "guarantee": PureDP(1),
    "parts": (PureDP(1),),
    "source": "OpenSSLSource",
    "provenance": said({"k": "2"}),
}
COUNTED = SAID | {"provenance": said({"k": "2", **_NOISE})}
_RUN = Repeated(PureDP(1), Fraction(1), Fraction(1, 3))
_TOLD = {"receipt": results.Receipt("ab" * 16, 7, bytes(range(32)))}

RELEASES: dict[str, Any] = {
    "a": results.Selection(**SAID, **_TOLD, label="a", index=3, gap=_A),
    "pair": results.Selection(**SAID, label=("a", 1)),
    "none": results.Selection(**SAID, label=None),
    "ordered": results.TopK(**SAID, labels=("b", "a"), indices=(4, 1), gaps=(_A, Fraction(1))),
    "counted": results.TopK(**COUNTED, labels=("a", "b"), counts=(9, 1), ordered=False),
    "mixed": results.TopK(
        **SAID | {"parts": (BoundedRange(_A), BoundedRange(_A), PureDP(0))},
        labels=("a", -(10**30), Decimal("1.0"), date(2020, 1, 31), _A),
        k_bar=5,
    ),
    "empty": results.TopK(**SAID, labels=()),
    "groups": results.Groups(
        **COUNTED, groups=("x", "y"), labels=(("b", "a"), ()), counts=((7, 2), ())
    ),
    "rows": results.Batch(**SAID, winners=np.array([0, 1, 0]), names=("u", "v")),
    "k of rows": results.Batch(
        **SAID, winners=(_W := np.array([[0, 2], [2, 1]])), indices=_W.copy()
    ),
    "measured": results.Numbers(
        **COUNTED | {"guarantee": GaussianDP(_A)}, values=(-1, 5), labels=("u", "v")
    ),
    "quantiles": results.Numbers(**SAID, values=(3,), labels=(_A,)),
    "run": results.Numbers(
        **SAID | {"guarantee": _RUN, "parts": (_RUN,)}, values=(2,), labels=("out",)
    ),
    "answers": results.Answers(
        **SAID,
        consumed=4,
        indices=(0, 2),
        gaps=(_A, Fraction(1)),
        branches=("top", "middle"),
        costs=(Fraction(1, 4),) * 2,
        budget=_A,
        remaining=1,
        spent=(("k", 2),),
    ),
    "closed": results.Answers(**SAID, spent=(("outcomes", 3), ("queries", 1))),
}
