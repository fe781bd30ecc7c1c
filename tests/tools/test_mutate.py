"""`make mutants`: what it does to the copy, and that explanations are of something."""

from __future__ import annotations

import mutate

PACKAGE = mutate.ROOT / "src" / "safeselect"


def test_every_file_of_the_core_still_compiles():
    for patterns, _ in mutate.PARTS.values():
        for pattern in patterns:
            files = list(PACKAGE.glob(pattern))
            assert files, pattern
            for file in files:
                compile(mutate.undecorated(file.read_text()), file.name, "exec")


def test_what_is_explained_is_explained_once_and_of_a_file():
    reasons = mutate.tomllib.loads(mutate.EXPLAINED.read_text())["reason"]
    assert all(reason["why"].strip() and reason["changes"] for reason in reasons)
    changes = [change for reason in reasons for change in reason["changes"]]
    assert len(changes) == len(set(changes))
    for change in changes:
        file, _, change = change.partition(": ")
        assert (PACKAGE / file).is_file(), file
        assert not mutate.unheard(file), file
        assert " -> " in change
