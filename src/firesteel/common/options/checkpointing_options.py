"""Options of checkpoints."""

from __future__ import annotations

from firesteel.common.options.kinds import choice, duration, integer_from, path
from firesteel.common.options.option import Option

CHECKPOINTING_INTERVAL = Option(
    "execution.checkpointing.interval",
    duration,
    "0 ms",
    "Time between checkpoints. Without it a STREAMING job writes one after each batch",
    shown="none",
)
CHECKPOINTING_DIR = Option(
    "execution.checkpointing.dir",
    path,
    None,
    "Directory of checkpoints; all hosts must reach it. On a session cluster below "
    "`high-availability.storageDir`, if that is set",
    shown="temporary",
)
CHECKPOINTING_SAVEPOINT_DIR = Option(
    "execution.checkpointing.savepoint-dir",
    path,
    None,
    "Directory of savepoints that name none",
)
CHECKPOINTING_NUM_RETAINED = Option(
    "execution.checkpointing.num-retained",
    integer_from(1),
    "1",
    "Number of complete checkpoints to keep",
)
CHECKPOINTING_RETENTION = Option(
    "execution.checkpointing.externalized-checkpoint-retention",
    choice("RETAIN_ON_CANCELLATION", "DELETE_ON_CANCELLATION", "NO_EXTERNALIZED_CHECKPOINTS"),
    "NO_EXTERNALIZED_CHECKPOINTS",
    "`RETAIN_ON_CANCELLATION`: keep the checkpoints of a cancelled or failed job. `DELETE_ON_CANCELLATION`: keep "
    "those of a failed job",
)
CHECKPOINTING_TIMEOUT = Option(
    "execution.checkpointing.timeout",
    duration,
    "10 min",
    "Time that storing the files of a checkpoint may take before it fails",
)
CHECKPOINTING_MAX_CONCURRENT = Option(
    "execution.checkpointing.max-concurrent-checkpoints",
    integer_from(1),
    "1",
    "Number of checkpoints whose files may be uploaded at the same time; a checkpoint that is due waits until "
    "fewer are. Savepoints and manual checkpoints are not limited. No effect with a local directory, where a "
    "checkpoint completes after its batch",
)
CHECKPOINTING_MIN_PAUSE = Option(
    "execution.checkpointing.min-pause",
    duration,
    "0 ms",
    "Least time between the end of a checkpoint and the start of the next one",
)
CHECKPOINTING_TOLERABLE_FAILURES = Option(
    "execution.checkpointing.tolerable-failed-checkpoints",
    integer_from(0),
    "0",
    "Number of consecutive failed checkpoints before the job fails",
)
