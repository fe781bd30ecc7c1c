"""From results to words: the plain table, the verdicts, `docs/performance.md`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cases import Bar

__all__ = ["case_lines", "judge", "summary_lines", "write_docs"]

Results = dict[str, dict[str, Any]]

_METHOD = (
    "To reproduce: `make bench` on an idle machine. All contenders of a case take turns in one "
    "run; times are medians of one call, ratios are ratios of medians. What each contender is, "
    "and what is inside the measured time, stands in `benchmarks/README.md`."
)
_STAGES = (
    "Medians of each stage at rate 1/4, clock readings included (0.2 µs each), measured after all "
    "else: the machine changes its pace, so look at the shares. Up to 24 candidates "
    "all get exact logarithms; up to 4096 all get finely tabulated noise; beyond, 16-bit keys."
)
_TIMING = Path(__file__).parent / "timing" / "results"


def duration(ns: float | None) -> str:
    """Three digits with a unit."""
    if ns is None:
        return ""
    for limit, unit in ((1e3, "ns"), (1e6, "µs"), (1e9, "ms")):
        if ns < limit * 0.9995:
            return f"{ns * 1e3 / limit:.3g} {unit}"
    return f"{ns / 1e9:.3g} s"


def _amount(entry: dict[str, Any]) -> str:
    if entry["median"] is None:
        bound = f" ({duration(entry['low'])})" if entry["low"] else ""
        return entry["status"] + bound
    if entry["unit"] == "ns":
        return duration(entry["median"])
    return f"{entry['median']:.3g} {entry['unit']}"


def case_lines(name: str, case: dict[str, Any]) -> list[str]:
    """One case as plain text."""
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
        line = f"  {entry['label']:<42} {_amount(entry):>10}  {each:<14} {spread:<28}"
        lines.append(f"{line} {entry['note']}".rstrip())
    return lines


def judge(bar: Bar, results: Results) -> dict[str, Any]:
    """Hold the results against a bar: passed, missed or not measured."""
    ours, other = _find(results, bar.case, bar.ours), _find(results, bar.case, bar.other)
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
    # A lower bound that falls short of the bar decides nothing.
    outcome = "pass" if passed else "not measured" if bound else "missed"
    return verdict | {"value": value, "bound": bound, "outcome": outcome, "why": ""}


def _find(results: Results, case: str, label: str) -> dict[str, Any] | None:
    for entry in results.get(case, {}).get("entries", ()):
        if entry["label"] == label:
            return dict(entry)
    return None


def _verdict(bar: dict[str, Any]) -> tuple[str, str, str]:
    """The limit, the value and the outcome in words."""
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
    """The verdicts as plain text."""
    lines = ["", "BARS (ratios of medians of one run)"]
    for bar in record["bars"]:
        limit, value, outcome = _verdict(bar)
        lines.append(f"  {bar['text']:<78} {limit:>12}  {value:>16}  {outcome}")
    counts = {"pass": 0, "missed": 0, "not measured": 0}
    for bar in record["bars"]:
        counts[bar["outcome"]] += 1
    lines.append("  " + ", ".join(f"{number} {what}" for what, number in counts.items()))
    lines += [f"  engine: {record['machine']['engine']}; {record['seconds']} s"]
    note = record["machine"]["warning"]
    return [*lines, f"  {note}"] if note else lines


def write_docs(record: dict[str, Any], directory: Path) -> None:
    """Write performance.md and performance.svg."""
    from figure import draw

    draw(record, directory / "performance.svg")
    text = "\n".join(_document(record)) + "\n"
    (directory / "performance.md").write_text(text, encoding="utf-8")
    print(f"written: {directory / 'performance.md'}, {directory / 'performance.svg'}")


def _document(record: dict[str, Any]) -> Iterable[str]:
    machine = record["machine"]
    yield from (
        "# Performance",
        "",
        "This page is written by `benchmarks/bench.py`; do not edit it.",
        "",
        _circumstances(machine),
        "",
    )
    if machine["warning"]:
        yield from (f"**{machine['warning']}.**", "")
    if record["options"]["quick"] or record["options"]["only"]:
        yield from ("**A shortened run: the grid below is not complete.**", "")
    yield from (
        _METHOD,
        "",
        "![Time of one call against the number of candidates](performance.svg)",
        "",
        "## Bars",
        "",
        "| work | bar | measured | |",
        "|---|---|---|---|",
    )
    for bar in record["bars"]:
        limit, value, outcome = _verdict(bar)
        mark = outcome if outcome == "pass" else f"**{outcome}**"
        yield f"| {bar['text']} | {_pretty(limit)} | {_pretty(value)} | {mark} |"
    yield ""
    yield from _missed(record["bars"])
    yield from _stages(record["cases"])
    for name, title in (
        ("grid-pf", "Permute-and-flip"),
        ("grid-em", "Exponential mechanism"),
        ("grid-top10", "Top 10 (the top 5 where n = 10)"),
    ):
        yield from _grid(record["cases"], name, title)
    yield from _others(record["cases"])
    yield from _timing()


def _circumstances(machine: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {is_}" for name, is_ in machine["versions"].items() if is_)
    others = "" if machine["others"] is None else f"; others used {machine['others']:.0%} of a core"
    return (
        f"Measured {machine['date']} on {machine['cpu']}, {machine['cores']} cores, "
        f"{machine['memory_gb']} GB, {machine['system']}; {machine['python']}; {versions}. "
        f"Load average before the run {machine['load_before']:.2f}{others}."
    )


def _pretty(limit: str) -> str:
    return limit.replace("<=", "≤").replace(">=", "≥").replace(" x", " ×")


def _missed(bars: list[dict[str, Any]]) -> Iterable[str]:
    missed = [bar for bar in bars if bar["outcome"] == "missed"]
    open_ = [bar for bar in bars if bar["outcome"] == "not measured"]
    if not missed and not open_:
        yield from ("All bars are met.", "")
        return
    for bar in missed:
        limit, value, outcome = _verdict(bar)
        reason = f" Why: {bar['reason']}." if bar["reason"] else ""
        yield f"- {outcome}: {bar['text']}: {_pretty(value)}, bar {_pretty(limit)}.{reason}"
    for bar in open_:
        yield f"- not measured: {bar['text']} ({bar['why'] or 'the cap says too little'})."
    yield ""


def _stages(results: Results) -> Iterable[str]:
    """One column for each n that was measured."""
    cases = {name: case for name, case in results.items() if name.startswith("stages-")}
    if not cases:
        return
    columns = [{entry["label"]: entry for entry in case["entries"]} for case in cases.values()]
    yield from ("## Where the time of one permute-and-flip goes", "", _STAGES, "")
    sizes = [f"{int(name.removeprefix('stages-')):,}".replace(",", " ") for name in cases]
    yield from (f"| stage | {' | '.join(f'n = {size}' for size in sizes)} |", "|---|--:|--:|--:|")
    # The largest n has most stages, in the order in which they follow.
    for label in dict.fromkeys(label for column in reversed(columns) for label in column):
        cells = [_amount(column[label]) if label in column else "" for column in columns]
        yield f"| {label} | {' | '.join(cells)} |"
    yield ""


def _grid(results: Results, group: str, title: str) -> Iterable[str]:
    rows = {name: case for name, case in results.items() if name.startswith(f"{group}-")}
    if not rows:
        return
    labels = [entry["label"] for entry in next(iter(rows.values()))["entries"]]
    yield from (f"## {title}, rate 1/1000", "", "| scores | n | " + " | ".join(labels) + " |")
    yield "|---|--:|" + "--:|" * len(labels)
    for case in sorted(rows.values(), key=lambda case: case["entries"][0]["n"]):
        first = case["entries"][0]
        cells = " | ".join(_cell(entry) for entry in case["entries"])
        yield f"| {first['scores']} | {first['n']:,} | {cells} |".replace(",", " ")
    yield ""


def _cell(entry: dict[str, Any]) -> str:
    text = _amount(entry)
    if entry["status"] == "over the cap":
        return f"over {duration(entry['low'])}"
    return text + (" ¹" if entry["note"].startswith("one run") else "")


def _others(results: Results) -> Iterable[str]:
    yield from (
        "¹ one run, in its probe.",
        "",
        "## The other cases",
        "",
        "| case | contender | median | each |",
    )
    yield "|---|---|--:|--:|"
    for name, case in results.items():
        if name.startswith(("grid-", "stages-")):
            continue
        for entry in case["entries"]:
            each = ""
            if entry["median"] and entry["unit"] == "ns" and entry.get("n", 0) >= 1000:
                each = f"{entry['median'] / entry['n']:.3g} ns"
            note = f" ({entry['note']})" if entry["note"] else ""
            yield f"| {name} | {entry['label']} | {_amount(entry)}{note} | {each} |"
    yield ""


def _timing() -> Iterable[str]:
    """The paragraphs that the scripts of benchmarks/timing left."""
    found = sorted(_TIMING.glob("*.json"))
    if not found:
        return
    yield from ("## Timing evidence", "")
    for path in found:
        yield from (json.loads(path.read_text(encoding="utf-8"))["paragraph"], "")
