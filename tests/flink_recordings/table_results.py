"""Runs a recorded table program and describes its results in the form of the recordings."""

from __future__ import annotations

import datetime
import decimal
import inspect
import json
import math
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from firesteel.common import Configuration
from firesteel.common.types import Row
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.table import EnvironmentSettings, StreamTableEnvironment, Table, TableResult
from tests.flink_recordings.recordings import TABLE_PROGRAMS
from tests.flink_recordings.table_inputs import FILES

KINDS = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}
LINES_OF_THE_JVM = re.compile(r"WARNING|SLF4J|log4j|OpenJDK|Picked up")


def as_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def encoded(value: Any) -> Any:
    """Return a value as JSON without loss for the Python values of Flink's types."""
    if hasattr(value, "tolist"):  # NumPy
        return encoded(value.tolist())
    for kind, encode in ENCODINGS:
        if isinstance(value, kind):
            return encode(value)
    if type(value).__name__ == "Instant":
        return {"$instant": str(value)}
    if hasattr(value, "name") and hasattr(value, "value"):
        return {"$enum": value.name}
    return {"$str": str(value)}


def _encoded_float(value: float) -> Any:
    if math.isnan(value):
        return {"$float": "NaN"}
    if math.isinf(value):
        return {"$float": "Infinity" if value > 0 else "-Infinity"}
    return {"$float": repr(value)}


