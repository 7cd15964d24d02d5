"""Options without an effect that setters of PyFlink's API store and getters return.

`option_classes` says why each has none, or which of their values are refused.
"""

from __future__ import annotations

from firesteel.common.options.kinds import boolean, choice, duration, integer_from, memory, string, strings
from firesteel.common.options.option import Option

CHECKPOINTING_MODE = Option(
    "execution.checkpointing.mode", choice("EXACTLY_ONCE", "AT_LEAST_ONCE"), "EXACTLY_ONCE", "Always exactly once"
)
CHECKPOINTING_STORAGE = Option("execution.checkpointing.storage", string, None, "Always the checkpoint directory")
CHECKPOINTING_INCREMENTAL = Option("execution.checkpointing.incremental", boolean, "false", "Decided per file")
CHECKPOINTING_INLINE_THRESHOLD = Option(
    "execution.checkpointing.data-inline-threshold", memory, "20 kb", "State is always in files"
)
CHECKPOINTING_WRITE_BUFFER = Option(
    "execution.checkpointing.write-buffer-size", integer_from(0), "4096", "Buffers are Python's"
)
CHECKPOINTING_COMPRESSION = Option(
    "execution.checkpointing.snapshot-compression", boolean, "false", "Decided by the format of the files"
)
UNALIGNED_ENABLED = Option(
    "execution.checkpointing.unaligned.enabled", boolean, "false", "No records are in flight at a checkpoint"
)
UNALIGNED_FORCED = Option(
    "execution.checkpointing.unaligned.forced", boolean, "false", "No records are in flight at a checkpoint"
)
ALIGNED_TIMEOUT = Option(
    "execution.checkpointing.aligned-checkpoint-timeout", duration, "0 ms", "No records are in flight at a checkpoint"
)
STATE_CHANGELOG = Option("state.changelog.enabled", boolean, None, "There is no changelog of state", shown="false")
ROCKSDB_TRANSFER_THREADS = Option(
    "state.backend.rocksdb.checkpoint.transfer.thread.num", integer_from(1), "4", "The store is not RocksDB"
)
ROCKSDB_PREDEFINED = Option("state.backend.rocksdb.predefined-options", string, "DEFAULT", "The store is not RocksDB")
LATENCY_INTERVAL = Option("metrics.latency.interval", duration, "0 ms", "Sources emit no latency markers")
TASK_CANCELLATION_INTERVAL = Option("task.cancellation.interval", duration, "30 s", "A task is interrupted once")
CLOSURE_CLEANER = Option(
    "pipeline.closure-cleaner-level", choice("NONE", "TOP_LEVEL", "RECURSIVE"), "RECURSIVE", "Concerns Java"
)
FORCE_AVRO = Option("pipeline.force-avro", boolean, "false", "Concerns Java")
GENERIC_TYPES = Option("pipeline.generic-types", boolean, "true", "Concerns Java")
PIPELINE_JARS = Option("pipeline.jars", strings, None, "Nothing is loaded from jars")
PIPELINE_CLASSPATHS = Option("pipeline.classpaths", strings, None, "Nothing is loaded from jars")
TABLE_CODE_LENGTH = Option("table.generated-code.max-length", integer_from(1), "4000", "No code is generated")
