"""Words of public names stand in the glossary or are plain English; home-made ones stay away."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
GLOSSARY = (ROOT / "docs" / "glossary.md").read_text("utf-8").lower()
ROOMS = (*("", ".accounting", ".estimates", ".ledger", ".samplers", ".sources"), ".testing")

# What was called otherwise once, and is not to come back: each had two meanings, or was ours alone.
HOME_MADE = {
    *("brief", "decay", "decide", "filed", "few", "fine", "need", "outlay", "plain", "setting"),
    *("single", "spelled", "standing", "steps", "tail", "terms", "told", "total"),
}

PLAIN = {
    *(
        "above",
        "and",
        "bits",
        "check",
        "default",
        "digits",
        "error",
        "errors",
        "estimate",
        "exceeded",
    ),
    *("expected", "explain", "from", "get", "insecure", "input", "item", "items", "k", "kept"),
    *("lines", "many", "max", "none", "of", "one", "optimal", "parameter", "per", "ratio"),
    *("require", "select", "selection", "selections", "set", "sum", "top", "warning", "what"),
    *("whole", "with", "you", "busy", "damaged", "rolled", "back", "rows", "uniform", "below"),
    *("permutation", "production", "recording", "replay", "deterministic", "open", "ssl", "safe"),
    *("system", "callback", "combined", "observed", "bytes", "nonce", "ranking", "kind", "value"),
    *("variance", "vector", "base2", "coin", "lazy", "floor", "power", "store", "verifier"),
    *("signer", "ed", "json", "journal", "log", "row", "torn", "checker", "pending", "draw"),
    *(
        "discovered",
        "selected",
        "composed",
        "peeled",
        "resolve",
        "reference",
        "enclosed",
        "exp",
        "budget",
    ),
}


def words(name: str) -> list[str]:
    """The words of a name in snake case, camel case or capitals."""
    if name.isupper() or "_" in name or name.islower():
        return [word.lower() for word in name.split("_") if word]
    spaced = name.replace("OpenSSL", "OpenSsl").replace("TopK", "Top K").replace("DP", "")
    return [word.lower() for word in re.findall(r"[A-Z][a-z]*|[a-z]+", spaced)]


def public() -> list[tuple[str, str]]:
    return [
        (room, name)
        for room in ROOMS
        for name in importlib.import_module(f"safeselect{room}").__all__
    ]


def is_explained(word: str) -> bool:
    return word in PLAIN or bool(re.search(rf"\b{re.escape(word.rstrip('s'))}", GLOSSARY))


def test_every_word_of_a_public_name_is_explained() -> None:
    found = [
        (room, name, word)
        for room, name in public()
        for word in words(name)
        if word in HOME_MADE or not is_explained(word)
    ]
    assert found == []


def test_a_home_made_word_is_noticed() -> None:
    assert set(words("spelled_total")) <= HOME_MADE
    assert words("DecayTerms") == ["decay", "terms"]
    assert words("ZeroConcentratedDP") == ["zero", "concentrated"]
    assert words("OpenSSLSource") == ["open", "ssl", "source"]


def test_each_term_stands_once() -> None:
    rows = re.findall(r"^\| ([^|]+) \|", GLOSSARY, re.M)
    terms = [term for row in rows if row != "term" for term in row.split(", ")]
    assert len(terms) == len(set(terms)) > 60
