"""Flink's options without a counterpart: they tune parts of Flink that Spark or Python does differently.

They change neither results nor guarantees nor protection, so that the `config.yaml` of a Flink cluster is accepted. A
job that is submitted with some of them names them once.
"""

from __future__ import annotations

from firesteel.common.options.option_rule import OptionRule

__all__ = ["WITHOUT_COUNTERPART"]

_CHECKPOINTS = (
    OptionRule(
        "a checkpoint is taken between micro-batches, when no records are in flight",
        "execution.checkpointing.aligned-checkpoint-timeout execution.checkpointing.unaligned.* "
        "execution.checkpointing.during-recovery.enabled execution.state-recovery.without-channel-state.checkpoint-id",
    ),
    OptionRule(
        "checkpoints are exactly-once, which satisfies weaker guarantees",
        "execution.checkpointing.mode execution.state-recovery.approximate-local-recovery",
    ),
    OptionRule("checkpoints go on after tasks end", "execution.checkpointing.checkpoints-after-tasks-finish"),
    OptionRule("`execution.checkpointing.interval` counts always", "execution.checkpointing.interval-during-backlog"),
    OptionRule(
        "the files of checkpoints have formats of their own, written in increments",
        "execution.checkpointing.file-merging.* execution.checkpointing.incremental "
        "execution.checkpointing.snapshot-compression execution.checkpointing.data-inline-threshold "
        "execution.checkpointing.write-buffer-size execution.checkpointing.cleaner.parallel-mode",
    ),
    OptionRule("versions of state are below `io.tmp.dirs`", "execution.checkpointing.local-backup.*"),
    OptionRule("there is no changelog of state", "state.changelog.*"),
)

_STATE = (
    OptionRule("state on disk is in LMDB", "state.backend.rocksdb.* state.backend.forst.*"),
    OptionRule("accesses to state are not measured", "state.latency-track.* state.size-track.*"),
    OptionRule(
        "access to state is synchronous, and inputs of keyed operators are sorted in BATCH mode",
        "execution.async-state.* execution.batch-state-backend.enabled execution.sorted-inputs.enabled "
        "execution.sort-partition.memory execution.sort-keyed-partition.memory",
    ),
    OptionRule("state of running jobs is read by REST and by the connector `state`", "queryable-state.*"),
)

_MEMORY_AND_NETWORK = (
    OptionRule(
        "memory is that of Python and Spark: `taskmanager.memory.process.size`, `jobmanager.memory.heap.size`",
        "taskmanager.memory.* jobmanager.memory.* taskmanager.cpu.cores taskmanager.debug.memory.* "
        "taskmanager.jvm-exit-on-oom",
    ),
    OptionRule(
        "records are sent in Arrow buffers over pipes and sockets",
        "taskmanager.network.* taskmanager.data.* taskmanager.collect-sink.port shuffle-service-factory.class "
        "jobmanager.partition.*",
    ),
    OptionRule("there is no BLOB server", "blob.*"),
    OptionRule("RPC has no actors", "pekko.* heartbeat.rpc-failure-threshold"),
)

_JAVA = (
    OptionRule(
        "nothing is loaded from Java",
        "classloader.* pipeline.jars pipeline.classpaths pipeline.closure-cleaner-level pipeline.force-avro "
        "pipeline.force-kryo pipeline.force-kryo-avro pipeline.generic-types pipeline.serialization-config "
        "execution.job-listeners execution.job-status-changed-listeners jobmanager.failure-enrichers jmx.server.port "
        "table.catalog-modification.listeners plugin.classloader.*",
    ),
    OptionRule(
        "Flink's scripts read it; set the variables of the environment",
        "env.java.* env.hadoop.conf.dir env.hbase.conf.dir env.yarn.conf.dir env.log.dir env.pid.dir "
        "env.ssh.opts env.stdout-err.redirect-to-file",
    ),
    OptionRule(
        "tasks run in Python processes",
        "python.client.executable python.execution-mode python.fn-execution.bundle.time "
        "python.fn-execution.memory.managed python.internal.* python.job-options python.logging.* "
        "python.loopback-server.address python.map-state.* python.metric.enabled python.profile.enabled "
        "python.state.cache-size python.systemenv.enabled cluster.intercept-user-system-exit "
        "taskmanager.system-out.*",
    ),
    OptionRule(
        "memory of BATCH operators is `execution.sorted-inputs.memory`",
        "taskmanager.runtime.* table.exec.spill-compression.* table.exec.sort.async-merge-enabled "
        "table.exec.resource.external-buffer-memory table.exec.resource.hash-agg.memory "
        "table.exec.resource.hash-join.memory table.exec.resource.sort.memory "
        "table.exec.sort.max-num-file-handles",
    ),
)

