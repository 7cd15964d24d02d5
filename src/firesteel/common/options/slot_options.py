"""Options of slots and of TaskManagers that offer them."""

from __future__ import annotations

from firesteel.common.options.kinds import boolean, duration, integer_from, memory, number, positive_duration
from firesteel.common.options.option import Option

TASK_SLOTS = Option(
    "taskmanager.numberOfTaskSlots",
    integer_from(0),
    "1",
    "Slots of a TaskExecutor, and of a worker that the ResourceManager requests. A session cluster on a local "
    "Spark defaults to the number of cores",
)
SLOT_REQUEST_TIMEOUT = Option(
    "slot.request.timeout",
    duration,
    "5 min",
    "Time that a slot request waits before the job fails",
)
SLOT_IDLE_TIMEOUT = Option("slot.idle.timeout", duration, "50 s", "Time that the JobMaster keeps an unused slot")
TASKMANAGER_SLOT_TIMEOUT = Option(
    "taskmanager.slot.timeout",
    positive_duration,
    "10 s",
    "Time that a TaskExecutor keeps an allocated slot that its job has not accepted",
)
EVENLY_SPREAD_OUT_SLOTS = Option(
    "cluster.evenly-spread-out-slots",
    boolean,
    "false",
    "Allocate slots on the least used TaskExecutor first",
)
MAX_SLOTS = Option(
    "slotmanager.number-of-slots.max",
    number,
    "inf",
    "Largest number of slots, pending ones included",
    shown="unlimited",
)
REDUNDANT_TASKMANAGERS = Option(
    "slotmanager.redundant-taskmanager-num",
    integer_from(0),
    "0",
    "Spare TaskManagers to keep while jobs run",
)
TASKMANAGER_TIMEOUT = Option(
    "resourcemanager.taskmanager-timeout",
    duration,
    "30 s",
    "Time after which an idle TaskManager is released",
)
TASKMANAGER_RELEASE_WAITS = Option(
    "resourcemanager.taskmanager-release.wait.result.consumed",
    boolean,
    "true",
    "Keep a TaskManager whose results are still to be read",
)
START_UP_TIME = Option(
    "resourcemanager.standalone.start-up-time",
    duration,
    None,
    "Time that a request which no slot can serve waits for one",
    shown="that of `slot.request.timeout`",
)
START_WORKER_MAX_FAILURE_RATE = Option(
    "resourcemanager.start-worker.max-failure-rate",
    number,
    "10",
    "Failed starts of workers per minute; above it requests are delayed",
)
START_WORKER_RETRY_INTERVAL = Option(
    "resourcemanager.start-worker.retry-interval",
    duration,
    "3 s",
    "Delay of such requests",
)
RESOURCEMANAGER_JOB_TIMEOUT = Option(
    "resourcemanager.job.timeout",
    duration,
    "5 min",
    "Time that a job may have no leader before its slots are released",
)
TASKMANAGER_PROCESS_MEMORY = Option(
    "taskmanager.memory.process.size",
    memory,
    None,
    "Memory of a TaskManager on Spark: a quarter for the JVM (at least 512 MB), the rest for Python",
)
JOBMANAGER_HEAP = Option(
    "jobmanager.memory.heap.size",
    memory,
    None,
    "Heap of the Spark driver (`spark.driver.memory`)",
    shown="Spark's",
)
SLOT_MEMORY = Option(
    "taskmanager.slot.memory-limit",
    memory,
    None,
    "Memory of a slot: of its process beyond what that has at its start, and of all its processes together; a job that "
    "takes more fails",
    shown="unlimited",
)
SLOT_PROCESSES = Option(
    "taskmanager.slot.processes-limit",
    integer_from(0),
    None,
    "Number of processes that user code of a slot may have running",
    shown="unlimited",
)
SLOT_DESCRIPTORS = Option(
    "taskmanager.slot.descriptors-limit",
    integer_from(1),
    None,
    "Number of files and sockets that user code of a slot may have open in a process",
    shown="that of the system",
)
