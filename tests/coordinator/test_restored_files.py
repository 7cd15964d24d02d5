"""How often files of a savepoint are read by a job that starts from it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from firesteel.coordinator.stored_checkpoints import restore_job
from firesteel.task import restore
from firesteel.task.restored_state import read_restored_state
from firesteel.testing import run_local
from firesteel.testing.local_job import _job_graph_of
from tests.coordinator.test_restore import counts, environment


def test_each_file_is_read_once_for_all_operators_of_a_vertex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = run_local(counts(environment(2)), batch_elements=7, batches=5, savepoint=tmp_path)
    restore_job(_job_graph_of(counts(environment(3, first.savepoint))), {}, tmp_path / "job")
    state = read_restored_state(tmp_path / "job")
    assert state is not None
    read, frames = Counter[str](), restore.read_frames

    def counting(directory: Path, chain: Any, *rest: Any) -> Any:
        read.update(file.path for file in chain)
        return frames(directory, chain, *rest)

    monkeypatch.setattr(restore, "read_frames", counting)
    operators = list(state._plan.operators)
    assert len(operators) > 3
    assert sum(len(entries) for _, (_, entries) in state.keyed(operators, range(128))) > 0
    assert set(read.values()) == {1}
    read.clear()
    assert set(state.snapshots(operators)) == set(operators)
    assert set(read.values()) == {1}
