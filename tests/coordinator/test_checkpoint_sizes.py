"""What checkpoints wrote and what they hold: slots write what changed, and everything anew now and then."""

from __future__ import annotations

from pathlib import Path

from firesteel.common import Types
from firesteel.coordinator.checkpoints import Checkpoints
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats
from firesteel.task.slot_tasks import StageReport
from firesteel.task.stage_plan import StagePlan


class Run:
    """A run of a job with one stage and two slots, which writes what it is told to."""

    def __init__(self, directory: Path) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        env.from_collection([1, 2], Types.LONG()).map(lambda number: number, Types.LONG()).print()
        job_graph = env.get_stream_graph().get_job_graph()
        plan = StagePlan(job_graph)
        self.operator = job_graph.vertices[0].chain[0].operator_id
        self.enumerator = SplitEnumerator(job_graph)
        self.checkpoints = Checkpoints(plan, directory, lambda committables: None)
        self.checkpoints.recover(self.enumerator)

    def write(self, batch_id: int, base: int, *sizes: int) -> None:
        reports = [
            StageReport(0, slot, [], [], None, base, {self.operator: size} if size else {})
            for slot, size in enumerate(sizes)
        ]
        for report in reports:
            parent = self.checkpoints.versions / "0" / str(report.slot)
            parent.mkdir(parents=True, exist_ok=True)
            (parent / f"{batch_id}.{'full' if base == batch_id else 'delta'}").touch()
        self.checkpoints.batch_ended(batch_id, reports)

    def complete(self) -> CheckpointStats:
        return self.checkpoints.complete(self.enumerator, 0.0)


def test_a_checkpoint_holds_more_than_was_written_for_it(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.write(0, 0, 100, 50)
    first = run.complete()
    run.write(1, 0, 7, 0)
    run.write(2, 0, 3, 0)
    second = run.complete()
    assert (first.checkpointed_size, first.state_size) == (150, 150)
    assert second.checkpointed_sizes == {run.operator: {0: 10}}
    assert second.state_sizes == {run.operator: {0: 110, 1: 50}}


def test_what_was_written_anew_replaces_what_was_there(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.write(0, 0, 100, 50)
    run.write(1, 1, 60, 0)
    stats = run.complete()
    assert (stats.checkpointed_size, stats.state_size) == (210, 60)


def test_all_of_a_savepoint_counts_as_written(tmp_path: Path) -> None:
    run = Run(tmp_path / "checkpoints")
    run.write(0, 0, 100, 50)
    run.complete()
    savepoint = run.checkpoints.savepoint(tmp_path / "savepoints", run.enumerator)
    assert (savepoint.checkpointed_size, savepoint.state_size) == (150, 150)


def test_a_run_that_goes_on_from_a_checkpoint_holds_what_it_held(tmp_path: Path) -> None:
    before = Run(tmp_path)
    before.write(0, 0, 100, 50)
    before.complete()
    after = Run(tmp_path)
    after.write(1, 0, 5, 5)
    stats = after.complete()
    assert (stats.checkpointed_size, stats.state_size) == (10, 160)
