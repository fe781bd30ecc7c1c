"""Formulas as MathML, which browsers set themselves: no script, no font and no request."""

from __future__ import annotations

import re
from typing import Any

from latex2mathml.converter import convert

_KEPT = re.compile(r"(`+[^`]*`+|\]\([^)]*\)|\$\$.*?\$\$|^```.*?^```$)", re.DOTALL | re.MULTILINE)
_BRACKETS = r"\((?:[^()]|\([^()]*\))*\)"
_RAISED = re.compile(rf"\^({_BRACKETS}|[−-]?\d+|[−-]?\w[′']?)")
_LOWERED = re.compile(rf"(?<=[\w₊₋′'])_(\{{[^{{}}]*\}}|{_BRACKETS}|[^\W_²³]+)")


def raised(text: str) -> str:
    """Exponents and indices within sentences as such: `e^(x)` and `q_j` outside of code."""
    parts = _KEPT.split(text)
    for place in range(0, len(parts), 2):
        part = _RAISED.sub(lambda one: f"<sup>{_bare(one[1])}</sup>", parts[place])
        parts[place] = _LOWERED.sub(lambda one: f"<sub>{_bare(one[1])}</sub>", part)
    return "".join(parts)


def _bare(text: str) -> str:
    """Without the brackets around the whole."""
    return text[1:-1] if text[0] in "({" else text


def _inline(self: Any, node: Any) -> None:
    self.body.append(f'<span class="math">{convert(node.astext())}</span>')
    raise _skip()


def _block(self: Any, node: Any) -> None:
    lines = (part for part in node.astext().split("\n\n") if part.strip())
    formulas = "".join(convert(part, display="block") for part in lines)
    self.body.append(f'<div class="math">{formulas}</div>')
    raise _skip()


def _skip() -> Exception:
    from docutils.nodes import SkipNode

    return SkipNode()


def setup(app: Any) -> None:
    """Sphinx calls this."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
