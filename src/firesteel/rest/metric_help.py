"""What each metric of firesteel means: the help of its Prometheus metric.

A metric that is missing here has no help and fails a test; those of user functions have a common one.
"""

from __future__ import annotations

__all__ = ["HELP", "OF_FUNCTIONS"]

OF_FUNCTIONS = "a metric that a user function has registered"

_PROCESS = {
    "Status.JVM.CPU.Time": "processor time of the process itself, in nanoseconds",
    "Status.JVM.Threads.Count": "threads of the process itself",
    "Status.JVM.Memory.Heap.Used": "resident memory of the process and its descendants, in bytes",
    "Status.JVM.Memory.Heap.Committed": "resident memory of the process and its descendants, in bytes",
    "Status.JVM.Memory.Heap.Max": "memory of the machine, in bytes",
}
_CLUSTER = {
    "numRegisteredTaskManagers": "registered TaskManagers",
    "taskSlotsTotal": "slots of all TaskManagers",
    "taskSlotsAvailable": "slots that no job has",
    "numRunningJobs": "jobs that have not ended",
    "lastHeartbeatAge": "time since the last heartbeat of a TaskManager, in milliseconds",
}
_JOB = {
    "initializingTime": "time in status INITIALIZING, in milliseconds; 0 in another status",
    "createdTime": "time in status CREATED, in milliseconds; 0 in another status",
    "runningTime": "time in status RUNNING, in milliseconds; 0 in another status",
    "failingTime": "time in status FAILING, in milliseconds; 0 in another status",
    "restartingTime": "time in status RESTARTING, in milliseconds; 0 in another status",
    "cancellingTime": "time in status CANCELLING, in milliseconds; 0 in another status",
    "numRestarts": "restarts so far",
    "numRescales": "changes of the parallelism so far",
    "uptime": "time since the job runs, in milliseconds",
    "downtime": "time in the present status FAILING or RESTARTING, in milliseconds",
    "totalNumberOfCheckpoints": "checkpoints that were begun",
    "numberOfCompletedCheckpoints": "completed checkpoints",
    "numberOfFailedCheckpoints": "failed checkpoints",
    "numberOfInProgressCheckpoints": "checkpoints whose files are being stored",
    "lastCheckpointRestoreTimestamp": "when state was restored, in milliseconds since 1970; -1 if never",
    "lastCheckpointSize": "bytes written for the newest checkpoint",
    "lastCheckpointFullSize": "bytes of all state in the newest checkpoint",
    "lastCheckpointDuration": "duration of the newest checkpoint, in milliseconds",
    "lastCompletedCheckpointId": "number of the newest checkpoint",
    "numBatches": "batches that were processed",
    "accumulateBatchPlanTimeMs": "total time in which batches were planned, in milliseconds",
    "accumulateBatchReadTimeMs": "total time in which batches waited for the slowest source, in milliseconds",
    "accumulateBatchOperatorsTimeMs": "total time in which batches waited for the slowest operators, in milliseconds",
    "accumulateBatchStateTimeMs": "total time in which batches waited for state to be written, in milliseconds",
    "accumulateBatchExchangeTimeMs": "total time of batches for exchanges and Spark's tasks, in milliseconds",
    "accumulateBatchCommitTimeMs": "total time in which batches were committed, in milliseconds",
    "lastCheckpointCompletedTimestamp": "when the newest checkpoint was complete, in milliseconds since 1970",
}
_TASK = {
    "numRecordsIn": "records read since the attempt started",
    "numRecordsOut": "records emitted since the attempt started",
    "numRecordsInPerSecond": "records read per second, on average over the last minute",
    "numRecordsOutPerSecond": "records emitted per second, on average over the last minute",
    "numBytesIn": "bytes of the buffers read from other slots",
    "numBytesOut": "bytes of the buffers sent to other slots",
    "numBytesInLocal": "bytes of the buffers read from slots on the same host",
    "numBytesInRemote": "bytes of the buffers read from slots on other hosts",
    "numBytesInPerSecond": "bytes read per second, on average over the last minute",
    "numBytesOutPerSecond": "bytes sent per second, on average over the last minute",
    "busyTimeMsPerSecond": "time in which operators process batches, in milliseconds per second",
    "idleTimeMsPerSecond": "time in which operators process nothing, in milliseconds per second",
    "backPressuredTimeMsPerSecond": "time in which a batch waits for slower subtasks, in milliseconds per second",
    "accumulateBusyTimeMs": "total time in which operators have processed batches, in milliseconds",
    "accumulateReadTimeMs": "total time in which a source itself has read, in milliseconds",
    "accumulateIdleTimeMs": "total time in which operators have processed nothing, in milliseconds",
    "accumulateBackPressuredTimeMs": "total time in which batches have waited for slower subtasks, in milliseconds",
    "currentInputWatermark": "watermark of the input, in milliseconds since 1970",
    "currentOutputWatermark": "watermark of the output, in milliseconds since 1970",
    "numLateRecordsDropped": "records that an operator has dropped as late",
    "leftNumLateRecordsDropped": "records of its left input that a window join has dropped as late",
    "rightNumLateRecordsDropped": "records of its right input that a window join has dropped as late",
}
_SOURCE = {
    "pendingRecords": "records that the source has not read, as far as known after its last batch",
    "pendingBytes": "bytes that the source has not read, as far as known after its last batch",
    "totalRecordsRead": "records that all subtasks of the source have read, also before a restart",
    "totalBytesRead": "bytes that all subtasks of the source have read, also before a restart",
    "shareRead": "share of its input that a bounded source has read, from 0 to 1",
    "sourceIdleTime": "time since the source has read anything, in milliseconds",
    "watermarkLag": "time by which the watermark of the source lies behind the clock, in milliseconds",
    "currentFetchEventTimeLag": "time from the timestamp of the last fetched record to its fetch, in milliseconds",
    "currentEmitEventTimeLag": "time from the event time of the last emitted record to its emission, in milliseconds",
}
HELP: dict[str, str] = _PROCESS | _CLUSTER | _JOB | _TASK | _SOURCE
