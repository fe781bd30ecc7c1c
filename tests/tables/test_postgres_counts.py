"""The recipe of docs/tables.md on a real PostgreSQL server: the same counts as from a file."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from postgres import needs_postgres, running_server

from safeselect.tables import count_distinct_users

pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")

PAGE = (Path(__file__).parents[2] / "docs" / "tables.md").read_text("utf-8")
(SQL,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
(CODE,) = [
    each for each in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "psycopg" in each
]


@pytest.mark.slow("starts a PostgreSQL server")
@needs_postgres
def test_the_recipe_gives_the_counts_of_a_file() -> None:
    import psycopg

    draw = random.Random(7)
    cities = [
        "Zürich",
        "zurich",
        "Å",
        "a",
        "Rome",
        "rome ",
        "-",
        "ß",
        "Łódź",
        *map(str, range(150)),
    ]
    pairs = [(draw.choice(cities), draw.randrange(300)) for _ in range(6000)]
    table = pa.table({"city": [city for city, _ in pairs], "rider": [rider for _, rider in pairs]})
    with running_server() as server:
        with psycopg.connect(server.conninfo, autocommit=True) as connection:
            connection.execute("CREATE TABLE trips (city text, rider integer)")
            with connection.cursor() as cursor:
                rows = [*pairs, (None, 1), ("Oslo", None)]
                cursor.executemany("INSERT INTO trips VALUES (%s, %s)", rows)
            capped = connection.execute(SQL).fetchall()
            plain = connection.execute(re.sub(r"WHERE place.*\n", "", SQL)).fetchall()
        names: dict[str, object] = {"conninfo": server.conninfo, "sql": SQL}
        exec(compile(CODE, "docs/tables.md", "exec"), names)  # noqa: S102 - our own page
    columns = {"item": "city", "user": "rider", "places": 101}
    # Order included: list, not dict.
    assert capped == list(count_distinct_users(table, **columns, max_contributions=5).items())
    assert plain == list(count_distinct_users(table, **columns).items())
    assert capped != plain
    assert names["counts"].max_contributions == 5
    assert names["found"].k_bar == 100
