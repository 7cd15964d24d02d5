"""Records what Flink reads from messages of changes, and writes: it runs with PyFlink's Python, about five minutes.

`recorded.json` has the messages, too; what Flink makes of them is written anew.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyflink.java_gateway import get_gateway
from pyflink.table import EnvironmentSettings, TableEnvironment

FILE = Path(__file__).parent / "recorded.json"
READ = "id INT, n STRING, v DOUBLE"
WRITTEN = "id INT, n STRING, v DOUBLE, d DECIMAL(10, 2), w TIMESTAMP(3), r ROW<a INT, b STRING>"
QUERY = (
    "INSERT INTO t SELECT id, MAX(n), SUM(v), MAX(d), MAX(w), ROW(id, 'x') FROM (VALUES "
    "(1, 'a', 1e0, 1.5, TIMESTAMP '2024-01-02 03:04:05.678'), (1, CAST(NULL AS STRING), 2.5e0, 2.25, "
    "TIMESTAMP '2024-01-02 03:04:05.678'), (2, CAST(NULL AS STRING), CAST(NULL AS DOUBLE), "
    "CAST(NULL AS DECIMAL(3, 2)), CAST(NULL AS TIMESTAMP(3)))) AS s (id, n, v, d, w) GROUP BY id"
)


def with_table(name: str, options: dict[str, str], columns: str, use: Callable[[TableEnvironment, Path], Any]) -> Any:
    """Return what is done with a table of files in a format, or the innermost cause of the error."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    with tempfile.TemporaryDirectory() as directory:
        given = "".join(f", '{name}.{key}' = '{value}'" for key, value in options.items())
        try:
            t_env.execute_sql(
                f"CREATE TABLE t ({columns}) WITH ('connector' = 'filesystem', 'path' = '{directory}', "
                f"'format' = '{name}'{given})"
            )
            return use(t_env, Path(directory))
        except Exception as error:
            causes = [line.strip() for line in str(error).split("\n") if "Caused by:" in line]
            return causes[-1].removeprefix("Caused by: ") if causes else str(error)[:200]


def read(t_env: TableEnvironment, directory: Path, lines: list[str]) -> list[list[object]]:
    """Return the rows of messages with their kinds."""
    (directory / "in").write_text("".join(line + "\n" for line in lines))
    with t_env.execute_sql("SELECT * FROM t").collect() as rows:
        return [[row.get_row_kind().name, *row] for row in rows]


def written(t_env: TableEnvironment, directory: Path) -> list[str]:
    """Return the messages of a query with changes of all kinds but deletions; their order is that of subtasks."""
    t_env.execute_sql(QUERY).wait()
    return [line for path in directory.rglob("*") if path.is_file() for line in path.read_text().splitlines()]


def with_metadata(name: str, has_schema: bool, message: str) -> dict[str, Any]:
    """Return the keys and types of metadata, and the text of each row of a message with all of them."""
    j = get_gateway().jvm
    package, style = j.org.apache.flink.formats.json, j.org.apache.flink.formats.common.TimestampFormat.SQL
    made = {
        "canal-json": lambda: package.canal.CanalJsonDecodingFormat(None, None, False, style),
        "maxwell-json": lambda: package.maxwell.MaxwellJsonDecodingFormat(False, style),
        "ogg-json": lambda: package.ogg.OggJsonDecodingFormat(False, style),
        "debezium-json": lambda: package.debezium.DebeziumJsonDecodingFormat(has_schema, False, style),
    }[name]()
    types = j.org.apache.flink.table.api.DataTypes
    fields = get_gateway().new_array(types.Field, 3)
    fields[:] = [types.FIELD("id", types.INT()), types.FIELD("n", types.STRING()), types.FIELD("v", types.DOUBLE())]
    keys = {entry.getKey(): entry.getValue().toString() for entry in made.listReadableMetadata().entrySet()}
    wanted, rows = j.java.util.ArrayList(), j.java.util.ArrayList()
    for key in keys:
        wanted.add(key)
    made.applyReadableMetadata(wanted)
    context = j.org.apache.flink.table.runtime.connector.source.ScanRuntimeProviderContext.INSTANCE
    decoder = made.createRuntimeDecoder(context, types.ROW(fields))
    decoder.open(None)
    try:
        decoder.deserialize(message.encode(), j.org.apache.flink.api.common.functions.util.ListCollector(rows))
    except Exception:
        return {"keys": keys, "rows": None}
    return {"keys": keys, "rows": [row.toString() for row in rows]}


def main() -> None:
    found = json.loads(FILE.read_text())
    for case in found["read"]:
        case["flink"] = with_table(
            case["format"], case["options"], READ, lambda t_env, path, case=case: read(t_env, path, case["lines"])
        )
    for case in found["written"]:
        case["flink"] = with_table(case["format"], case["options"], WRITTEN, written)
    for case in found["metadata"]:
        case["flink"] = with_metadata(case["format"], case["has_schema"], case["message"])
    parts = (f'"{part}": [\n' + ",\n".join(map(json.dumps, cases)) + "\n]" for part, cases in found.items())
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    main()
