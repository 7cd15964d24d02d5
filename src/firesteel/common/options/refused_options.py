"""Flink's options that are refused: they ask for other results, guarantees or protection than firesteel gives.

A value that asks for what happens anyway is accepted. Keys that Flink has deprecated follow the current ones.
"""

from __future__ import annotations

from firesteel.common.options.file_options import S3_PREFIXES
from firesteel.common.options.option_rule import OptionRule

__all__ = ["REFUSED"]

_OFF, _ON = ("false",), ("true",)


def _with_prefixes(names: str) -> str:
    return " ".join(prefix + name for prefix in S3_PREFIXES for name in names.split())


_RESULTS = (
    OptionRule(
        "files of earlier runs are neither overwritten nor put into directories of their own",
        "fs.overwrite-files fs.output.always-create-directory",
        _OFF,
    ),
    OptionRule("checkpoints are in a directory per job", "execution.checkpointing.create-subdir", _ON),
    OptionRule(
        "checkpoints are files in `execution.checkpointing.dir`; other storages are Java classes",
        "execution.checkpointing.storage",
        ("filesystem", "jobmanager"),
    ),
    OptionRule("sources do not wait for the first checkpoint", "pipeline.sources.pause-until-first-checkpoint", _OFF),
    OptionRule(
        "a source is aligned by its splits, which may not run ahead",
        "pipeline.watermark-alignment.allow-unaligned-source-splits",
        _OFF,
    ),
    OptionRule("set the parallelism in the program", "pipeline.jobvertex-parallelism-overrides"),
    OptionRule("use `add_python_file` or `python.archives`", "pipeline.cached-files"),
    OptionRule("use `python.files`", "python.pythonpath user.artifacts.artifact-list"),
    OptionRule("programs set their own options", "execution.program-config.*", _ON),
    OptionRule("a job outlives its client", "execution.shutdown-on-attached-exit", _OFF),
    OptionRule("state of running jobs is read by REST and by the connector `state`", "queryable-state.enable", _OFF),
    OptionRule("a failed cleanup is retried after a growing delay", "cleanup-strategy.type", ("exponential-delay",)),
    OptionRule("a failed cleanup is retried after a growing delay", "cleanup-strategy.fixed-delay.*"),
    OptionRule(
        "only `slotmanager.number-of-slots.max` limits what the cluster requests", "slotmanager.max-total-resource.*"
    ),
    OptionRule("the autoscaler has no calendar", "job.autoscaler.excluded.periods", ("",)),
    OptionRule(
        "`job.autoscaler.vertex.max-parallelism` and `slotmanager.number-of-slots.max` limit what a job gets",
        "job.autoscaler.quota.memory job.autoscaler.quota.cpu",
    ),
    OptionRule("slots are processes whose memory is not tuned", "job.autoscaler.memory.tuning.enabled", _OFF),
    OptionRule(
        "more slots are expected to be faster in proportion", "job.autoscaler.observed-scalability.enabled", _OFF
    ),
    OptionRule("give it per account: `fs.azure.account.key.<account>.<host>`", "fs.azure.account.key"),
)

_SQL_RESULTS = (
    OptionRule("CAST follows the SQL standard only", "table.exec.legacy-cast-behaviour", ("disabled",)),
    OptionRule("nested fields are not checked", "table.exec.sink.nested-constraint-enforcer", ("ignore",)),
    OptionRule("sinks are given rows without it", "table.exec.sink.rowtime-inserter", ("enabled",)),
    OptionRule(
        "the planner decides whether a sink needs it",
        "table.exec.sink.keyed-shuffle",
        ("auto",),
    ),
    OptionRule("write LIMIT into the query", "table.exec.sort.default-limit", ("-1",)),
    OptionRule(
        "a window emits one result, when the watermark passes its end",
        "table.exec.emit.early-fire.enabled table.exec.emit.late-fire.enabled",
        _OFF,
    ),
    OptionRule(
        "a window emits one result, when the watermark passes its end",
        "table.exec.emit.early-fire.delay table.exec.emit.late-fire.delay",
    ),
    OptionRule(
        "rows behind the watermark are dropped; let the watermark wait for them",
        "table.exec.emit.allow-lateness",
        ("0", "0 ms", "0ms", "0 s", "-1"),
    ),
    OptionRule("a stream is sorted by its time", "table.exec.non-temporal-sort.enabled", _OFF),
    OptionRule(
        "rows without a match leave with the watermark",
        "table.exec.interval-join.min-cleanup-interval",
        ("0", "0 ms", "0ms", "0 s"),
    ),
    OptionRule("all changes are emitted", "table.exec.deduplicate.mini-batch.compact-changes-enabled", _OFF),
    OptionRule("a first row is an INSERT", "table.exec.deduplicate.insert-update-after-sensitive-enabled", _ON),
    OptionRule(
        "updates that depend on chance are not detected",
        "table.optimizer.non-deterministic-update.strategy",
        ("ignore",),
    ),
    OptionRule("hints of queries count", "table.optimizer.ignore-query-hints", _OFF),
    OptionRule("hints of tables count", "table.dynamic-table-options.enabled", _ON),
    OptionRule("`SELECT *` selects all columns", "table.column-expansion-strategy"),
    OptionRule("a table that a failed statement has created stays", "table.rtas-ctas.atomicity-enabled", _OFF),
    OptionRule(
        "a compiled plan names the tables and functions of catalogs",
        "table.plan.compile.catalog-objects table.plan.restore.catalog-objects",
        ("identifier",),
    ),
    OptionRule("operators of SQL get ids by the position in the plan", "table.exec.uid.generation", ("plan_only",)),
    OptionRule("operators of SQL get ids by the position in the plan", "table.exec.uid.format"),
    OptionRule("name the catalog in `EnvironmentSettings`", "table.builtin-catalog-name", ("default_catalog",)),
    OptionRule("a nested row is NULL where it was declared so", "table.legacy-nested-row-nullability", _OFF),
    OptionRule("catalogs are kept for a session", "table.catalog-store.kind", ("generic_in_memory",)),
    OptionRule("there are no secrets of a catalog", "table.secret-store.kind", ("generic_in_memory",)),
    OptionRule("name the database in `EnvironmentSettings`", "table.builtin-database-name", ("default_database",)),
)

