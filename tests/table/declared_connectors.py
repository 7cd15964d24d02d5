"""The built-in connectors with options to be asked about, and what they answer to a statement."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

from firesteel.connectors.identifiers import table_connectors
from firesteel.functions.connector_base import Sink, Source
from tests.table.environments import environment
from tests.table.planned_only import refusal
from tests.table.test_options_are_read import VARIANTS

ELSEWHERE = {
    "delta": "looks for its table when a statement is planned: `test_delta_tables.py`",
    "iceberg": "asks its catalog when a statement is planned: `test_iceberg_tables.py`",
    "spark": "asks Spark when a statement is planned: `test_spark_tables.py`",
}


class Numbers(Source[Any]):
    def discover_splits(self) -> list[Any]:
        return []


def made(options: Any) -> Any:
    return Numbers()


def made_sink(options: Any) -> Any:
    return Sink()


OPTIONS = {name: given[0] for name, given in VARIANTS.items()} | {
    "kafka": {"properties.bootstrap.servers": "h:1", "properties.group.id": "g", "topic": "t", "format": "json"},
    "upsert-kafka": {"properties.bootstrap.servers": "h:1", "topic": "t", "key.format": "json", "value.format": "json"},
    "filesystem": {"path": "/nowhere", "format": "json"},
    "python": {"source": f"{__name__}:made", "sink": f"{__name__}:made_sink"},
}
WITH_KEY = frozenset({"upsert-kafka", "state", "savepoint"})
"""Connectors whose tables must have a primary key."""

CONNECTORS = sorted(table_connectors().keys() - ELSEWHERE.keys())


def having(attribute: str) -> frozenset[str]:
    return frozenset(
        name for name in CONNECTORS if hasattr(importlib.import_module(table_connectors()[name]), attribute)
    )


SINKS, SOURCES = having("sink"), having("source")
INDEXES = frozenset({"elasticsearch-6", "elasticsearch-7", "elasticsearch-8", "opensearch"})
STREAMS = frozenset({"kinesis", "kinesis-legacy"})
CAPTURES = frozenset({"mysql-cdc", "postgres-cdc"})
ONLY_LOOKED_UP = frozenset({"http", "rest-lookup", "redis"})
SCANS = SOURCES - ONLY_LOOKED_UP

NO_OVERWRITE = "Streaming mode doesn't support overwrite"
NO_SOURCE = "can only be used as a sink. It cannot be used as a source."
NO_SINK = "can only be used as a source. It cannot be used as a sink."
NO_SCAN = "only be looked up|not read as a whole"


@dataclass(frozen=True)
class Question:
    """A statement about a table `t`, which some connectors take.

    Attributes:
        taken_by: The connectors that take it.
        refusal: What the others say, apart from those that are no source or no sink.
    """

    statement: str
    taken_by: frozenset[str]
    refusal: str = "nothing"
    mode: str = "streaming"
    columns: str = "k INT NOT NULL, v STRING"
    tail: str = ""
    with_key: bool = False
    options: tuple[tuple[str, str], ...] = ()

    @property
    def about(self) -> frozenset[str] | None:
        """The connectors that can answer; None if nobody looks at the connector."""
        if self.statement.startswith("SELECT"):
            return SOURCES
        return SINKS if self.statement.startswith("INSERT") and self.refusal != NO_OVERWRITE else None


def answer(connector: str, question: Question) -> str | None:
    """Return the refusal of a statement over a table of a connector, None if it is taken."""
    t_env = environment(question.mode)
    t_env.execute_sql(
        "CREATE TABLE src (k INT, v STRING, p AS PROCTIME()) WITH ('connector' = 'datagen', 'number-of-rows' = '1')"
    )
    given = {"connector": connector, **OPTIONS[connector], **allowed(connector, question)}
    options = ", ".join(f"'{key}' = '{value}'" for key, value in given.items())
    key = ", PRIMARY KEY (k) NOT ENFORCED" if question.with_key or connector in WITH_KEY else ""
    t_env.execute_sql(f"CREATE TABLE t ({question.columns}{key}) {question.tail} WITH ({options})")
    return refusal(lambda: t_env.execute_sql(question.statement))


def allowed(connector: str, question: Question) -> dict[str, str]:
    """Return the options of a question; the number of rows is for `datagen` alone."""
    return {key: value for key, value in question.options if key != "number-of-rows" or connector == "datagen"}