_CLUSTER = (
    OptionRule(
        "a cluster in the own process has the TaskExecutors that its slots need", "minicluster.number-of-taskmanagers"
    ),
    OptionRule("files of processes are below `io.tmp.dirs`", "process.*"),
    OptionRule(
        "clusters take no artifacts",
        "user.artifacts.base-dir user.artifacts.http-headers user.artifacts.raw-http-enabled",
    ),
    OptionRule(
        "applications are jobs",
        "application-result-store.* cluster.id execution.shutdown-on-application-finish "
        "execution.submit-failed-job-on-application-error "
        "execution.terminate-application-on-any-job-terminated-exceptionally jobmanager.job",
    ),
    OptionRule(
        "the JobManager has its own timeouts and threads",
        "client.* cluster.io-pool.size cluster.processes.halt-on-fatal-error cluster.services.shutdown-timeout "
        "cluster.thread-dump.stacktrace-max-depth cluster.uncaught-exception-handling jobmanager.future-pool.size "
        "jobmanager.io-pool.size jobmanager.resource-id jobmanager.retrieve-taskmanager-hostname "
        "jobmanager.execution.attempts-history-size resourcemanager.rpc.port",
    ),
    OptionRule(
        "a change of the parallelism takes its own checkpoint, and slots are not chosen by TaskManager",
        "jobmanager.adaptive-scheduler.rescale-trigger.* jobmanager.adaptive-scheduler.prefer-minimal-taskmanagers "
        "jobmanager.adaptive-scheduler.min-parallelism-increase jobmanager.adaptive-scheduler.scaling-interval.max",
    ),
    OptionRule(
        "a BATCH job takes its parallelism from the slots, runs an attempt at a time and starts anew",
        "execution.batch.* slow-task-detector.* job-event.store.*",
    ),
    OptionRule(
        "workers are Spark's executors",
        "resourcemanager.previous-worker.recovery.timeout resourcemanager.taskmanager-registration.timeout "
        "slot.request.max-interval slotmanager.declare-needed-resource.delay slotmanager.min-total-resource.* "
        "slotmanager.number-of-slots.min slotmanager.requirement-check.delay",
    ),
    OptionRule(
        "slots have no heap of Java's, and the autoscaler runs beside the jobs",
        "job.autoscaler.memory.* job.autoscaler.flink.rest-client.timeout",
    ),
    OptionRule(
        "they belong to `job.autoscaler.observed-scalability.enabled`, which is refused",
        "job.autoscaler.observed-scalability.*",
    ),
    OptionRule("set `cluster.evenly-spread-out-slots`", "taskmanager.load-balance.mode"),
    OptionRule(
        "user code is interrupted once, at the cancellation",
        "task.cancellation.interval task.cancellation.timers.timeout",
    ),
    OptionRule(
        "leaders have nodes and files of their own layout",
        "high-availability.jobmanager.port high-availability.kubernetes.* high-availability.zookeeper.path.* "
        "high-availability.zookeeper.client.ensemble-tracker high-availability.zookeeper.client.max-close-wait "
        "high-availability.zookeeper.client.max-retry-wait "
        "high-availability.zookeeper.client.simulated-session-expiration-percent job-result-store.storage-path",
    ),
    OptionRule("`pyarrow`, `fsspec` and Spark access files", "fs.* s3.* s3a.* presto.* gs.* flink.hadoop.*"),
    OptionRule(
        "Spark starts workers: use its `spark.kubernetes.*` and `spark.yarn.*`, or a pod template",
        "kubernetes.* yarn.* flink.yarn.* external-resource.* containerized.*",
    ),
)

_SERVERS = (
    OptionRule(
        "the REST API has its own limits",
        "rest.async.store-duration rest.await-leader-timeout rest.cache.* rest.client.max-content-length "
        "rest.connection-timeout rest.idleness-timeout rest.profiling.* "
        "rest.server.numThreads rest.server.thread-priority",
    ),
    OptionRule(
        "the dashboard has its own limits",
        "web.checkpoints.history web.log.path "
        "web.refresh-interval web.rescale.enable web.timeout web.tmpdir web.upload.dir",
    ),
    OptionRule(
        "the history server reads archives when they are asked for",
        "historyserver.archive.clean-expired-applications historyserver.archive.clean-expired-jobs "
        "historyserver.log.* historyserver.web.refresh-interval historyserver.web.tmpdir",
    ),
    OptionRule(
        "`historyserver.archive.retained-jobs` limits the archives",
        "historyserver.archive.retained-applications historyserver.archive.retained-ttl",
    ),
    OptionRule("metrics are read from the REST API and `/metrics`", "metrics.*"),
    OptionRule("a checkpoint has one span", "traces.checkpoint.span-detail-level"),
    OptionRule(
        "the gateway keeps no plans and no idle threads", "sql-gateway.session.plan-cache.* sql-gateway.worker.*"
    ),
    OptionRule("the program sets what its operators keep", "pipeline.cep.*"),
    OptionRule(
        "sources read as much ahead as a micro-batch", "pipeline.watermark-alignment.buffer-size source.reader.*"
    ),
    OptionRule("files are divided into splits by their sizes", "compiler.delimited-informat.*"),
    OptionRule("tables have options of these names, jobs have none", "sink.*"),
)

_PLANNER = (
    OptionRule(
        "the planner and the kernels are firesteel's",
        "table.exec.async-lookup.* table.exec.async-ml-predict.* "
        "table.exec.async-state.enabled table.exec.async-table.* table.exec.async-vector-search.* "
        "table.exec.delta-join.* table.exec.disabled-operators "
        "table.exec.local-hash-agg.* table.exec.operator-fusion-codegen.enabled table.exec.range-sort.enabled "
        "table.exec.rank.topn-cache-size "
        "table.exec.sink.upsert-materialize-strategy.* "
        "table.exec.unbounded-over.version table.exec.window-agg.buffer-size-limit table.generated-code.* "
        "table.optimizer.* table.resources.download-dir",
    ),
    OptionRule("statements about materialized tables are refused", "materialized-table.*"),
    OptionRule("the shell has `table.display.max-column-width` only", "sql-client.display.* sql-client.verbose"),
)

WITHOUT_COUNTERPART = _CHECKPOINTS + _STATE + _MEMORY_AND_NETWORK + _JAVA + _CLUSTER + _SERVERS + _PLANNER
