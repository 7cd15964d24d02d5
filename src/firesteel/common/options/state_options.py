"""Options of state and its recovery."""

from __future__ import annotations

from firesteel.common.options.kinds import boolean, choice, memory, path
from firesteel.common.options.option import Option

RECOVERY_PATH = Option("execution.state-recovery.path", path, None, "Savepoint or checkpoint to start from (`run -s`)")
RECOVERY_IGNORE_UNCLAIMED = Option(
    "execution.state-recovery.ignore-unclaimed-state",
    boolean,
    "false",
    "Drop state that no operator of the program claims (`run -n`)",
)
RECOVERY_ALLOW_UNVERIFIED = Option(
    "execution.state-recovery.allow-unverified-state",
    boolean,
    "false",
    "Start from state that is not signed with the secret of this cluster "
    "([security](security.md#checkpoints-and-savepoints))",
)
RECOVERY_CLAIM_MODE = Option(
    "execution.state-recovery.claim-mode",
    choice("NO_CLAIM", "CLAIM", "LEGACY"),
    "NO_CLAIM",
    "`NO_CLAIM`: the restored files stay yours. `CLAIM`: the job deletes them when it no longer needs them",
)
RECOVERY_FROM_LOCAL = Option(
    "execution.state-recovery.from-local",
    boolean,
    "false",
    "Prefer the former slot of a restarted subtask; not used where tasks run on Spark",
)
_FLINK = "org.apache.flink"
_FACTORIES = {
    "filesystem": "hashmap",
    "jobmanager": "hashmap",
    f"{_FLINK}.runtime.state.hashmap.HashMapStateBackendFactory": "hashmap",
    f"{_FLINK}.runtime.state.filesystem.FsStateBackendFactory": "hashmap",
    f"{_FLINK}.runtime.state.memory.MemoryStateBackendFactory": "hashmap",
    f"{_FLINK}.state.rocksdb.EmbeddedRocksDBStateBackendFactory": "rocksdb",
    f"{_FLINK}.contrib.streaming.state.EmbeddedRocksDBStateBackendFactory": "rocksdb",
    f"{_FLINK}.contrib.streaming.state.RocksDBStateBackendFactory": "rocksdb",
}
"""Classes of Flink that the option may name, and the backends of Flink 1.x, with their successors."""

STATE_BACKEND = Option(
    "state.backend.type",
    choice("hashmap", "rocksdb", also=_FACTORIES),
    "hashmap",
    "`hashmap`: state in memory. `rocksdb`: state on local disk, in LMDB",
)
ROCKSDB_LOCAL_DIR = Option(
    "state.backend.rocksdb.localdir",
    path,
    None,
    "Directory of state on disk",
    shown="system default",
)
ROCKSDB_TIMERS = Option(
    "state.backend.rocksdb.timer-service.factory",
    choice("ROCKSDB", "HEAP"),
    "ROCKSDB",
    "`ROCKSDB`: timers of state on disk are on disk, too. `HEAP`: they are in memory, which is faster",
)
MANAGED_MEMORY = Option(
    "taskmanager.memory.managed.size",
    memory,
    None,
    "Memory for entries of state on disk in all slots of a TaskManager",
    shown="160 MB per slot",
)
ROCKSDB_MANAGED = Option(
    "state.backend.rocksdb.memory.managed",
    boolean,
    "true",
    "Whether `taskmanager.memory.managed.size` counts for state on disk",
)
ROCKSDB_FIXED_PER_SLOT = Option(
    "state.backend.rocksdb.memory.fixed-per-slot",
    memory,
    None,
    "Memory of a slot for entries of state on disk, in place of its part of `taskmanager.memory.managed.size`",
)