_SECURITY = (
    OptionRule("only Flink's Java has it", "security.context.factory.classes security.module.factory.classes"),
    OptionRule("clients of ZooKeeper do not log in by SASL", "zookeeper.sasl.disable", _ON),
    OptionRule(
        "clients of ZooKeeper do not log in by SASL",
        "zookeeper.sasl.login-context-name zookeeper.sasl.service-name",
        ("client", "zookeeper"),
    ),
    OptionRule("Spark obtains tokens itself", "security.delegation.tokens.enabled", _ON),
    OptionRule("Spark decides when tokens are renewed", "security.delegation.tokens.*"),
    OptionRule("give programs their own JAAS file", "security.kerberos.login.contexts"),
    OptionRule("set KRB5_CONFIG in the environment", "security.kerberos.krb5-conf.path"),
    OptionRule("Spark uses the ticket cache if there is no keytab", "security.kerberos.login.use-ticket-cache", _ON),
    OptionRule("Spark decides when it logs in again", "security.kerberos.relogin.period"),
    OptionRule(
        "put only that certificate into the truststore",
        "security.ssl.internal.cert.fingerprint security.ssl.rest.cert.fingerprint",
    ),
    OptionRule(
        "stores are PEM files, where only the key has a password (`key-password`)",
        "security.ssl.keystore-password security.ssl.truststore-password security.ssl.internal.keystore-password "
        "security.ssl.internal.truststore-password security.ssl.rest.keystore-password "
        "security.ssl.rest.truststore-password",
    ),
    OptionRule(
        "stores are PEM files; convert them by keytool and openssl",
        "security.ssl.internal.keystore-type security.ssl.internal.truststore-type security.ssl.rest.keystore-type "
        "security.ssl.rest.truststore-type",
        ("pem",),
    ),
    OptionRule("TLS is Python's", "security.ssl.provider"),
    OptionRule(
        "TLS is Python's, which has no such limit",
        "security.ssl.internal.session-cache-size security.ssl.internal.session-timeout "
        "security.ssl.internal.handshake-timeout security.ssl.internal.close-notify-flush-timeout",
        ("-1",),
    ),
    OptionRule(
        "`security.ssl.internal.enabled` encrypts all of RPC, files and records",
        "blob.service.ssl.enabled taskmanager.data.ssl.enabled pekko.ssl.enabled",
        _ON,
    ),
    OptionRule("the history server has no TLS: put a proxy before it", "historyserver.web.ssl.enabled", _OFF),
)

_DEPLOYMENT = (
    OptionRule("put it into the pod template", "kubernetes.secrets kubernetes.env.secretKeyRef"),
    OptionRule("Spark distributes the keytab", "yarn.security.kerberos.ship-local-keytab", _ON),
    OptionRule("Spark distributes the keytab", "yarn.security.kerberos.localized-keytab-path"),
    OptionRule(
        "let the bucket encrypt what is written",
        _with_prefixes(
            "sse.enabled sse.type sse.kms-key-id encryption.algorithm encryption.key server-side-encryption-algorithm "
            "server-side-encryption.key cse.enabled"
        ),
    ),
    OptionRule("set AWS_ROLE_ARN, or a profile of `~/.aws`", _with_prefixes("assumed.role.* assume-role.* iam-role")),
)

_ADDRESSES = (
    OptionRule("the server listens on `rest.bind-address`", "web.address"),
    OptionRule("the JobManager listens on `jobmanager.rpc.port`", "jobmanager.rpc.bind-port"),
    OptionRule("a TaskExecutor listens on `taskmanager.rpc.port`", "taskmanager.rpc.bind-port"),
    OptionRule("the REST API has no prefix", "rest.path rest.url-prefix", ("", "/")),
)

REFUSED = _RESULTS + _SQL_RESULTS + _SECURITY + _DEPLOYMENT + _ADDRESSES
