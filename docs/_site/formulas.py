"""Formulas as MathML, which browsers set themselves: no script, no font and no request."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


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
