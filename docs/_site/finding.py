"""What the search knows of a page beside its text: its kind, and words that people type for it."""

from __future__ import annotations

import json
from pathlib import Path

KINDS = {
    "adr/": -40,
    "reference/": -4,
    "notebooks/": -4,
    "examples/": -3,
    **dict.fromkeys(
        (
            "benchmarks",
            "timing-measurements",
            "adapter-prices",
            "measured",
            "mutants",
            "claims",
            "proofs",
            "changelog",
        ),
        -30,
    ),
    **dict.fromkeys(
        (
            "reading",
            "mathematics",
            "gap-estimates",
            "ledger-design",
            "timing",
            "performance",
            "renamed",
        ),
        -12,
    ),
    **dict.fromkeys(
        (
            "interface",
            "tables-reference",
            "ledger-reference",
            "audit-reference",
            "advisories",
            "glossary",
        ),
        -4,
    ),
}
"""Points by the beginning of a page's name: decisions and evidence come last."""

WORDS = {
    "tutorial": "tutorial start begin beginner first steps release introduction learn "
    "walkthrough hello world quickstart",
    "install": "install installation setup pip wheel requirements upgrade python version "
    "platform linux macos windows dependency docker conda",
    "faq": "question faq why seed random monotonic sensitivity wrong empty winner "
    "reproducible exact rerun repeat delta tie equal negative small group trust safe "
    "identical same score two result largest maximum return expected deterministic repeatable",
    "choosing": "choose which mechanism function best top k rank ranking compare permute flip "
    "exponential report noisy max laplace gumbel noise error better",
    "scores": "float score grid decimal real rounding number integer nan accuracy sensitivity "
    "declare utility negative minimize loss normalised normalized zero one",
    "tables": "table csv parquet spark pandas polars duckdb dataframe file group cap "
    "contribution count user sql warehouse frequent common value column most popular category "
    "row person many per top product",
    "exports": "excel export messy delimiter encoding analyst umlaut semicolon spreadsheet "
    "german european separated comma date windows codepage repeated duplicate id",
    "budgets": "budget epsilon which choose month monthly total plan spend annual left share "
    "team exhausted remaining allowance split forecast many more ask much year yearly week",
    "accounting": "composition compose add accounting zcdp rho several releases total rdp "
    "renyi moments pld gaussian privacy loss query queries combine together sum",
    "ledger": "ledger record log append approval approve sign signature postgres postgresql "
    "damaged corrupted backup busy lock crash process processes same time concurrent team "
    "audit trail hash chain corrupt undo refund exhausted witness rotate",
    "ledger-reference": "exit code record schema event",
    "restoring": "restore backup lost disk recover disaster recovery corrupt corrupted damaged "
    "file",
    "upgrading": "upgrade version migrate new",
    "keys": "partition key group histogram select partitions threshold enough user show "
    "category rare unknown vocabulary suppress publish published word search term frequent "
    "hide small",
    "gaps": "gap margin confidence interval win lead count difference victory runner second "
    "place far ahead error bar uncertainty",
    "weights-quantiles": "median quantile percentile weight average quartile middle",
    "service": "service server http api fastapi retry idempotent production deploy concurrent "
    "rest endpoint web request docker worker queue microservice",
    "engineer": "engineer logging log metrics opentelemetry monitoring alert observability "
    "prometheus grafana monitor dashboard telemetry",
    "scientist": "scientist own custom mechanism noise law experiment paper add implement new "
    "research compare",
    "experiments": "experiment simulate simulation probability made up synthetic scores "
    "notebook monte carlo seeded seed",
    "testing": "test unit pytest fixture mock deterministic random randomness ci reproducible",
    "replay": "pipeline mistake bug find neighbour check sensitivity code correct correctness "
    "validate sanity wrong",
    "adapters": "opendp dp accounting dp_accounting tumult google integrate library",
    "drop-ins": "diffprivlib aim mst pipelinedp drop replace patch synthetic data beam",
    "audit": "audit auditor verify evidence verdict regulator published result check",
    "audit-checklist": "nist checklist 226 regulator",
    "advisories": "advisory vulnerability defect cve recall bug known bugs issue affected "
    "cvss severity",
    "security": "security threat vulnerability report claim guarantee known limits "
    "responsible disclosure",
    "threat-model": "threat attack attacker adversary leak trust assume protect",
    "timing": "timing time side channel constant running runtime leak measure attack cache",
    "performance": "fast speed performance slow benchmark memory million latency throughput "
    "time large scale long take takes duration second wait",
    "citing": "cite citation bibtex reference paper doi",
    "stability": "stable stability semver compatibility support version promise deprecated "
    "backwards compatible deprecation long term",
    "glossary": "glossary term word meaning definition what terminology epsilon define dictionary",
    "publishing": "publish publication pypi",
    "releases": "wheel checksum sbom reproducible build verify release json schema format "
    "parse api",
    "interface": "api reference function class interface parameter",
    "mathematics": "proof theorem mathematics formula",
    "proofs": "proof theorem coq rocq formal formally verified verification machine checked",
    "renamed": "renamed old name removed",
    "notebooks/analyst": "jupyter notebook plot analyst chart picture visualise visualize",
    "examples/README": "example gallery program",
    "changelog": "change changed changelog history news latest last version",
}
"""By page, in lower case and the singular; all are also words of the page for the search."""


def keywords(page: str) -> str:
    """Front matter that makes the words of a page part of what the search reads."""
    words = ", ".join(WORDS.get(page, "").split())
    return f"---\nmyst:\n  html_meta:\n    keywords: {json.dumps(words)}\n---\n" if words else ""


def scorer(folder: Path) -> None:
    """Put the tables above in front of the scorer, where Sphinx takes it from."""
    tables = {"KINDS": KINDS, "WORDS": {page: words.split() for page, words in WORDS.items()}}
    made = "".join(f"const {name} = {json.dumps(table)};\n" for name, table in tables.items())
    template = Path(__file__).with_name("scorer.js").read_text("utf-8")
    folder.mkdir(exist_ok=True)
    (folder / "scorer.js").write_text(made + template, "utf-8")
