"""`make durations`: slow tests without a reason are listed, and nothing fails by its time."""

from __future__ import annotations

from pathlib import Path

import pytest

import durations

ROOT = Path(__file__).parents[2]


def test_what_is_listed_and_in_which_order():
    lines = [
        "2.100\tnone\ttests/a.py::test_slow[one two]\n",
        "9.000\tnone\ttests/a.py::test_slower\n",
        "2.000\tnone\ttests/a.py::test_at_the_limit\n",
        "9.000\town\ttests/a.py::test_marked[1]\n",
        "0.100\town\ttests/a.py::test_marked[2]\n",
        "0.300\town\ttests/b.py::test_marked_for_nothing[1]\n",
        "0.100\tfile\ttests/c.py::test_in_a_marked_file\n",
    ]
    assert durations.report(lines) == [
        "7 tests, 23 s of processor time",
        "Over 2 s and not marked slow: 2",
        "     9.0 s  tests/a.py::test_slower",
        "     2.1 s  tests/a.py::test_slow[one two]",
        "Marked slow, and under 0.5 s: 1",
        "            tests/b.py::test_marked_for_nothing",
    ]


@pytest.mark.parametrize("mark", [pytest.mark.slow, pytest.mark.nightly("")])
def test_a_mark_without_its_reason_is_refused(mark, request):
    """By the settings of all tests, which look at every item."""
    conftest = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    request.node.add_marker(mark)
    with pytest.raises(pytest.UsageError, match=f'write pytest.mark.{mark.name}\\("the reason"'):
        conftest.pytest_collection_modifyitems([request.node])
