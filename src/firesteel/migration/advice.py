"""Advice on names of PyFlink that firesteel does not have, and on differences of those it has."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap
from collections.abc import Callable

from firesteel.pyflink1.names import REMOVED
from firesteel.pyflink1.tables.names import TABLE_NAMES

_OLD = ("firesteel.pyflink1.", "firesteel.connectors.kafka.functions")
_PUBLIC_MODULES = (
    "common",
    "common.serialization",
    "common.time",
    "datastream",
    "datastream.connectors.base",
    "datastream.connectors.elasticsearch",
    "datastream.connectors.file_system",
    "datastream.connectors.jdbc",
    "datastream.connectors.kinesis",
    "datastream.connectors.number_seq",
    "datastream.connectors.hybrid_source",
    "datastream.formats.avro",
    "datastream.formats.csv",
    "datastream.formats.json",
    "datastream.formats.orc",
    "datastream.formats.parquet",
    "datastream.functions",
    "datastream.state",
    "datastream.window",
    "datastream.state_backend",
    "datastream.checkpoint_storage",
    "common.typeinfo",
    "metrics",
)

_DIFFERS = {
    "JdbcSink.sink": "is exactly-once, where Flink's is at-least-once; the URL determines the driver",
    "ElasticsearchSinkBuilderBase.set_bulk_flush_interval": "has no effect: documents are sent after each batch",
    "FlinkKinesisConsumer.set_shard_assigner": "has no effect: shards are assigned to the subtasks round-robin",
    "FlinkKinesisConsumer.set_watermark_tracker": "has no effect; use with_watermark_alignment()",
    "StreamExecutionEnvironment.add_classpaths": "there are no Java classes to load",
    "WatermarkStrategy.with_timestamp_assigner": (
        "is called in the strategy of from_source(), where PyFlink ignores it"
    ),
    "StreamExecutionEnvironment.set_python_executable": "functions run in the interpreter of the cluster",
    "DataStream.cache": "results are computed again by the next job",
}
"""Differences of calls that work, by PyFlink's name."""

_REMOVED = {
    getattr(removed.value, "__func__", removed.value): removed.instead  # the function of a static method
    for removed in (*REMOVED, *TABLE_NAMES)
    if not removed.widens and removed.value.__module__.startswith(_OLD)
}


def difference_of(name: str, value: object) -> str | None:
    """Return the difference of a name that works, or None if there is none."""
    if callable(value) and value in _REMOVED:
        return f"is from PyFlink 1 and works; use {_REMOVED[value]}"
    return _DIFFERS.get(name)


def elsewhere_advice(name: str) -> str | None:
    """Return the module in which firesteel has a name, or None if there is none."""
    for module in _PUBLIC_MODULES:
        if hasattr(importlib.import_module(f"firesteel.{module}"), name):
            return f"it is in pyflink.{module}"
    return None


def refusal_advice(method: Callable[..., object]) -> str:
    """Return the message of the error that a method always raises."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(method)))):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            return _constant_text(node.exc.args[0])
    return "it is not supported"


def _constant_text(argument: ast.expr) -> str:
    parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "..." for part in parts)
