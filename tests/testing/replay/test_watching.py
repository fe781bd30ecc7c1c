"""What lies outside a run stays as it was: ledgers, threads, what production runs."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from pipelines import visits

import safeselect
from safeselect import Budget, Ledger, PureDP
from safeselect.errors import ParameterError
from safeselect.release.call import Call
from safeselect.testing import replay


def first_ward(rows):
    counts = Counter(row["ward"] for row in rows)
    return safeselect.permute_and_flip(counts, epsilon=1, sensitivity=1).label


class TestTheWorldOutside:
    def test_no_byte_of_a_ledger_changes(self, tmp_path: Path):
        place, budget = tmp_path / "ledger", Budget("patient", "add_remove", epsilon=3)
        delivered = []

        def deliver(*answer, **more):
            delivered.append((answer, more))

        def spend(rows):
            told = {"unit": "patient", "neighbours": "add_remove", "purpose": "a test"}
            scope = ledger.scope("trial", **told)
            wards = Counter({row["ward"] for row in rows if row["patient"] == "P001"})
            found = safeselect.permute_and_flip(
                [1, 2], epsilon=1, sensitivity=1, ledger=scope.asked("one", outbox=deliver)
            )
            with scope.charge(PureDP(1), mechanism="opendp/laplace") as pending:
                pending.released("17")
            left = ledger.balance("trial").left["epsilon"]
            with safeselect.SparseVector(
                threshold=1, k=1, epsilon=left, sensitivity=1, ledger=scope
            ) as session:
                answer = session.query(len(wards) > 9).above
            return found.label, found.receipt.record, left, answer

        with Ledger.create(place, {"trial": budget}) as ledger:
            before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
            for pairs in (5, 20):
                assert not replay(spend, visits(), unit="patient", pairs=pairs)
            after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
            assert (before, delivered) == (after, [])
            assert (ledger.balance("trial").spent["epsilon"], spend(visits())[2]) == (0, 1)
            assert ledger.balance("trial").spent["epsilon"] == 3

    def test_what_production_runs_is_put_back(self):
        commit = Call.commit
        with pytest.raises(ZeroDivisionError):
            replay(lambda rows: 1 // 0, visits(), unit="patient")
        assert Call.commit is commit
        assert safeselect.permute_and_flip([1, 2], epsilon=1, sensitivity=1).source == (
            "OpenSSLSource"
        )

    def test_another_thread_of_the_pipeline_is_refused(self):
        def work():
            with suppress(ParameterError):  # a thread's own error is easily lost
                safeselect.permute_and_flip([1, 2], epsilon=1, sensitivity=1)

        def parallel(rows):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()

        with pytest.raises(ParameterError, match="in another thread"):
            replay(parallel, visits(), unit="patient", pairs=1)

    def test_it_is_refused_in_production(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("SAFESELECT_REQUIRE_PRODUCTION", "1")
        with pytest.raises(ParameterError, match=r"replay\(\) is for tests"):
            replay(first_ward, visits(), unit="patient")

    def test_one_replay_at_a_time(self):
        def inner(rows):
            replay(first_ward, rows, unit="patient")

        with pytest.raises(ParameterError, match="another replay"):
            replay(inner, visits(), unit="patient")

    def test_the_package_does_not_load_it(self):
        code = "import sys, safeselect; print('safeselect.testing.replay' in sys.modules)"
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert found.stdout.strip() == "False"
