"""Each connector answers each of Flink's questions about a table, and refuses what it has not declared.

A connector that is registered is asked, too. What it takes without being named here fails the test, and so does what
it refuses in other words. Nothing is run: all answers are given when a statement is planned.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable, Iterator

import pytest

from firesteel.connectors.identifiers import table_connectors
from tests.table.declared_connectors import (
    CAPTURES,
    CONNECTORS,
    ELSEWHERE,
    INDEXES,
    NO_OVERWRITE,
    NO_SCAN,
    NO_SINK,
    NO_SOURCE,
    OPTIONS,
    SCANS,
    SINKS,
    SOURCES,
    STREAMS,
    Question,
    answer,
)
from tests.table.planned_only import planned_only

UNKNOWN = r"Unsupported options found for '.*'.\n\nUnsupported options:\n\nnonsense"
NO_KEY = "can't guarantee the semantic of primary key"
READ, WRITE = "SELECT * FROM t", "INSERT INTO t SELECT k, v FROM src"
GROUPS = "INSERT INTO t SELECT CAST(COUNT(*) AS INT), v FROM src GROUP BY v"
METADATA = "k INT NOT NULL, v STRING, m STRING METADATA FROM 'nonsense'"
NO_METADATA = (
    "(doesn't implement the Supports(Reading|Writing)Metadata interface|Invalid metadata key 'nonsense' in column)"
)
QUESTIONS = {
    "scan": Question(READ, SCANS, NO_SCAN),
    "insert": Question(WRITE, SINKS),
    "scan in batch mode": Question(
        READ,
        frozenset({"clickhouse", "datagen", "filesystem", "jdbc", "mongodb", "python", "savepoint", "state"}),
        f"Querying an unbounded table '.*' in batch mode is not allowed. The table source is unbounded.|{NO_SCAN}",
        mode="batch",
        options=(("number-of-rows", "1"),),
    ),
    "insert in batch mode": Question(WRITE, SINKS, mode="batch"),
    "a look-up": Question(
        "SELECT * FROM src JOIN t FOR SYSTEM_TIME AS OF src.p ON src.k = t.k",
        frozenset({"faker", "http", "jdbc", "mongodb", "redis", "rest-lookup", "state"}),
        "Processing-time temporal join is not supported yet",
    ),
    "a primary key of a source": Question(READ, SCANS - {"kafka"}, f"{NO_KEY}|{NO_SCAN}", with_key=True),
    "a primary key of a sink": Question(
        WRITE, SINKS - {"kafka"}, NO_KEY, with_key=True
    ),
    "INSERT OVERWRITE": Question(
        "INSERT OVERWRITE t SELECT k, v FROM src",
        frozenset({"filesystem", "mongodb"}),
        f"INSERT OVERWRITE requires that .* implements the SupportsOverwrite interface|{NO_KEY}",
        mode="batch",
        with_key=True,
    ),
    "INSERT OVERWRITE of streams": Question(
        "INSERT OVERWRITE t SELECT k, v FROM src", frozenset(), NO_OVERWRITE
    ),
    "partitions": Question(
        WRITE,
        STREAMS | {"blackhole", "filesystem", "mongodb", "print"},
        "is a partitioned table, but .* doesn't implement the SupportsPartitioning interface",
        tail="PARTITIONED BY (v)",
    ),
    "buckets": Question(
        WRITE,
        frozenset(),
        "distributed into buckets, but .* doesn't implement the SupportsBucketing interface",
        tail="DISTRIBUTED BY (k) INTO 3 BUCKETS",
    ),
    "updates": Question(
        GROUPS,
        frozenset({"blackhole", "print", "python", "upsert-kafka"}),
        "doesn't support consuming update changes which is produced by node GroupAggregate|"
        "doesn't support consuming update and delete changes which is produced by node GroupAggregate",
    ),
    "updates by key": Question(
        GROUPS,
        INDEXES | {"blackhole", "jdbc", "mongodb", "print", "python", "redis", "upsert-kafka"},
        "doesn't support consuming update (and delete )?changes which is produced by node GroupAggregate|"
        f"{NO_KEY}|'sink.update-strategy'",
        with_key=True,
    ),
    "metadata that is not declared, read": Question(READ, frozenset(), f"{NO_METADATA}|{NO_SCAN}", columns=METADATA),
    "metadata that is not declared, written": Question(
        "INSERT INTO t SELECT k, v, v FROM src", frozenset(), NO_METADATA, columns=METADATA
    ),
    "virtual metadata of a sink": Question(WRITE, SINKS, columns=f"{METADATA} VIRTUAL"),
    "computed columns": Question(WRITE, SINKS, columns="k INT NOT NULL, v STRING, c AS k + 1"),
    "watermarks": Question(
        WRITE, SINKS, columns="k INT NOT NULL, v STRING, c AS TO_TIMESTAMP(v), WATERMARK FOR c AS c"
    ),
    "sink.parallelism": Question(WRITE, SINKS, options=(("sink.parallelism", "3"),)),
    "no sink.parallelism": Question(
        WRITE, frozenset(), "Invalid value for option 'sink.parallelism' of '.*': expected an integer, found 'x'",
        options=(("sink.parallelism", "x"),),
    ),
    "scan.parallelism": Question(
        READ,
        SCANS - CAPTURES,
        f"emits changes, which requires a primary key|{NO_SCAN}",
        options=(("scan.parallelism", "3"),),
    ),
    "no scan.parallelism": Question(
        READ, frozenset(), f"Invalid value for option 'scan.parallelism' of '.*': expected an integer|{NO_SCAN}",
        options=(("scan.parallelism", "x"),),
    ),
    "unknown options": Question(
        WRITE, frozenset(), UNKNOWN, options=(("nonsense", "1"),)
    ),
    "unknown options of sources": Question(
        READ, frozenset(), f"{UNKNOWN}|{NO_SCAN}", options=(("nonsense", "1"),)
    ),
    "DELETE": Question("DELETE FROM t WHERE k = 1", frozenset(), "connector does not support DELETE", mode="batch"),
    "UPDATE": Question("UPDATE t SET v = 'a'", frozenset(), "UPDATE is not supported", mode="batch"),
    "TRUNCATE": Question("TRUNCATE TABLE t", frozenset(), "TRUNCATE TABLE is not supported", mode="batch"),
    "ANALYZE": Question(
        "ANALYZE TABLE t COMPUTE STATISTICS", frozenset(), "ANALYZE TABLE is not supported", mode="batch"
    ),
    "CALL": Question("CALL sys.compact('t')", frozenset(), "getProcedure is not implemented", mode="batch"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def nothing_is_run() -> Iterator[None]:
    with planned_only():
        yield


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_is_not_declared_is_refused(name: str) -> None:
    question, wrong = QUESTIONS[name], {}
    for connector in CONNECTORS:
        found = answer(connector, question)
        expected = None if connector in question.taken_by else question.refusal
        if question.about is not None and connector not in question.about:
            expected = NO_SOURCE if question.about is SOURCES else NO_SINK
        if (found is None) != (expected is None) or (found and not re.search(expected or "", found)):
            wrong[connector] = (found, expected)
    assert wrong == {}


def test_required_options_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for connector in CONNECTORS:
        given, question = OPTIONS[connector], QUESTIONS["insert" if connector in SINKS else "scan"]
        for option in sorted({*given} & {*required(connector)}):
            left = {key: value for key, value in given.items() if key != option}
            monkeypatch.setitem(OPTIONS, connector, left)
            assert "Missing required options" in str(answer(connector, question)), (connector, option)


def required(connector: str) -> Iterable[str]:
    table = getattr(importlib.import_module(table_connectors()[connector]), "OPTIONS", {}).get(connector)
    return () if table is None else table.required


def test_every_connector_is_asked() -> None:
    assert OPTIONS.keys() | ELSEWHERE.keys() == table_connectors().keys()
    assert not OPTIONS.keys() & ELSEWHERE.keys()