ENCODINGS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    ((type(None), bool, str, int), lambda value: value),
    (float, _encoded_float),
    (decimal.Decimal, lambda value: {"$decimal": format(value, "f")}),
    (datetime.datetime, lambda value: {"$timestamp": value.isoformat(sep=" ")}),
    (datetime.date, lambda value: {"$date": value.isoformat()}),
    (datetime.time, lambda value: {"$time": value.isoformat()}),
    (datetime.timedelta, lambda value: {"$interval_us": value // datetime.timedelta(microseconds=1)}),
    ((bytes, bytearray), lambda value: {"$bytes": bytes(value).hex()}),
    (Row, lambda value: {"$row": [encoded(field) for field in value]}),
    (
        dict,
        lambda value: {"$map": sorted(([encoded(key), encoded(item)] for key, item in value.items()), key=as_text)},
    ),
    ((list, tuple), lambda value: [encoded(item) for item in value]),
    ((set, frozenset), lambda value: {"$set": sorted((encoded(item) for item in value), key=as_text)}),
)


def remaining_rows(changes: Iterable[Any]) -> list[Any]:
    """Return the rows that a changelog leaves."""
    left: list[Any] = []
    for kind, row in changes:
        if kind in ("+I", "+U"):
            left.append(row)
        elif row in left:
            del left[len(left) - 1 - left[::-1].index(row)]
    return left


def schema_of(table: Any) -> list[list[str]] | None:
    """Return `[column, type]` pairs out of the text of a schema."""
    schema = table.get_schema() if hasattr(table, "get_schema") else table.get_table_schema()
    if schema is None:
        return None
    pairs = []
    for line in str(schema).splitlines():
        if "WATERMARK" in line:
            pairs.append(["$watermark", line.strip()])
        elif match := re.match(r" \|-- (.*)$", line):
            name, _, type_name = match[1].partition(": ")
            pairs.append([name, re.sub(r"\s+", " ", type_name).strip()])
    return pairs


def write_inputs(directory: Path) -> None:
    """Write the input files."""
    for name, text in FILES.items():
        (directory / name).write_text(text)


def table_environment(mode: str) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    """Return environments as the recorder used: parallelism 1, UTC.

    Args:
        mode: `streaming` or `batch`.
    """
    configuration = Configuration()
    configuration.set_string("python.fn-execution.bundle.time", "200")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    settings = EnvironmentSettings.new_instance()
    if mode == "batch":
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    settings = settings.in_batch_mode() if mode == "batch" else settings.in_streaming_mode()
    t_env = StreamTableEnvironment.create(env, settings.build())
    t_env.get_config().set_local_timezone("UTC")
    return env, t_env


class TableProgram:
    """A recorded program; its upper-case names define how it is run and which results may vary.

    Args:
        name: The file's name without `.py`.
        mode: `streaming` or `batch`.
    """

    def __init__(self, name: str, mode: str) -> None:
        self.mode = mode
        path = TABLE_PROGRAMS / f"{name}.py"
        self.module = ModuleType(f"program_{name}")
        self.module.__file__ = str(path)
        exec(compile(path.read_text(), path.name, "exec"), self.module.__dict__)

    def says(self, name: str, default: Any) -> Any:
        return getattr(self.module, name, default)

    def run(self, directory: Path, printed: Callable[[], str]) -> dict[str, Any]:
        """Run the program on fresh input files.

        Args:
            directory: Where the input files are written, and below it what sinks write.
            printed: Returns what was written to standard output.
        """
        write_inputs(directory)
        results = self._build(directory)
        found: dict[str, Any] = {}
        if self.says("ERRORS", False):
            found["errors"] = [self._error(*case) for case in results]
        elif self.says("PRINT", False):
            for item in _as_list(results):
                (item.execute() if hasattr(item, "execute") else item).print()
        elif results is not None:
            found["items"] = [self._item(item) for item in _as_list(results)]
        if self.says("PRINT", False) or self.says("PRINT_SINK", False):
            lines = [line.rstrip() for line in printed().splitlines() if not LINES_OF_THE_JVM.match(line)]
            is_sorted = self.says("PRINT_SINK", False) and not self.says("ORDERED", False)
            found["printed"] = sorted(lines) if is_sorted else lines
        if files := _files_below(directory):
            found["files"] = files
        text = json.dumps(found, ensure_ascii=False)
        for prefix in ("file:", ""):
            text = text.replace(f"{prefix}{directory}", "DATA")
        return json.loads(text)

    def _build(self, directory: Path) -> Any:
        env, t_env = table_environment(self.mode)
        build = self.module.build
        takes_env = len(inspect.signature(build).parameters) > 2
        return build(t_env, str(directory), env) if takes_env else build(t_env, str(directory))

    def _item(self, item: Any) -> dict[str, Any]:
        if isinstance(item, Table):
            return {"type": "table", "schema": schema_of(item), **self._rows(changes_of(item.execute()))}
        if isinstance(item, TableResult):
            return self._result(item)
        if hasattr(item, "execute_and_collect"):
            with item.execute_and_collect() as rows:
                changes = [[_kind(row) if hasattr(row, "get_row_kind") else "+I", encoded(row)] for row in rows]
            return {"type": "data_stream", **self._rows(changes)}
        return {"type": "value", "value": encoded(item)}

    def _result(self, result: TableResult) -> dict[str, Any]:
        schema = schema_of(result)
        found: dict[str, Any] = {"type": "result", "schema": schema}
        if schema is None:
            return found
        names_sinks = all("." in name or name.startswith("Unregistered") for name, _ in schema)
        if result.get_job_client() is not None and names_sinks and all(kind.startswith("BIGINT") for _, kind in schema):
            result.wait()
            return {**found, "insert": True}
        return {**found, **self._rows(changes_of(result))}

    def _rows(self, changes: list[Any]) -> dict[str, Any]:
        if self.mode == "streaming":
            found, left = {"changelog": changes}, remaining_rows(changes)
        else:
            kinds = sorted({kind for kind, _ in changes})
            found, left = {"kinds": kinds} if kinds not in ([], ["+I"]) else {}, [row for _, row in changes]
        return {**found, "final": left if self.says("ORDERED", False) else sorted(left, key=as_text)}

    def _error(self, name: str, mention: str, function: Callable[[], Any]) -> dict[str, Any]:
        try:
            for item in _as_list(function()):
                self._item(item)
        except Exception as error:
            return {"name": name, "raised": True, "mentioned": mention.lower() in _full_text(error).lower()}
        return {"name": name, "raised": False}


def _as_list(results: Any) -> list[Any]:
    if results is None:
        return []
    return results if isinstance(results, list) else [results]


def changes_of(result: TableResult) -> list[Any]:
    """Return the rows that a statement gives, each with its kind."""
    with result.collect() as rows:
        return [[_kind(row), [encoded(field) for field in row]] for row in rows]


def _kind(row: Any) -> str:
    return KINDS[row.get_row_kind().name]


def _full_text(error: BaseException | None) -> str:
    lines = []
    while error is not None:
        lines += [type(error).__name__, str(error)]
        error = error.__cause__ or error.__context__
    return "\n".join(lines)


def _files_below(directory: Path) -> dict[str, list[str]]:
    """Return the lines of all files that sinks wrote, by directory."""
    found: dict[str, list[str]] = {}
    for path in sorted(directory.glob("out*/**/*")):
        if path.is_file() and path.name[0] not in "._":
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
            found.setdefault(str(path.parent.relative_to(directory)), []).extend(lines)
    return {name: sorted(lines) for name, lines in sorted(found.items())}
