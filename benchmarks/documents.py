"""Write results as pages: `docs/performance.md`, and `docs/benchmarks.md` with all figures."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from report import Results, amount, beside, duration, find, verdict

__all__ = ["figures_page", "reader_page", "write_docs"]

Record = dict[str, Any]

_METHOD = (
    "To reproduce these figures, run `make bench` on an idle machine. All contenders of a case "
    "take turns in one run. Times are medians for one call, and ratios are ratios of medians. "
    "`benchmarks/README.md` describes the contenders, and what the measured time includes. A "
    "*bar* is a target. A *goal* is a target that the run may miss without failing."
)
_STAGES = (
    "The table shows the median of each stage at rate 1/4, including clock readings (0.2 µs each). "
    "The stages were measured last, and the speed of the machine varies, so compare only their "
    "shares. Among up to 24 candidates, each gets exact logarithms. Among up to 4096, each gets "
    "noise from a fine table. Among more, each gets a key from 16 digits."
)
_RATIO = (
    "The last column is the ratio to the time of what a user would otherwise run: the float "
    "one-liner or, where there is none, another library."
)
_TIMING = Path(__file__).parent / "timing" / "results"
_BESIDE = Path(__file__).parent / "data" / "beside.md"
"""Results of other benchmark programs, in words, for the end of the page for readers."""


_HEADER = "This page is written by `make bench-docs`; do not edit it."
# name of the cases, in words, label of ours, label of the float one-liner, label of OpenDP's
_ROWS = (
    ("pf", "permute-and-flip", "permute_and_flip", "argmax(scores + rng.exponential)", "(PF)"),
    ("em", "exponential mechanism", "exponential_mechanism", "argmax(scores + rng.gumbel)", "(EM)"),
    ("top10", "top 10", "top_k exponential", "argpartition(scores + rng.gumbel)", "(EM)"),
)
_SIZES = (10, 1000, 10**5, 10**6)


def write_docs(record: Record, directory: Path) -> None:
    """Write performance.md with performance.svg, and benchmarks.md."""
    from figure import draw

    draw(record, directory / "performance.svg")
    pages = {"performance.md": reader_page(record), "benchmarks.md": figures_page(record)}
    for name, lines in pages.items():
        (directory / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"written to {directory}: {', '.join(pages)} and performance.svg")


def reader_page(record: Record) -> Iterable[str]:
    """Yield the page for readers: a figure, some sentences and one table."""
    machine, cases = record["machine"], record["cases"]
    ratios = [
        f"{words} {entry['median'] / other['median']:.2g}"
        for name, words, ours, floats, _ in _ROWS
        if (entry := find(cases, f"grid-{name}-uniform-{10**6}", ours))
        and (other := find(cases, f"grid-{name}-uniform-{10**6}", floats))
    ]
    yield from ("# Performance", "", _HEADER, "")
    yield "![Time of one call against the number of candidates](performance.svg)"
    yield ""
    if ratios:
        yield (
            "The float one-liners in this table are not private. For 10^6 candidates on an "
            f"{machine['cpu']}, the ratio of the time of the exact release to that of the "
            f"one-liner was: {', '.join(ratios)}."
        )
    yield (
        "The work depends on the number of candidates but not on their scores, so hard and easy "
        "cases take equally long."
    )
    yield (
        f"Times are medians for one whole call ({machine['date'][:10]}, {machine['python']}). "
        "Ratios differ between machines. [Benchmarks](benchmarks.md) lists all figures, and shows "
        "which targets are met."
    )
    yield from (
        "",
        "| release | candidates | safeselect | float one-liner | OpenDP | OpenDP, Zipf |",
    )
    yield "|---|--:|--:|--:|--:|--:|"
    for name, words, ours, floats, kind in _ROWS:
        dp = f"OpenDP noisy {'top-k' if name == 'top10' else 'max'} {kind}"
        for size in _SIZES:
            case, zipf = (f"grid-{name}-{family}-{size}" for family in ("uniform", "zipf"))
            found = [find(cases, case, label) for label in (ours, floats, dp)]
            cells = [_cell(each) if each else "" for each in (*found, find(cases, zipf, dp))]
            if any(cells):
                yield f"| {words} | {size:,} | {' | '.join(cells)} |".replace(",", " ")
    yield ""
    yield (
        "Scores are uniform on 0 .. 999 or, in the last column, follow Zipf's law, for which the "
        "early exit of OpenDP helps less."
    )
    yield from ("", *_BESIDE.read_text(encoding="utf-8").splitlines())


def figures_page(record: Record) -> Iterable[str]:
    """Yield the page for maintainers: the bars and every table."""
    machine = record["machine"]
    yield from ("# Benchmarks", "", _HEADER, "", _circumstances(machine), "")
    if machine["warning"]:
        yield from (f"**{machine['warning']}.**", "")
    if record["options"]["quick"] or record["options"]["only"]:
        yield from ("**A shortened run: the grid below is not complete.**", "")
    yield from (_METHOD, "", "## Bars", "", "| work | bar | measured | |", "|---|---|---|---|")
    for bar in record["bars"]:
        limit, value, outcome = verdict(bar)
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
    used = machine["others"]
    others = "" if used is None else f"; other processes used {used:.0%} of a core"
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
        limit, value, outcome = verdict(bar)
        reason = f" Why: {bar['reason']}." if bar["reason"] else ""
        yield f"- {outcome}: {bar['text']}: {_pretty(value)}, bar {_pretty(limit)}.{reason}"
    for bar in open_:
        yield f"- not measured: {bar['text']} ({bar['why'] or 'the lower bound is inconclusive'})."
    yield ""


def _stages(results: Results) -> Iterable[str]:
    """Yield a table with one column for each n that was measured."""
    cases = {name: case for name, case in results.items() if name.startswith("stages-")}
    if not cases:
        return
    columns = [{entry["label"]: entry for entry in case["entries"]} for case in cases.values()]
    yield from ("## Where the time of one permute-and-flip goes", "", _STAGES, "")
    sizes = [f"{int(name.removeprefix('stages-')):,}".replace(",", " ") for name in cases]
    yield from (f"| stage | {' | '.join(f'n = {size}' for size in sizes)} |", "|---|--:|--:|--:|")
    # The largest n has the most stages, in the order in which they run.
    for label in dict.fromkeys(label for column in reversed(columns) for label in column):
        cells = [amount(column[label]) if label in column else "" for column in columns]
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
    text = amount(entry)
    if entry["status"] == "over the cap":
        return f"over {duration(entry['low'])}"
    return text + (" ¹" if entry["note"].startswith("one run") else "")


def _others(results: Results) -> Iterable[str]:
    yield from (
        "¹ measured only once, in the probe.",
        "",
        "## The other cases",
        "",
        _RATIO,
        "",
        "| case | contender | median | each | ratio |",
    )
    yield "|---|---|--:|--:|--:|"
    for name, case in results.items():
        if name.startswith(("grid-", "stages-")):
            continue
        for entry in case["entries"]:
            each = ""
            if entry["median"] and entry["unit"] == "ns" and entry.get("n", 0) >= 1000:
                each = f"{entry['median'] / entry['n']:.3g} ns"
            note = f" ({entry['note']})" if entry["note"] else ""
            ratio = beside(entry, case["entries"])
            yield f"| {name} | {entry['label']} | {amount(entry)}{note} | {each} | {ratio} |"
    yield ""


def _timing() -> Iterable[str]:
    """Yield the paragraphs that the scripts of benchmarks/timing wrote."""
    found = sorted(_TIMING.glob("*.json"))
    if not found:
        return
    yield from ("## Timing evidence", "")
    for path in found:
        yield from (json.loads(path.read_text(encoding="utf-8"))["paragraph"], "")
