"""Write results as words: amounts, cases as plain text, and the verdicts on the bars."""

from __future__ import annotations

from typing import Any

from bars import Bar
from otherwise import otherwise

__all__ = [
    "Results",
    "amount",
    "beside",
    "case_lines",
    "duration",
    "find",
    "judge",
    "summary_lines",
    "verdict",
]

Results = dict[str, dict[str, Any]]


def duration(ns: float | None) -> str:
    """Return a duration with three digits and a unit."""
    if ns is None:
        return ""
    for limit, unit in ((1e3, "ns"), (1e6, "µs"), (1e9, "ms")):
        if ns < limit * 0.9995:
            return f"{ns * 1e3 / limit:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def amount(entry: dict[str, Any]) -> str:
    """Return the median of an entry with its unit, or the reason why there is none."""
    if entry["median"] is None:
        bound = f" ({duration(entry['low'])})" if entry["low"] else ""
        return entry["status"] + bound
    if entry["unit"] == "ns":
        return duration(entry["median"])
    return f"{entry['median']:.3g} {entry['unit']}"


def beside(entry: dict[str, Any], entries: list[dict[str, Any]]) -> str:
    """Return the ratio to what a user would otherwise run, if the same case measured it."""
    medians = {each["label"]: each["median"] for each in entries}
    other = medians.get(otherwise(entry["label"], medians) or "")
    return f"{entry['median'] / other:.3g} ×" if entry["median"] and other else ""


def case_lines(name: str, case: dict[str, Any]) -> list[str]:
    """Return one case as plain text."""
    lines = ["", f"{name}: {case['title']}"]
    entries = case["entries"]
    for entry in entries:
        spread = ""
        if entry["median"] is not None and entry["samples"] > 1 and entry["unit"] == "ns":
            low, high = duration(entry["low"]), duration(entry["high"])
            spread = f"{low:>8} .. {high:<8} x{entry['samples']}"
        each = ""
        if entry["median"] and entry["unit"] == "ns" and entry.get("n", 0) >= 1000:
            each = f"{entry['median'] / entry['n']:.3g} ns each"
        ratio = beside(entry, entries)
        line = f"  {entry['label']:<42} {amount(entry):>10}  {each:<14} {ratio:>9} {spread:<28}"
        lines.append(f"{line} {entry['note']}".rstrip())
    return lines


def judge(bar: Bar, results: Results) -> dict[str, Any]:
    """Compare the results with a bar: passed, missed or not measured."""
    ours, other = find(results, bar.case, bar.ours), find(results, bar.case, bar.other)
    verdict = {
        "text": bar.text,
        "limit": bar.limit,
        "kind": bar.kind,
        "unit": "x" if bar.unit == "" else bar.unit,
        "goal": bar.goal,
        "reason": bar.reason,
        "value": None,
        "bound": False,
    }
    value, bound = None, False
    if ours is None or ours["median"] is None:
        reason = "not run" if ours is None else ours["status"]
        return verdict | {"outcome": "not measured", "why": reason}
    if bar.kind == "value":
        value = ours["median"] * bar.weight
    elif other is not None and other["median"] is not None:
        ratio = ours["median"] / other["median"]
        value = (ratio if bar.kind == "at most" else 1 / ratio) * bar.weight
    elif other is not None and other["status"] == "over the cap" and bar.kind == "at least":
        value, bound = other["low"] / ours["median"] * bar.weight, True
    if value is None:
        reason = "not run" if other is None else other["status"]
        return verdict | {"outcome": "not measured", "why": f"{bar.other}: {reason}"}
    passed = value >= bar.limit if bar.kind == "at least" else value <= bar.limit
    # A lower bound that is below the bar decides nothing.
    outcome = "pass" if passed else "not measured" if bound else "missed"
    return verdict | {"value": value, "bound": bound, "outcome": outcome, "why": ""}


def find(results: Results, case: str, label: str) -> dict[str, Any] | None:
    """Return the entry of a case with this label, or None if it did not take part."""
    for entry in results.get(case, {}).get("entries", ()):
        if entry["label"] == label:
            return dict(entry)
    return None


def verdict(bar: dict[str, Any]) -> tuple[str, str, str]:
    """Return the limit, the value and the outcome in words."""
    sign = ">=" if bar["kind"] == "at least" else "<="
    unit = " x" if bar["unit"] == "x" else f" {bar['unit']}"
    value = "" if bar["value"] is None else f"{bar['value']:.3g}{unit}"
    if bar["bound"]:
        value = f"more than {value}"
    outcome = bar["outcome"]
    if outcome == "missed":
        by = abs(bar["value"] / bar["limit"] - 1)
        outcome = f"{'goal ' if bar['goal'] else ''}missed by {by:.0%}"
    elif bar["why"]:
        outcome += f" ({bar['why']})"
    return f"{sign} {bar['limit']:g}{unit}", value, outcome


def summary_lines(record: dict[str, Any]) -> list[str]:
    """Return the verdicts as plain text."""
    lines = ["", "BARS (ratios of medians of one run)"]
    for bar in record["bars"]:
        limit, value, outcome = verdict(bar)
        lines.append(f"  {bar['text']:<78} {limit:>12}  {value:>16}  {outcome}")
    counts = {"pass": 0, "missed": 0, "not measured": 0}
    for bar in record["bars"]:
        counts[bar["outcome"]] += 1
    lines.append("  " + ", ".join(f"{number} {what}" for what, number in counts.items()))
    lines += [f"  engine: {record['machine']['engine']}; {record['seconds']} s"]
    note = record["machine"]["warning"]
    return [*lines, f"  {note}"] if note else lines
