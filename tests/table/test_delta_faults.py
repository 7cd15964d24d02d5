"""Jobs that fail between checkpoints, or after a commit, commit each row to a Delta table once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.table.failing_inserts import ROWS, insert

pytest.importorskip("deltalake", reason="the extra firesteel[delta] is not installed")

from deltalake import DeltaTable

pytestmark = pytest.mark.spark


def check(path: Path) -> None:
    """Check that each row is there once, and that there are several versions."""
    table = DeltaTable(path)
    assert sorted(table.to_pyarrow_table()["v"].to_pylist()) == list(range(1, ROWS + 1))
    assert table.version() > 2


def run(path: Path, fail_once) -> None:
    statement = f"CREATE TABLE t (v BIGINT) WITH ('connector' = 'delta', 'table-path' = '{path}')"
    insert(statement, "SELECT fail_once(v) FROM numbers", fail_once)
    check(path)


def test_a_slot_that_is_killed_between_checkpoints_changes_no_row(tmp_path):
    mark = tmp_path / "killed"

    def fail_once(v):
        if v == ROWS // 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return v

    run(tmp_path / "t", fail_once)
    assert mark.exists()


def test_a_commit_whose_answer_is_lost_is_not_repeated(tmp_path, monkeypatch):
    original, lost = DeltaTable.create_write_transaction, []

    def commit(table, *arguments, **more):
        is_second = table.version() == 1
        original(table, *arguments, **more)
        if is_second and not lost:
            lost.append(True)
            raise ConnectionError("connection reset")

    monkeypatch.setattr(DeltaTable, "create_write_transaction", commit)
    run(tmp_path / "t", lambda v: v)
    assert lost
