"""A step chart as inline SVG: a running total over time, and its cap."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from safeselect.accounting.cost import rounded_text
from safeselect.cli._escape import in_html
from safeselect.errors import LedgerError
from safeselect.ledger.record import read_time

_LEFT, _RIGHT, _TOP, _BOTTOM = 10, 890, 24, 180


def chart(
    title: str, start: str, charges: Sequence[tuple[str, Fraction, str]], cap: Fraction
) -> str:
    """Return the chart as SVG text.

    Args:
        title: a text for readers who cannot see the chart.
        start: UTC time at which the total was zero.
        charges: for each charge its UTC time, the total after it, and its purpose.
        cap: the largest total allowed, at the upper edge.
    """
    times = [_seconds(start), *(_seconds(time) for time, _, _ in charges)]
    first, span = min(times), max(1, max(times) - min(times))

    def across(time: str) -> int:
        return _LEFT + (_seconds(time) - first) * (_RIGHT - _LEFT) // span

    def up(total: Fraction) -> int:
        return _BOTTOM - int(total * (_BOTTOM - _TOP) / cap)

    line, dots = [f"M{_LEFT} {_BOTTOM}"], []
    for time, total, purpose in charges:
        line.append(f"H{across(time)}V{up(total)}")
        title = in_html(f"{time}: {rounded_text(total)} after “{purpose}”")
        dots.append(
            f'<circle cx="{across(time)}" cy="{up(total)}" r="3" fill="var(--main)">'
            f"<title>{title}</title></circle>"
        )
    path = "".join([*line, f"H{_RIGHT}"])
    last = max((start, *(time for time, _, _ in charges)), key=_seconds)
    return (
        f'<svg viewBox="0 0 900 205" role="img" aria-label="{in_html(title)}">'
        f"<title>{in_html(title)}</title>"
        f'<path d="{path}V{_BOTTOM}Z" fill="var(--fill)"/>'
        f'<path d="{path}" fill="none" stroke="var(--main)" stroke-width="2"/>{"".join(dots)}'
        f'<path d="M{_LEFT} {_TOP}H{_RIGHT}" stroke="var(--bad)" stroke-dasharray="6 4"/>'
        f'<path d="M{_LEFT} {_BOTTOM}H{_RIGHT}" stroke="var(--dim)"/>'
        f'<text x="{_LEFT}" y="{_TOP - 8}">cap {rounded_text(cap)}</text>'
        f'<text x="{_LEFT}" y="{_BOTTOM + 17}">{in_html(start)}</text>'
        f'<text x="{_RIGHT}" y="{_BOTTOM + 17}" text-anchor="end">{in_html(last)}</text></svg>'
    )


def _seconds(time: str) -> int:
    found = read_time(time)
    if found is None:
        raise LedgerError("a record states a time that is none")
    return (found[0] - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
