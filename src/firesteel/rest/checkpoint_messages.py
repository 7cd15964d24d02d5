"""Checkpoints in REST messages (Flink: `runtime.rest.messages.checkpoints`)."""

from __future__ import annotations

from typing import Any

from firesteel.common.options.state_options import STATE_BACKEND
from firesteel.common.time import Duration
from firesteel.rest.rest_errors import RestError
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointsSummary, CheckpointStats, SizesOfSubtasks
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, JobVertexDetails

Body = dict[str, Any]

_NO_INTERVAL = 2**63 - 1
_PREFIX = "execution.checkpointing."


def checkpoints(job: ArchivedExecutionGraph) -> Body:
    """Return the body of `/jobs/:jobid/checkpoints`."""
    summary = job.details.checkpoints
    history = [_checkpoint(job, stats) for stats in summary.history]
    return {
        "counts": {
            "restored": 0 if summary.restored is None else 1,
            "total": summary.total,
            "in_progress": summary.in_progress,
            "completed": summary.completed,
            "failed": summary.failed,
        },
        "summary": _figures(summary),
        "latest": {
            "completed": next((one for one in history if not one["is_savepoint"]), None),
            "savepoint": next((one for one in history if one["is_savepoint"]), None),
            "failed": None,
            "restored": _restored(summary),
        },
        "history": history,
    }


def _restored(summary: CheckpointsSummary) -> Body | None:
    restored = summary.restored
    if restored is None:
        return None
    return {
        "id": restored.checkpoint_id,
        "restore_timestamp": restored.restored_ms,
        "is_savepoint": restored.is_savepoint,
        "external_path": restored.external_path,
    }


def _checkpoint(job: ArchivedExecutionGraph, stats: CheckpointStats) -> Body:
    subtasks = sum(vertex.parallelism for vertex in job.details.vertices)
    return {
        "className": "completed",
        "id": stats.checkpoint_id,
        "status": "COMPLETED",
        "is_savepoint": stats.is_savepoint,
        "savepointFormat": "CANONICAL" if stats.is_savepoint else None,
        "trigger_timestamp": stats.trigger_timestamp_ms,
        "latest_ack_timestamp": stats.trigger_timestamp_ms + stats.duration_ms,
        "checkpointed_size": stats.checkpointed_size,
        "state_size": stats.state_size,
        "end_to_end_duration": stats.duration_ms,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": subtasks,
        "num_acknowledged_subtasks": subtasks,
        "checkpoint_type": "SAVEPOINT" if stats.is_savepoint else "CHECKPOINT",
        "tasks": {},
        "external_path": f"file:{stats.external_path}",
        "discarded": False,
    }


def checkpoint_details(job: ArchivedExecutionGraph, checkpoint_id: int) -> Body:
    """Return the body of `/jobs/:jobid/checkpoints/details/:checkpointid`.

    Raises:
        RestError: the checkpoint is not in the history (404).
    """
    stats = _stats(job, checkpoint_id)
    return _checkpoint(job, stats) | {
        "tasks": {vertex.id: _task(job, stats, vertex) for vertex in job.details.vertices}
    }


def _stats(job: ArchivedExecutionGraph, checkpoint_id: int) -> CheckpointStats:
    for stats in job.details.checkpoints.history:
        if stats.checkpoint_id == checkpoint_id:
            return stats
    raise RestError(404, f"Could not find checkpointing statistics for checkpoint {checkpoint_id}.")


def checkpoint_subtasks(job: ArchivedExecutionGraph, checkpoint_id: int, vertex_id: str) -> Body:
    """Return the body of `/jobs/:jobid/checkpoints/details/:checkpointid/subtasks/:vertexid`.

    Raises:
        RestError: the job has no such vertex, or the checkpoint is not in the history (404).
    """
    stats = _stats(job, checkpoint_id)
    vertex = next((vertex for vertex in job.details.vertices if vertex.id == vertex_id), None)
    if vertex is None:
        raise RestError(404, f"There is no checkpoint statistics for task {vertex_id}.")
    written = _sizes(job, stats.checkpointed_sizes, vertex)
    held = _sizes(job, stats.state_sizes, vertex)
    nothing, duration = quantiles([0]), quantiles([stats.duration_ms])
    summary = {
        "checkpointed_size": quantiles(written),
        "state_size": quantiles(held),
        "end_to_end_duration": duration,
        "checkpoint_duration": {"sync": duration, "async": nothing},
        "alignment": dict.fromkeys(("buffered", "processed", "persisted", "duration"), nothing),
        "start_delay": nothing,
    }
    subtasks = [_subtask(stats, index, *sizes) for index, sizes in enumerate(zip(written, held, strict=True))]
    return _task(job, stats, vertex) | {"summary": summary, "subtasks": subtasks}


