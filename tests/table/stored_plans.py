"""Writes compiled plans to `stored_plans.json`, which later releases must read: `python -m tests.table.stored_plans`.

To be called when a plan can contain something new. What is there stays, as programs have such plans in their files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firesteel.table import DataTypes, TableEnvironment
from firesteel.table.udf import udf
from tests.table.environments import environment
from tests.table.test_compiled_plans import NODES, sink_for
from tests.table.test_push_filters import TIMED

STORED = Path(__file__).with_suffix(".json")
_WINDOW = "(SELECT * FROM TABLE(TUMBLE(TABLE {}, DESCRIPTOR(t), INTERVAL '1' MINUTE)))"
QUERIES = (
    *NODES,
    f"SELECT x.k, y.v FROM {_WINDOW.format('s')} AS x JOIN {_WINDOW.format('r')} AS y ON x.k = y.k AND "
    "x.window_start = y.window_start AND x.window_end = y.window_end",
    "SELECT p.k, d.n FROM p JOIN d FOR SYSTEM_TIME AS OF p.p ON p.k = d.id",
)


def tables() -> TableEnvironment:
    """An environment with the tables and the function that the plans name."""
    made: TableEnvironment = environment()
    for name in "sr":
        made.execute_sql(TIMED.format(name))
    made.execute_sql("CREATE TABLE p (k INT, p AS PROCTIME()) WITH ('connector' = 'datagen')")
    made.execute_sql(
        "CREATE TABLE d (id INT PRIMARY KEY NOT ENFORCED, n STRING) WITH ('connector' = 'jdbc', "
        "'url' = 'jdbc:sqlite:/nowhere.db', 'table-name' = 'd')"
    )
    made.create_temporary_system_function("plus_one", udf(lambda v: v + 1, result_type=DataTypes.INT()))
    return made


def classes_of(part: Any) -> Iterator[str]:
    """The classes that are named in a plan."""
    if isinstance(part, dict):
        yield from [str(part["class"])] if "class" in part else []
    for inner in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        yield from classes_of(inner)


def _write() -> None:
    stored: dict[str, Any] = json.loads(STORED.read_text()) if STORED.exists() else {}
    known = {name for plan in stored.values() for name in classes_of(plan)}
    made = tables()
    for query in QUERIES:
        sink_for(made, query)
        plan = json.loads(made.compile_plan_sql(f"INSERT INTO sink {query}").as_json_string())
        made.drop_temporary_table("sink")
        if set(classes_of(plan)) - known:
            stored[query] = plan
            known |= set(classes_of(plan))
    STORED.write_text("{\n" + ",\n".join(f"{json.dumps(q)}: {json.dumps(p)}" for q, p in stored.items()) + "\n}\n")


if __name__ == "__main__":
    _write()
