"""Pipelines with frames of pandas and polars, as people write them; none of them has a mistake."""

from __future__ import annotations

from typing import Any

import numpy as np

from safeselect import SparseVector, measure, permute_and_flip, top_k

WARDS = ["bone", "ear", "eye", "heart", "lung", "skin"]


def busiest_wards(visits: Any) -> dict[str, Any]:
    """The two wards that most patients have seen: one count a patient and ward."""
    wards = WARDS
    known = visits[visits["ward"].isin(wards)]
    known = known[known["days"].fillna(0) >= 0]

    once = known.drop_duplicates(["patient", "ward"])
    counts = once["ward"].value_counts()
    scores = counts.reindex(wards, fill_value=0)

    found = top_k(scores.tolist(), k=2, epsilon=1, sensitivity=1, monotonic=True, labels=wards)

    first, second = found.labels[0], found.labels[1]
    report = {"wards": list(found.labels), "first": first}
    report["text"] = f"most patients went to {first}, then to {second}"
    urgent = ["heart", "lung"]
    if first in urgent or second in urgent:
        report["alert"] = "beds may be short"
    return report


def ward_report(visits: Any) -> list[tuple[str, int]]:
    """How many patients each ward has, where a patient counts in two wards at most."""
    pairs = visits[["patient", "ward"]].drop_duplicates()
    pairs = pairs[pairs["ward"].isin(WARDS)]
    pairs = pairs.sort_values(["patient", "ward"])
    pairs = pairs.groupby("patient").head(2)

    table, counts = pairs.groupby("ward").size(), {}
    for ward in WARDS:
        counts[ward] = int(table.get(ward, 0))

    noisy = measure(counts, epsilon=1, sensitivity_l1=2)

    rows = []
    for ward, count in zip(noisy.labels, noisy.values, strict=True):
        rows.append((ward, max(count, 0)))
    rows.sort(key=lambda row: -row[1])
    if rows[0][1] == 0:
        rows = []
    return rows


def wards_to_watch(visits: Any) -> list[str]:
    """Two wards with many patients, found in turn; it ends when two are found."""
    known = visits[visits["ward"].isin(WARDS)]
    once = known.drop_duplicates(["patient", "ward"])
    counts, found = once.groupby("ward").size(), []

    session = SparseVector(threshold=20, k=2, epsilon=1, sensitivity=1, monotonic=True)
    with session:
        for ward in WARDS:
            answer = session.query(int(counts.get(ward, 0)))
            if answer.above:
                found.append(ward)
            if answer.remaining == 0:
                break

    if not found:
        return ["none"]
    found.sort()
    return found


def busy_sites(visits: Any) -> dict[str, Any]:
    """With polars: the site of most patients, and how many patients it has."""
    import polars

    sites = ["north", "south", "east", "west"]
    known = visits.filter(polars.col("site").is_in(sites))
    table = known.group_by("site").agg(polars.col("patient").n_unique())
    counts = dict(table.iter_rows())
    scores = [counts.get(site, 0) for site in sites]

    best = permute_and_flip(scores, epsilon=1, sensitivity=1, monotonic=True, labels=sites)

    # The second question is about the site that the first one found.
    mine = known.filter(polars.col("site") == best.label)
    mine = mine.select("patient", "days")
    mine = mine.filter(polars.col("days").is_not_null())
    patients = mine["patient"].n_unique()
    size = measure([patients], epsilon="1/2", sensitivity_l1=1)

    return {"site": best.label, "patients": size.values[0]}


def good_features(table: Any) -> list[str]:
    """With scikit-learn: the two columns that tell most of `ill`, by clipped products."""
    from sklearn.preprocessing import MinMaxScaler

    names = ["age", "weight", "pulse", "iron"]
    numbers = table[names].to_numpy(dtype=float)

    # All columns on one scale, from 0 to 1; what lies outside is cut.
    scaler = MinMaxScaler(clip=True)
    scaler.fit(np.array([[0, 30, 40, 0], [100, 150, 180, 200]], dtype=float))
    scaled = scaler.transform(numbers)

    signs = np.where(table["ill"].to_numpy(), 1, -1)
    products = np.nan_to_num((scaled - 0.5) * signs[:, None])
    scores = np.abs(products.sum(axis=0))

    chosen = top_k(scores, k=2, epsilon=1, sensitivity="1/2", grid="1/1000", labels=names)

    kept = []
    for name in names:
        if name in chosen.labels:
            kept.append(name)
    return kept
