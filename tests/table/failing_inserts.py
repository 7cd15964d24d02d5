"""Jobs of tables that fail between checkpoints: they insert numbers, which come for three seconds."""

from __future__ import annotations

from firesteel.table.udf import udf
from tests.table.environments import environment

ROWS = 3000


def insert(statement, query, fail_once):
    """Create the table `t`, and insert the rows of a query over the table `numbers` of 1 to `ROWS`.

    Args:
        statement: Creates the table.
        query: May call `fail_once`, which takes a BIGINT.
        fail_once: Returns its argument, and may fail.
    """
    t_env = environment("streaming", parallelism=2)
    for key, value in {
        "execution.checkpointing.interval": "200ms",
        "restart-strategy.type": "fixed-delay",
        "restart-strategy.fixed-delay.attempts": "3",
        "restart-strategy.fixed-delay.delay": "10ms",
    }.items():
        t_env.get_config().set(key, value)
    t_env.create_temporary_function("fail_once", udf(fail_once, result_type="BIGINT"))
    t_env.execute_sql(
        f"CREATE TABLE numbers (v BIGINT) WITH ('connector' = 'datagen', 'rows-per-second' = '{ROWS // 3}', "
        f"'fields.v.kind' = 'sequence', 'fields.v.start' = '1', 'fields.v.end' = '{ROWS}')"
    )
    t_env.execute_sql(statement)
    t_env.execute_sql(f"INSERT INTO t {query}").wait(60_000)
