"""Options of the execution of jobs."""

from __future__ import annotations

from firesteel.common.options.kinds import boolean, choice, duration, memory, path
from firesteel.common.options.option import Option

RUNTIME_MODE = Option(
    "execution.runtime-mode",
    choice("STREAMING", "BATCH", "AUTOMATIC"),
    "STREAMING",
    "`STREAMING`, `BATCH`, or `AUTOMATIC`: BATCH if all sources are bounded",
)
BATCH_SHUFFLE_MODE = Option(
    "execution.batch-shuffle-mode",
    choice(
        "ALL_EXCHANGES_BLOCKING",
        "ALL_EXCHANGES_PIPELINED",
        "ALL_EXCHANGES_HYBRID_FULL",
        "ALL_EXCHANGES_HYBRID_SELECTIVE",
    ),
    "ALL_EXCHANGES_BLOCKING",
    "Kind of exchanges between the vertices of a BATCH job",
)
SORTED_INPUTS_MEMORY = Option(
    "execution.sorted-inputs.memory",
    memory,
    "128 mb",
    "Memory for the input of a keyed operator, a join, GROUP BY, OVER or ORDER BY in BATCH mode; what is larger is "
    "spilled to disk",
)
BUFFER_TIMEOUT_ENABLED = Option(
    "execution.buffer-timeout.enabled",
    boolean,
    "true",
    "Recorded in the graphs, as in Flink; with `false` no batch starts sooner than by the interval",
)
BUFFER_TIMEOUT_INTERVAL = Option(
    "execution.buffer-timeout.interval",
    duration,
    "100 ms",
    "Least time between the starts of two batches; `0 ms` gives the least latency. If it is not set, batches that take "
    "little time begin earlier, but take at most a third of the time",
)
ATTACHED = Option("execution.attached", boolean, "true", "Wait for the end of the job")
EXECUTION_TARGET = Option(
    "execution.target",
    choice("local", "application", "remote"),
    "local",
    "`local`, `application` or `remote`: where the job runs",
)
TASK_CANCELLATION_TIMEOUT = Option(
    "task.cancellation.timeout",
    duration,
    "180 s",
    "Time that user code may take to end after a cancellation; `0` waits without limit",
)
TMP_DIRS = Option(
    "io.tmp.dirs",
    path,
    None,
    "Directories, separated by commas or colons; all temporary files are in the first one, which is made if it is"
    " missing: spilled data, local versions of state, Spark's files",
    shown="system default",
)
