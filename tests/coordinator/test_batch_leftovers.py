"""Leftovers of failed executions of BATCH jobs are removed; files that another execution needs are kept."""

from __future__ import annotations

from pathlib import Path

from firesteel.coordinator.batch_leftovers import failure_note, remove_earlier_runs, remove_failed_run
from firesteel.task.version_store import claim_run, shown_in


def run_with_output(directory: Path, attempt: int) -> tuple[int, Path]:
    """Claim a run, whose tasks have written large output and failed."""
    run = claim_run(directory)
    shown_in(directory, run).mkdir()
    output = shown_in(directory, run) / "output"
    output.touch()
    failure_note(directory, attempt, 0, 1).touch()
    return run, output


def test_a_failed_run_leaves_only_its_number(tmp_path: Path) -> None:
    first, output = run_with_output(tmp_path, 0)
    _, other_output = run_with_output(tmp_path, 1)
    remove_failed_run(tmp_path, first, 0)
    assert not output.parent.exists()
    assert other_output.exists()
    assert [path.name for path in tmp_path.glob("failure-*")] == ["failure-1-0-1"]
    assert claim_run(tmp_path) == 3


def test_only_the_run_whose_output_was_decided_remains(tmp_path: Path) -> None:
    run_with_output(tmp_path, 0)
    run, output = run_with_output(tmp_path, 1)
    remove_earlier_runs(tmp_path, run)
    assert output.exists()
    assert [path.name for path in tmp_path.iterdir()] == [f"versions-{run}"]
