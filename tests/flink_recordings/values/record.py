"""Records what Flink gives for the expressions. It runs with PyFlink's Python, and records what is not recorded yet.

An expression has its type and, as text, its value for each row; or `invalid`, if Flink's planner refuses it. In place
of a value there is `error`, if Flink fails with the row.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyflink.java_gateway import get_gateway
from pyflink.table import EnvironmentSettings, TableEnvironment

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

from tests.flink_recordings.values.expressions import areas  # noqa: E402
from tests.flink_recordings.values.inputs import ROWS, ZONE, write_inputs  # noqa: E402

RECORDED = HERE / "recorded.json.gz"
AT_ONCE = 40
ALL = range(1, ROWS + 1)


def main() -> None:
    known = json.loads(gzip.decompress(RECORDED.read_bytes())) if RECORDED.exists() else {}
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        t_env = _environment(Path(temporary))
        for area, expressions in areas().items():
            results[area] = {e: known[area][e] for e in expressions if e in known.get(area, {})}
            new = [e for e in expressions if e not in results[area]]
            started = time.monotonic()
            results[area] |= _recorded(t_env, new, by_row=area != "aggregates")
            results[area] = {e: results[area][e] for e in expressions}
            text = json.dumps({**known, **results}, indent=0, ensure_ascii=False)
            RECORDED.write_bytes(gzip.compress(text.encode(), mtime=0))
            print(f"{area}: {len(new)} in {time.monotonic() - started:.1f} s", flush=True)


def _environment(directory: Path) -> TableEnvironment:
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    options = {"table.local-time-zone": ZONE, "parallelism.default": "1", **_cluster()}
    for key, value in options.items():
        t_env.get_config().set(key, value)
    t_env.execute_sql(write_inputs(directory))
    return t_env


def _cluster() -> dict[str, str]:
    """Start a cluster for all jobs, as one for each takes a second, and return the options that lead to it."""
    runtime = get_gateway().jvm.org.apache.flink.runtime.minicluster
    cluster = runtime.MiniCluster(runtime.MiniClusterConfiguration.Builder().withRandomPorts().build())
    cluster.start()
    port = cluster.getRestAddress().get().getPort()
    return {"execution.target": "remote", "rest.address": "localhost", "rest.port": str(port)}


def _recorded(t_env: TableEnvironment, expressions: list[str], by_row: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for expression in expressions:
        found[expression] = _checked(t_env, expression, by_row)
    valid = [expression for expression in expressions if "invalid" not in found[expression]]
    for first in range(0, len(valid), AT_ONCE):
        part = valid[first : first + AT_ONCE]
        for expression, values in zip(part, _values(t_env, part, by_row), strict=True):
            found[expression]["values"] = values
        print(f"  {first + len(part)} of {len(valid)}", flush=True)
    return found


def _checked(t_env: TableEnvironment, expression: str, by_row: bool) -> dict[str, Any]:
    try:
        (kind,) = t_env.sql_query(f"SELECT {expression} FROM v")._j_table.getResolvedSchema().getColumnDataTypes()
        t_env.sql_query(_query([expression], by_row)).explain()
    except Exception as error:
        return {"invalid": _message(error)}
    return {"type": kind.getLogicalType().asSummaryString()}


def _query(expressions: list[str], by_row: bool) -> str:
    items = ", ".join(f"CAST({expression} AS STRING)" for expression in expressions)
    return f"SELECT id, {items} FROM v" if by_row else f"SELECT 0, {items} FROM v"


def _values(t_env: TableEnvironment, expressions: list[str], by_row: bool) -> list[list[Any]]:
    """Return the values of each expression; those that fail together are tried apart, and then row by row."""
    try:
        rows = _rows(t_env, _query(expressions, by_row))
    except Exception as error:
        if len(expressions) > 1:
            half = len(expressions) // 2
            return _values(t_env, expressions[:half], by_row) + _values(t_env, expressions[half:], by_row)
        if not by_row:
            return [[{"error": _message(error)}]]
        return [[_value(t_env, expressions[0], number) for number in ALL]]
    return [[row[place] for row in rows] for place in range(1, len(expressions) + 1)]


def _value(t_env: TableEnvironment, expression: str, number: int) -> Any:
    try:
        ((_, value),) = _rows(t_env, f"{_query([expression], True)} WHERE id = {number}")
    except Exception as error:
        return {"error": _message(error)}
    return value


def _rows(t_env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    with t_env.execute_sql(query).collect() as found:
        return sorted((tuple(row) for row in found), key=lambda row: row[0])


def _message(error: Exception) -> str:
    """Return the innermost message of Flink; other errors are of this program."""
    lines = [text.strip() for text in str(error).splitlines()]
    causes = [text for text in lines if "Exception: " in text or text.endswith("Exception")]
    if not causes:
        raise error
    return causes[-1].removeprefix("Caused by: ")


if __name__ == "__main__":
    main()
