"""Pipelines with DuckDB and with plain rows, as people write them; none of them has a mistake."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from typing import Any

from safeselect import PureDP, best_of, measure, permute_and_flip, select_many, top_k

GENRES = ["crime", "drama", "horror", "nature", "sport", "travel"]


def liked_genres(trips: Any) -> list[str]:
    """With DuckDB: the genres that most people watched, each person counted once."""
    import duckdb

    connection = duckdb.connect()
    connection.register("plays", trips)
    rows = connection.execute(
        """
        SELECT genre, count(DISTINCT person) AS people
        FROM plays
        WHERE minutes >= 5
        GROUP BY genre
        """
    ).fetchall()
    connection.close()

    found = dict(rows)
    people = [found.get(genre, 0) for genre in GENRES]
    best = top_k(people, k=3, epsilon="3/2", sensitivity=1, monotonic=True, labels=GENRES)
    return list(best.labels)


def best_channel(data: dict[str, Any]) -> str:
    """With two tables: minutes, weighted by what each person pays, 5 at most and 60 minutes."""
    pays = defaultdict(int)
    for row in data["people"]:
        pays[row["person"]] = min(row["pays"], 5)

    minutes: Counter[tuple[str, str]] = Counter()
    for row in data["plays"]:
        if row["minutes"] > 0:
            minutes[row["person"], row["genre"]] += row["minutes"]

    scores = dict.fromkeys(GENRES, 0)
    for (person, genre), total in minutes.items():
        if genre in scores:
            weight = pays[person]
            scores[genre] += min(total, 60) * weight

    chosen = permute_and_flip(scores, epsilon=1, sensitivity=300, monotonic=True)
    if chosen.label is None:
        return "none"
    return chosen.label


def two_answers(plays: list[dict[str, Any]]) -> dict[str, Any]:
    """The genre of most people; then, of it alone, how many people watched it for an hour."""
    people = defaultdict(set)
    for play in plays:
        people[play["genre"]].add(play["person"])
    first = permute_and_flip(
        [len(people[genre]) for genre in GENRES],
        epsilon=1,
        sensitivity=1,
        monotonic=True,
        labels=GENRES,
    )
    minutes: Counter[str] = Counter()
    for play in plays:
        if play["genre"] == first.label:
            minutes[play["person"]] += play["minutes"]
    fans = sum(total >= 60 for total in minutes.values())
    second = measure([fans], epsilon=1, sensitivity_l1=1)
    result = {"genre": first.label, "fans": second.values[0]}
    result["share of all"] = "unknown"
    return result


def by_month(plays: list[dict[str, Any]]) -> list[str]:
    """The genre of each month, where a person counts in two months at most."""
    months, seen = ["May", "June", "July"], defaultdict(set)
    for play in sorted(plays, key=lambda play: (play["person"], play["month"])):
        mine = seen[play["person"]]
        if len({month for month, _ in mine} | {play["month"]}) <= 2:
            mine.add((play["month"], play["genre"]))

    counted, matrix = Counter(pair for mine in seen.values() for pair in mine), []
    for month in months:
        matrix.append([counted[month, genre] for genre in GENRES])

    winners = select_many(
        matrix, max_rows=2, epsilon=1, sensitivity=1, monotonic=True, labels=GENRES
    )
    found = []
    for month, genre in zip(months, winners.labels, strict=True):
        found.append(f"{month}: {genre}")
    return found


def tuned_limit(plays: list[dict[str, Any]]) -> Any:
    """The best of several limits, each tried on people who watched longer."""
    limits = iter([10, 30, 90] * 400)
    minutes: Counter[str] = Counter()
    for play in plays:
        minutes[play["person"]] += play["minutes"]

    def run(scope: Any) -> tuple[int, int]:
        limit = next(limits)
        above = sum(total >= limit for total in minutes.values())
        noisy = measure([above], epsilon="1/4", sensitivity_l1=1, ledger=scope)
        score = -abs(noisy.values[0] - 20)
        return score, limit

    chosen = best_of(run, base=PureDP(Fraction(1, 4)), gamma="1/5")
    (limit,) = chosen.labels
    if limit is None:
        text = "no limit was found"
    else:
        text = f"about twenty people watched for {limit} minutes"
    return {"limit": limit, "text": text}
