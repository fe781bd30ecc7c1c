"""A release in words, for people who read its result: made from the release alone.

These sentences are reviewed like claims: none promises more than the guarantee does.  They decide
no release: with other words the hash of what decides one stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from itertools import repeat
from textwrap import fill
from typing import Any

from safeselect.exact.interval import Interval
from safeselect.promises.guarantees import STATED, ApproximateDP
from safeselect.release.display import cost, cut, with_places
from safeselect.release.page import shown
from safeselect.release.results import (
    NOT_STATED,
    Answers,
    Batch,
    Groups,
    Numbers,
    Release,
    Selection,
)

_SHOWN = 20  # labels
_DELTA = Fraction(1, 10**6)  # at which a guarantee without epsilon is put into words
_PRECISION = 128
_LARGE = 50
_WIDTH = 88
_quoted = partial(cut, quoted=repr)  # as people write it; what cannot be printed is escaped

_ASKED = {
    "stated_": "Which {k} of {candidates} candidates does the caller's own mechanism choose?",
    "unknown_domain": "Which items (at most {k}) have the largest counts? The set of items is "
    "private too.",
    "top_k_by_group": "Which candidates of each of {groups} groups have the largest counts?",
    "top_k_many": "In each of {rows} rows, which of {candidates} candidates have the largest "
    "scores (top {k})?",
    "select_many": "In each of {rows} rows, which of {candidates} candidates has the largest "
    "score?",
    "top_k_above": "Which candidates (up to {k}) have the largest scores of at least {threshold}?",
    "top_k": "Which of {candidates} candidates have the largest scores (top {k})?",
    "pay_what_you_get": "Which items have the largest counts, query after query? The set of "
    "items is private too.",
    "partition": "Which keys have enough users to be shown?",
    "measure": "About how large is each measured number ({values} in all)?",
    "quantile": "Between {lowest} and {highest}, about where are the quantiles {quantiles} of the "
    "values?",
    "best_of": "Which of many private runs has the best score?",
    "first_above": "Is there a private run with a score of at least {threshold}?",
    "sparse_vector": "Which of the values exceed the threshold, one after the other?",
}
_ONE = "Which of {candidates} candidates has the largest score?"
_ASSUMED = {
    "sensitivity": "No unit changes any one score by more than {}.",
    "range": "No unit changes the difference of two scores by more than {}.",
    "sensitivity_l1": "No unit changes the numbers by more than {} in total.",
    "sensitivity_l2_squared": "No unit changes the numbers by more than {} in the sum of squares.",
    "max_contributions": "Each unit is counted for at most {} of the items.",
    "max_partitions": "Each unit is counted for at most {} of the keys.",
    "max_groups": "Each unit is counted in at most {} of the groups.",
    "base": "Each run, with its score and its output, costs at most {}.",
}
_RELATIONS = {
    "add_remove": ("had its data not been there", "this data was there or not there"),
    "replace_one": ("had its data been other data", "this data or its replacement was there"),
}
_OTHERS = "on a neighbouring data set, as the caller defines it", "this or that data set was there"
_USED = {"k": "guaranteed answers above the threshold"}  # the names of other limits say it
_PRIVATE_CANDIDATES = ("unknown_domain", "pay_what_you_get", "select_partitions", "partition_str")


def sections(release: Release) -> dict[str, list[str]]:
    """Return what was asked, released, promised and to whom, assumed, and not promised."""
    # A release may come from anybody: none of its texts moves a cursor or turns a line.
    stated = {name: shown(text) for name, text in release.provenance.parameters}
    unit, source = shown(release.provenance.unit), shown(release.source)
    if base := getattr(release.guarantee, "base", None):
        stated["base"] = f"{type(base).__name__} {cost(base)}"
    if unit == NOT_STATED:
        unit = "unit of privacy (the caller did not name it)"
    form = next((form for law, form in _ASKED.items() if law in release.mechanism), _ONE)
    if stated.get("minimize") == "yes":
        form = form.replace("largest", "smallest").replace("at least", "at most")
    said = defaultdict(lambda: "(number not stated)", stated)
    found = {
        "What was asked": [form.format_map(said)],
        "What was released": _released(release, said),
        "What was promised, and to whom": _promised(release, unit),
        "What was assumed": [*_assumed(release, stated), f"Its random bytes came from {source}."],
        "What was not promised": [
            "Groups: the promise to two units together is weaker than the promise to one.",
            "Other releases: each further release from the same data weakens this promise.",
            "Findings that hold for people in general: these are the purpose of the release.",
            "Accuracy: chance may have put another candidate or number in place of the true one.",
            "Running time.",
        ],
    }
    if "NOT PRIVATE" in source:
        warning = f"Its random bytes came from {source}: nothing below holds."
        found = {"THIS RELEASE IS NOT PRIVATE": [warning], **found}
    return found


def in_words(release: Release) -> str:
    """Return the same as one text."""
    filled = partial(fill, width=_WIDTH, initial_indent="  ", subsequent_indent="  ")
    titled = sections(release).items()
    return "\n\n".join("\n".join([title, *map(filled, said)]) for title, said in titled)


def _released(release: Any, stated: Mapping[str, str]) -> list[str]:
    if isinstance(release, Selection):
        said = [f"{_quoted(release.label)}."]
    elif isinstance(release, Groups):
        rows = zip(release.groups, release.labels, release.counts or repeat(None), strict=False)
        said = [f"{_quoted(group)}: {_listed(*row)}." for group, *row in rows]
    elif isinstance(release, Batch):
        said = [f"The winner or winners of each row ({len(release)} in all)."]
    elif isinstance(release, Answers):
        above = f"Values above the threshold: {len(release)}, each with its noisy lead over it."
        apart = "The answers are not part of this release: they are released one by one."
        used = ((each, stated[name], _USED.get(name, shown(name))) for name, each in release.spent)
        said = ["The session used {} of its {} {}.".format(*each) for each in used]
        return [above if release.consumed else apart, *said]
    elif not len(release):
        return ["Nothing was found."]
    else:
        labels = release.labels
        numbers = release.values if isinstance(release, Numbers) else release.counts
        end = ", best first." if getattr(release, "ordered", False) else "."
        said = [_listed(labels or numbers, labels and numbers) + end]
    gaps = getattr(release, "gap", getattr(release, "gaps", None))
    if gaps is not None:
        said.append("Also released: the noisy lead of each over the next.")
    if (noise := getattr(release, "noise", None)) is not None:
        off = with_places(Fraction(max(abs(noise.low_95), abs(noise.high_95))), 0)
        what = "number" if isinstance(release, Numbers) else "count"
        said.append(f"Each {what} has noise: with probability 95 % it is off by at most {off}.")
    elif gaps is None and not isinstance(release, Numbers):
        said.append("No score or count was released, true or noisy.")
    return said


def _listed(labels: Any, numbers: Any = None) -> str:
    """The first labels, each with its number if there are any."""
    said = [*map(_quoted, labels[:_SHOWN])]
    if numbers is not None:
        said = [f"{each} ({_quoted(n)})" for each, n in zip(said, numbers, strict=False)]
    more = f" and {len(labels) - _SHOWN} more" if len(labels) > _SHOWN else ""
    return f"{', '.join(said)}{more}" or "nothing"


def _promised(release: Any, unit: str) -> list[str]:
    guarantee: Any = release.guarantee
    is_stated = isinstance(guarantee, ApproximateDP)
    bound = guarantee if is_stated else guarantee.pure or guarantee.approximate(_DELTA)
    epsilon, delta = bound.epsilon, bound.delta if isinstance(bound, ApproximateDP) else Fraction(0)
    factor, sure = _odds(epsilon, delta)
    other, there = _RELATIONS.get(release.provenance.neighbours, _OTHERS)
    plus = f", plus a probability of {with_places(delta, 12)}" if delta else ""
    promise = (
        f"To each individual {unit}: {other}, any result above would have been nearly as likely. "
        f"With epsilon = {with_places(epsilon, 2)} no event becomes more than {factor} times as "
        f"likely, or as unlikely{plus}. Somebody who thinks it equally likely that {there}, and "
        "who knows all other data, guesses right from the result with a probability of at most "
        f"{sure} %. This holds whatever else is known, and for this release alone."
    )
    stated = "The caller stated this guarantee; this library does not prove it."
    return [stated, promise] if release.mechanism.startswith(STATED) else [promise]


def _odds(epsilon: Fraction, delta: Fraction) -> tuple[str, str]:
    """e**epsilon, and (e**epsilon + delta) / (1 + e**epsilon) in percent, both rounded up.

    The second is the most that any test is right, a priori both being equally likely: its two
    errors a and b have a + e**epsilon b >= 1 - delta and e**epsilon a + b >= 1 - delta.
    """
    if epsilon > _LARGE:
        return f"e to the power of {with_places(epsilon, 2)}", "100"
    factor = Interval.of(epsilon, _PRECISION).exp()
    right = (factor + delta) / (1 + factor)
    return with_places(factor.fractions()[1], 2), with_places(100 * right.fractions()[1], 1)


def _assumed(release: Any, stated: dict[str, str]) -> list[str]:
    said = [form.format(stated[name]) for name, form in _ASSUMED.items() if name in stated]
    if stated.get("monotonic") == "yes":
        said.append("All scores move the same way when a unit is added, as counts do.")
    if "candidates" in stated and not release.mechanism.startswith(_PRIVATE_CANDIDATES):
        said.append("The candidates were known without looking at the data.")
    if release.provenance.unit == NOT_STATED:
        said.append("The caller knows whose privacy is protected.")
    return [*said, "The caller asserted this; the library cannot check it."] if said else []