def _subtask(stats: CheckpointStats, index: int, written: int, held: int) -> Body:
    """Return the statistics of a subtask.

    All subtasks acknowledge at the same time: a checkpoint is taken after a batch, when no records are in flight.
    """
    return {
        "className": "completed",
        "index": index,
        "ack_timestamp": stats.trigger_timestamp_ms + stats.duration_ms,
        "end_to_end_duration": stats.duration_ms,
        "checkpointed_size": written,
        "state_size": held,
        "checkpoint": {"sync": stats.duration_ms, "async": 0},
        "alignment": dict.fromkeys(("buffered", "processed", "persisted", "duration"), 0),
        "start_delay": 0,
        "unaligned_checkpoint": False,
        "aborted": False,
        "status": "completed",
    }


def _sizes(job: ArchivedExecutionGraph, sizes: SizesOfSubtasks, vertex: JobVertexDetails) -> list[int]:
    """Return the bytes of each subtask of a vertex, over all its operators."""
    of_operators = [sizes.get(operator_id, {}) for operator_id in job.operators.get(vertex.id, ())]
    return [sum(one.get(subtask, 0) for one in of_operators) for subtask in range(vertex.parallelism)]


def _task(job: ArchivedExecutionGraph, stats: CheckpointStats, vertex: JobVertexDetails) -> Body:
    return {
        "id": stats.checkpoint_id,
        "status": "COMPLETED",
        "latest_ack_timestamp": stats.trigger_timestamp_ms + stats.duration_ms,
        "checkpointed_size": sum(_sizes(job, stats.checkpointed_sizes, vertex)),
        "state_size": sum(_sizes(job, stats.state_sizes, vertex)),
        "end_to_end_duration": stats.duration_ms,
        "alignment_buffered": 0,
        "processed_data": 0,
        "persisted_data": 0,
        "num_subtasks": vertex.parallelism,
        "num_acknowledged_subtasks": vertex.parallelism,
    }


def _figures(summary: CheckpointsSummary) -> Body:
    durations = [stats.duration_ms for stats in summary.history]
    return {
        "checkpointed_size": quantiles([stats.checkpointed_size for stats in summary.history]),
        "state_size": quantiles([stats.state_size for stats in summary.history]),
        "end_to_end_duration": quantiles(durations),
        "alignment_buffered": quantiles([0]),
        "processed_data": quantiles([0]),
        "persisted_data": quantiles([0]),
    }


def quantiles(values: list[int]) -> Body:
    """Return the figures of a statistic in Flink's form, all 0 without values."""
    ordered = sorted(values) or [0]
    figures: Body = {"min": ordered[0], "max": ordered[-1], "avg": sum(ordered) // len(ordered)}
    for name, share in (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)):
        figures[name] = float(ordered[min(len(ordered) - 1, int(share * len(ordered)))])
    return figures


def checkpoint_config(job: ArchivedExecutionGraph) -> Body:
    """Return the body of `/jobs/:jobid/checkpoints/config`."""
    options = job.configuration
    retention = options.get(f"{_PREFIX}externalized-checkpoint-retention", "NO_EXTERNALIZED_CHECKPOINTS")

    def millis(key: str, default: int) -> int:
        text = options.get(_PREFIX + key)
        return default if text is None else Duration.parse(text).to_millis()

    return {
        "mode": options.get(f"{_PREFIX}mode", "EXACTLY_ONCE").lower(),
        "interval": millis("interval", _NO_INTERVAL),
        "timeout": millis("timeout", 600_000),
        "min_pause": millis("min-pause", 0),
        "max_concurrent": int(options.get(f"{_PREFIX}max-concurrent-checkpoints", "1")),
        "externalization": {
            "enabled": retention != "NO_EXTERNALIZED_CHECKPOINTS",
            "delete_on_cancellation": retention != "RETAIN_ON_CANCELLATION",
        },
        "state_backend": {"rocksdb": "EmbeddedRocksDBStateBackend"}.get(
            STATE_BACKEND.of(options), "HashMapStateBackend"
        ),
        "checkpoint_storage": "FileSystemCheckpointStorage",
        "unaligned_checkpoints": False,
        "tolerable_failed_checkpoints": int(options.get(f"{_PREFIX}tolerable-failed-checkpoints", "0")),
        "aligned_checkpoint_timeout": 0,
        "checkpoints_after_tasks_finish": True,
        "state_changelog_enabled": False,
        "changelog_periodic_materialization_interval": 600_000,
        "changelog_storage": "memory",
    }
