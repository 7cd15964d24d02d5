"""Jobs that fail between checkpoints, or after a commit, commit each row to an Iceberg table once."""

from __future__ import annotations

import os
import signal

import pytest

from tests.seeds import combinations
from tests.table.failing_inserts import ROWS, insert
from tests.table.iceberg_lake import Lake, with_text

pytest.importorskip("pyiceberg", reason="the extra firesteel[iceberg] is not installed")

from pyiceberg.table import Table

from firesteel.connectors.iceberg.committer import CHECKPOINT_ID, COMMITTABLES

pytestmark = pytest.mark.spark

QUERIES = {
    "append": ("k BIGINT, n BIGINT", (), "SELECT fail_once(v), v FROM numbers"),
    "upsert": (
        "k BIGINT NOT NULL, n BIGINT",
        ("k",),
        "SELECT k, COUNT(*) FROM (SELECT MOD(fail_once(v), 50) AS k FROM numbers) GROUP BY k",
    ),
}
EXPECTED = {
    "append": [(v, v) for v in range(1, ROWS + 1)],
    "upsert": [(k, ROWS // 50) for k in range(50)],
}


def run(directory, kind, fail_once):
    """Write numbers, and return the table.

    Args:
        directory: The directory of the lake.
        kind: A key of `QUERIES`.
        fail_once: A function that returns its argument, and may fail.
    """
    columns, keys, query = QUERIES[kind]
    lake = Lake(directory, columns, keys)
    primary_key = ", PRIMARY KEY (k) NOT ENFORCED" if keys else ""
    insert(f"CREATE TABLE t ({columns}{primary_key}) WITH ({with_text(directory)})", query, fail_once)
    return lake


def check_snapshots(lake, kind):
    """Check the rows, and that snapshots are numbered and have no committable twice."""
    assert lake.rows() == EXPECTED[kind]
    summaries = [snapshot.summary for snapshot in lake.snapshots()]
    assert [int(summary[CHECKPOINT_ID]) for summary in summaries] == list(range(1, len(summaries) + 1))
    committed = [name for summary in summaries for name in summary[COMMITTABLES].split(",")]
    assert len(committed) == len(set(committed))
    assert len(summaries) > 2


@pytest.mark.parametrize(("kind", "is_killed"), combinations(QUERIES, [False, True]))
def test_a_slot_that_fails_between_checkpoints_changes_no_row(tmp_path, kind, is_killed):
    mark = tmp_path / "failed"

    def fail_once(v):
        if v == ROWS // 2 and not mark.exists():
            mark.touch()
            if is_killed:
                os.kill(os.getpid(), signal.SIGKILL)
            raise RuntimeError("failed once")
        return v

    lake = run(tmp_path, kind, fail_once)
    assert mark.exists()
    check_snapshots(lake, kind)


@pytest.mark.parametrize("kind", list(QUERIES))
def test_a_commit_whose_answer_is_lost_is_not_repeated(tmp_path, kind, monkeypatch):
    original, lost = Table._do_commit, []

    def commit(table, **changes):
        original(table, **changes)
        if len(table.metadata.snapshots) == 2 and not lost:
            lost.append(True)
            raise ConnectionError("connection reset")

    monkeypatch.setattr(Table, "_do_commit", commit)
    lake = run(tmp_path, kind, lambda v: v)
    assert lost
    check_snapshots(lake, kind)
