"""Records what Flink gives for the queries. It runs with PyFlink's Python, and records what is not recorded yet.

`record.py [--full DIRECTORY] [NAME ...]` records the named queries anew; the directory gets the whole results.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from pyflink.table import EnvironmentSettings, TableEnvironment

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

from tests.flink_recordings.large.folding import NotThereError, folded, line, summary  # noqa: E402
from tests.flink_recordings.large.inputs import declarations, write_inputs  # noqa: E402
from tests.flink_recordings.large.queries import Query, queries  # noqa: E402

RECORDED = HERE / "recorded.json.gz"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", type=Path)
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    results = json.loads(gzip.decompress(RECORDED.read_bytes())) if RECORDED.exists() else {}
    known = {query.key(*case): query.sql for query in queries() for case in query.cases}
    results = {key: result for key, result in results.items() if known.get(key) == result["sql"]}
    with tempfile.TemporaryDirectory() as temporary:
        write_inputs(Path(temporary) / "inputs")
        for query in queries():
            for mode, zone in query.cases:
                key = query.key(mode, zone)
                if query.name not in arguments.names and (arguments.names or key in results):
                    continue
                started = time.monotonic()
                results[key] = {"sql": query.sql} | _recorded(query, mode, zone, Path(temporary), arguments.full)
                shown = results[key].get("error") or results[key]["count"]
                print(f"{key}: {shown} in {time.monotonic() - started:.1f} s", flush=True)
                text = json.dumps(results, indent=0, sort_keys=True)
                RECORDED.write_bytes(gzip.compress(text.encode(), mtime=0))


def _recorded(query: Query, mode: str, zone: str, directory: Path, full: Path | None) -> dict[str, Any]:
    t_env = _environment(mode, zone, tuple(query.options.items()), directory / "inputs")
    t_env.get_config().set("parallelism.default", str(query.parallelism))
    outputs = directory / "outputs" / query.key(mode, zone).replace("/", "_").replace(" ", "_")
    try:
        lines = _lines(t_env, query, mode, outputs)
    except NotThereError as error:
        return {"error": f"Flink's changes are wrong: {error}"}
    except Exception as error:
        if (message := _message(error)) is None:
            raise
        return {"error": message}
    if full is not None:
        full.mkdir(parents=True, exist_ok=True)
        (full / outputs.name).write_text("\n".join(lines) + "\n")
    return summary(lines)


@cache
def _environment(mode: str, zone: str, options: tuple[tuple[str, str], ...], inputs: Path) -> TableEnvironment:
    settings = EnvironmentSettings.in_batch_mode() if mode == "batch" else EnvironmentSettings.in_streaming_mode()
    t_env = TableEnvironment.create(settings)
    for key, value in {"table.local-time-zone": zone, **dict(options)}.items():
        t_env.get_config().set(key, value)
    for statement in declarations(inputs, with_changes=mode == "streaming"):
        t_env.execute_sql(statement)
    return t_env


def _lines(t_env: TableEnvironment, query: Query, mode: str, outputs: Path) -> list[str]:
    columns = t_env.sql_query(query.sql)._j_table.getResolvedSchema().getColumnDataTypes()
    types = [data_type.getLogicalType().asSerializableString() for data_type in columns]
    declared = ", ".join(f"c{number} {kind}" for number, kind in enumerate(types))
    form = "json" if mode == "batch" else "debezium-json"
    options = f"'connector' = 'filesystem', 'path' = '{outputs.as_uri()}', 'format' = '{form}'"
    t_env.execute_sql("DROP TEMPORARY TABLE IF EXISTS outputs")
    t_env.execute_sql(f"CREATE TEMPORARY TABLE outputs ({declared}) WITH ({options})")
    t_env.execute_sql(f"INSERT INTO outputs {query.sql}").wait()
    changes = list(_changes(outputs, [kind.split("(")[0].split(" ")[0] for kind in types]))
    return [text for _, text in changes] if query.is_ordered else folded(changes)


def _changes(outputs: Path, types: list[str]) -> Iterator[tuple[bool, str]]:
    for path in sorted(outputs.rglob("*")):
        if not path.is_file():
            continue
        for record in map(_parsed, path.read_text(encoding="utf-8").splitlines()):
            is_added = record.get("op", "c") == "c"
            row = record if "op" not in record else record["after" if is_added else "before"]
            yield is_added, line([row.get(f"c{number}") for number in range(len(types))])


def _parsed(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def _message(error: Exception) -> str | None:
    """Return the innermost message of Flink, or None for an error of this program."""
    causes = [text.strip() for text in str(error).splitlines() if "Exception: " in text and "org.apache" in text]
    return causes[-1].removeprefix("Caused by: ") if causes else None


if __name__ == "__main__":
    main()
