"""Options of SQL."""

from __future__ import annotations

from firesteel.common.options.kinds import boolean, choice, duration, integer_from, string
from firesteel.common.options.option import Option

TABLE_LOCAL_TIME_ZONE = Option(
    "table.local-time-zone", string, "default", "Time zone of the session; `default` is that of the client"
)
TABLE_STATE_TTL = Option(
    "table.exec.state.ttl",
    duration,
    "0 ms",
    "How long state of a query lives that is not written again; `0 ms` keeps it for ever",
)
TABLE_DML_SYNC = Option("table.dml-sync", boolean, "false", "An INSERT waits for the end of its job")
SQL_CLIENT_RESULT_MODE = Option(
    "sql-client.execution.result-mode",
    choice("tableau", "changelog", "table"),
    "tableau",
    "`tableau`: `firesteel sql` prints results; `table` or `changelog`: at its prompt a full screen shows them live",
)
SQL_CLIENT_MAX_ROWS = Option(
    "sql-client.execution.max-table-result.rows",
    integer_from(1),
    "1000000",
    "How many rows the result mode `table` keeps; beyond them the first ones are dropped",
)
TABLE_NOT_NULL_ENFORCER = Option(
    "table.exec.sink.not-null-enforcer",
    choice("ERROR", "DROP"),
    "ERROR",
    "`ERROR` or `DROP`: what happens to a row with NULL in a NOT NULL column of a sink",
)
TABLE_TYPE_LENGTH_ENFORCER = Option(
    "table.exec.sink.type-length-enforcer",
    choice("IGNORE", "TRIM_PAD", "ERROR"),
    "IGNORE",
    "`IGNORE`, `TRIM_PAD` or `ERROR`: what happens to a text or bytes that do not have the length of their column in a "
    "sink",
)
TABLE_CDC_DUPLICATES = Option(
    "table.exec.source.cdc-events-duplicate",
    boolean,
    "false",
    "Changes of a source may come again after a failure: they are compared with the last row of their primary key",
)
TABLE_SHORT_NAMES = Option(
    "table.exec.simplify-operator-name-enabled",
    boolean,
    "true",
    "Operators of queries are named by kind and number, such as `Calc[3]`; `false` names them by their descriptions",
)
TABLE_UPSERT_MATERIALIZE = Option(
    "table.exec.sink.upsert-materialize",
    choice("AUTO", "FORCE", "NONE"),
    "AUTO",
    "Keep the rows of each primary key of a sink in state, so that the last one that is not retracted is shown: `AUTO` "
    "if several rows of the query may have one key",
)
TABLE_REQUIRE_ON_CONFLICT = Option(
    "table.exec.sink.require-on-conflict",
    boolean,
    "false",
    "An INSERT of a query whose upsert key is not the primary key of the sink must say ON CONFLICT DO DEDUPLICATE, as "
    "by default in Flink 2.3 alone; `false` implies it, as in other releases",
)
TABLE_SQL_DIALECT = Option("table.sql-dialect", choice("default"), "default", "Flink's dialect is the only one")
TABLE_MINI_BATCH_ENABLED = Option(
    "table.exec.mini-batch.enabled", boolean, "false", "Aggregate the rows of a batch before state is accessed"
)
TABLE_MINI_BATCH_LATENCY = Option(
    "table.exec.mini-batch.allow-latency",
    duration,
    "0 ms",
    "Must be positive with mini-batches; rows wait for the end of their column batch at most",
)
TABLE_MINI_BATCH_SIZE = Option("table.exec.mini-batch.size", integer_from(-1), "-1", "Most rows of a mini-batch")
TABLE_DEFAULT_PARALLELISM = Option(
    "table.exec.resource.default-parallelism",
    integer_from(-1),
    "-1",
    "Parallelism of the environment of tables, from the first query on; not above 0 that of the environment",
)
TABLE_SOURCE_IDLE_TIMEOUT = Option(
    "table.exec.source.idle-timeout",
    duration,
    "0 ms",
    "Time without rows after which a source does not hold back watermarks; `0 ms` never",
)
ASYNC_SCALAR_CONCURRENT = Option(
    "table.exec.async-scalar.max-concurrent-operations",
    integer_from(1),
    "10",
    "Most calls of an asynchronous scalar function at a time, per subtask",
)
ASYNC_SCALAR_TIMEOUT = Option(
    "table.exec.async-scalar.timeout", duration, "3 min", "Time after which a call fails, all its attempts included"
)
ASYNC_SCALAR_RETRY = Option(
    "table.exec.async-scalar.retry-strategy",
    choice("FIXED_DELAY", "NO_RETRY"),
    "FIXED_DELAY",
    "`FIXED_DELAY` or `NO_RETRY`: whether a failed call is repeated",
)
ASYNC_SCALAR_RETRY_DELAY = Option(
    "table.exec.async-scalar.retry-delay", duration, "100 ms", "Time before a failed call is repeated"
)
ASYNC_SCALAR_ATTEMPTS = Option(
    "table.exec.async-scalar.max-attempts", integer_from(1), "3", "Most attempts of a call before the job fails"
)
TABLE_COLUMN_WIDTH = Option(
    "table.display.max-column-width",
    integer_from(1),
    "30",
    "Most characters of a value that are printed, of types whose width is not known",
)
TABLE_FORCE_RECOMPILE = Option(
    "table.plan.force-recompile", boolean, "false", "COMPILE PLAN overwrites a plan that the file has already"
)
TABLE_JOIN_REORDER = Option(
    "table.optimizer.join-reorder-enabled",
    boolean,
    "false",
    "Join the inputs of inner joins in the order that makes the fewest rows, by the statistics of their tables",
)
TABLE_AGG_PHASE = Option(
    "table.optimizer.agg-phase-strategy",
    choice("AUTO", "TWO_PHASE", "ONE_PHASE"),
    "AUTO",
    "`ONE_PHASE`: GROUP BY of bounded tables sends all rows to the subtasks of their keys; else they are aggregated "
    "before that, where the functions allow it",
)
TABLE_BROADCAST_THRESHOLD = Option(
    "table.optimizer.join.broadcast-threshold",
    integer_from(-1),
    "1048576",
    "Bytes up to which, by the statistics of its tables, an input of a join of bounded tables is sent to all subtasks, "
    "so that the other one need not be shuffled; `-1` never",
)
TABLE_PRUNE_TOP_N = Option(
    "table.optimizer.prune-top-n-enabled",
    boolean,
    "true",
    "Leave out of a Top-N, and of a deduplication, the columns that nothing reads; `false` for state of releases that "
    "kept all",
)
TABLE_REUSE_SUB_PLANS = Option(
    "table.optimizer.reuse-sub-plan-enabled", boolean, "true", "Execute equal parts of a plan once"
)
TABLE_REUSE_SOURCES = Option(
    "table.optimizer.reuse-source-enabled", boolean, "true", "Read a source that several parts of a plan read once"
)
