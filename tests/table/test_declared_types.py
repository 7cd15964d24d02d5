"""Each connector has the column and metadata types that it declares; others are refused when planned."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from firesteel.columns.cast_rules import can_cast
from firesteel.columns.column_types import DataType
from firesteel.columns.type_text import parse_type, type_text
from firesteel.connectors.identifiers import table_connectors
from firesteel.connectors.table_connector import Column, ResolvedTable, SinkRequest
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.table import DataTypes, TableConfig
from tests.table.declared_connectors import (
    CAPTURES,
    CONNECTORS,
    INDEXES,
    ONLY_LOOKED_UP,
    OPTIONS,
    SCANS,
    SINKS,
    SOURCES,
    STREAMS,
    WITH_KEY,
    Question,
    answer,
)
from tests.table.planned_only import planned_only


@pytest.fixture(autouse=True)
def nothing_is_run() -> Iterator[None]:
    with planned_only():
        yield


SCALARS = (
    *("BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(38, 10)", "CHAR(3)", "STRING"),
    *("BINARY(2)", "BYTES", "DATE", "TIME(0)", "TIME(3)", "TIMESTAMP(0)", "TIMESTAMP(9)"),
    *("TIMESTAMP_LTZ(0)", "TIMESTAMP_LTZ(9)"),
)
MAPS = ("MAP<STRING, INT>", "MAP<INT, INT>", "MULTISET<STRING>")
NESTED = ("ARRAY<ROW<a INT>>", "ROW<a INT>", *MAPS)
OTHERS = ("INTERVAL DAY TO SECOND", "INTERVAL YEAR TO MONTH", "VARIANT", "ROW<a VARIANT>")
TIMES = ("TIME(0)", "TIME(3)")
JSON = ("VARIANT", "ROW<a VARIANT>")

REFUSED_TYPES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("blackhole", "print", "python", "savepoint", "state"), ()),
    **dict.fromkeys(("filesystem", "kafka", "upsert-kafka", "firehose", "http", "rest-lookup"), JSON),
    **dict.fromkeys((*STREAMS, *INDEXES), JSON),
    "clickhouse": ("BINARY(2)", "BYTES", *TIMES, "TIMESTAMP_LTZ(9)", *NESTED, *OTHERS),
    "datagen": OTHERS,
    "faker": ("BINARY(2)", "BYTES", *TIMES, *NESTED[:4], *OTHERS),
    "jdbc": (*NESTED, *OTHERS),
    "mongodb": ("DATE", *TIMES, "MAP<INT, INT>", "MULTISET<STRING>", *OTHERS),
    "mysql-cdc": (*NESTED, *OTHERS),
    "postgres-cdc": (*NESTED, *OTHERS),
    "redis": ("ARRAY<INT>", *NESTED, *OTHERS),
}  # fmt: skip
"""The types that a connector with the options above refuses, be it by its format; it has all others."""

ONLY_READ = {"mongodb": ("TINYINT", "SMALLINT", "FLOAT", "TIMESTAMP(0)", "TIMESTAMP(9)")}
"""Types that a connector reads and does not write."""

NO_TYPE = (
    "upported type|doesn't support type|which cannot be|cannot make up|tables of .* may have|Missing required options"
)


@pytest.mark.parametrize("connector", CONNECTORS)
def test_a_type_that_a_connector_has_not_is_refused_when_planned(connector: str) -> None:
    looked_up = "SELECT t.v FROM src JOIN t FOR SYSTEM_TIME AS OF src.p ON src.k = t.k"
    for kind in (*SCALARS, "ARRAY<INT>", *NESTED, *OTHERS):
        read = Question(looked_up if connector in ONLY_LOOKED_UP else "SELECT v FROM t", SCANS)
        write = Question(f"INSERT INTO t SELECT k, CAST(NULL AS {kind}) FROM src", SINKS)
        for question, askable, more in ((read, SOURCES, ()), (write, SINKS, ONLY_READ.get(connector, ()))):
            if connector in askable:
                found = answer(connector, replace(question, columns=f"k INT NOT NULL, v {kind}"))
                is_refused = kind in (*REFUSED_TYPES[connector], *more)
                assert (found is not None) == is_refused, (question.statement, kind, found)
                assert found is None or re.search(NO_TYPE, found), found


# --- metadata --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("connector", CONNECTORS)
def test_declared_metadata_has_the_declared_type(connector: str) -> None:
    for key, kind in metadata(connector, "source").items():
        assert answer(connector, of_metadata("SELECT m FROM t", key, type_text(kind.nullable()))) is None, key
        found = answer(connector, of_metadata("SELECT m FROM t", key, "MULTISET<BOOLEAN>"))
        assert f"Invalid data type for metadata column 'm' with metadata key '{key}'" in str(found)
    for key, kind in metadata(connector, "sink").items():
        text = type_text(kind.nullable())
        insert = "INSERT INTO t SELECT k, v, CAST(NULL AS {}) FROM src"
        assert answer(connector, of_metadata(insert.format(text), key, text)) is None, key
        if not can_cast(parse_type("MULTISET<BOOLEAN>"), kind):  # all types can be cast to texts
            found = answer(connector, of_metadata(insert.format("MULTISET<BOOLEAN>"), key, "MULTISET<BOOLEAN>"))
            assert f"Invalid data type for metadata column 'm' with metadata key '{key}'" in str(found)


def of_metadata(statement: str, key: str, kind: str) -> Question:
    return Question(statement, SCANS, columns=f"k INT NOT NULL, v STRING, m {kind} METADATA FROM '{key}'")


def metadata(connector: str, direction: str) -> Mapping[str, DataType]:
    """Return what the source or sink of a connector declares."""
    make = getattr(importlib.import_module(table_connectors()[connector]), direction, None)
    if make is None:
        return {}
    columns = (Column("k", DataTypes.INT().not_null()), Column("v", DataTypes.STRING()))
    key = ("k",) if connector in WITH_KEY else ()
    table = ResolvedTable(("c", "d", "t"), columns, {"connector": connector, **OPTIONS[connector]}, primary_key=key)
    request = (SinkRequest(),) if direction == "sink" else ()
    return getattr(make(table, *request, ConnectorContext(TableConfig(), True)), "metadata", {})


def test_some_connectors_have_metadata() -> None:
    written = STREAMS | {"kafka", "upsert-kafka"}
    assert {name for name in CONNECTORS if metadata(name, "sink")} == written
    assert {name for name in CONNECTORS if metadata(name, "source")} == written | CAPTURES | {"filesystem"}


def test_every_connector_is_asked() -> None:
    assert REFUSED_TYPES.keys() == {*CONNECTORS}
