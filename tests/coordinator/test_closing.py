"""What the JobManager's process keeps open for connectors is closed when a run ends; the table names who keeps what."""

from __future__ import annotations

import importlib
import logging
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import firesteel
from firesteel.common import Types, WatermarkStrategy
from firesteel.coordinator.source_splits import SourceSplits
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.functions.connector_base import Committer
from firesteel.functions.source_reading import SourceEnumerator
from firesteel.operators.sinks.committers import Committers
from firesteel.testing import run_local

CLOSED = {"KafkaEnumerator", "KafkaOffsetsCommitter", "KafkaCommitter", "MySqlCdcEnumerator", "CdcEnumerator"}
NOTHING_OPEN = {
    "CaptureEnumerator": "what it needs its subclasses open",
    "FileEnumerator": "lists files",
    "JdbcEnumerator": "its queries are given",
    "KinesisEnumerator": "calls of HTTP, whose connections end with the client",
    "ListedSplits": "asks the source",
    "_OneSplit": "one split",
    "_Parts": "computes its splits",
    "_Queries": "its queries are given",
    "_Subtasks": "reads the metadata of a savepoint",
    "_Whole": "one split",
    "DeltaCommitter": "a call of the library per commit",
    "FileCommitter": "renames files",
    "IcebergCommitter": "a call of the catalog per commit",
    "JdbcCommitter": "a connection per commit",
    "OverwritingCommitter": "renames files",
    "SlotCommitter": "a connection per commit",
    "SparkCommitter": "a call of Spark per commit",
    "TableCommitter": "a connection per commit",
    "TableFileCommitter": "renames files",
}


def _subclasses(of: type) -> Iterator[type]:
    for one in of.__subclasses__():
        yield one
        yield from _subclasses(one)


def test_each_enumerator_and_committer_is_in_the_table() -> None:
    for module in pkgutil.walk_packages(firesteel.__path__, "firesteel."):
        if ".connectors" in module.name or ".operators." in module.name:
            importlib.import_module(module.name)
    found = {
        one.__name__: one.close not in (SourceEnumerator.close, Committer.close)
        for base in (SourceEnumerator, Committer)
        for one in _subclasses(base)
        if one.__module__.startswith("firesteel.")
    }
    assert found == {**dict.fromkeys(CLOSED, True), **dict.fromkeys(NOTHING_OPEN, False)}


class _Closed:
    def __init__(self, error: BaseException | None = None) -> None:
        self.times, self.error = 0, error

    def close(self) -> None:
        self.times += 1
        if self.error is not None:
            raise self.error


def _splits(*enumerators: Any) -> SourceSplits:
    splits = SourceSplits(NumberSequenceSource(0, 1), 1)
    splits._enumerators = list(enumerators)
    return splits


def _committers(*committers: Any) -> Committers:
    graph = StreamExecutionEnvironment.get_execution_environment()
    graph.from_collection([1], Types.INT()).print()
    made = Committers(graph.get_stream_graph().get_job_graph(), {})
    made._made = {str(number): committer for number, committer in enumerate(committers)}
    return made


@pytest.mark.parametrize("of", [_splits, _committers])
@pytest.mark.parametrize("error", [OSError("gone"), SystemExit(3)])
def test_one_that_cannot_be_closed_is_logged_and_the_others_are_closed(
    of: Any, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    wrong, right = _Closed(error), _Closed()
    with caplog.at_level(logging.WARNING):
        of(wrong, right).close()
    assert (wrong.times, right.times) == (1, 1)
    assert f"could not be closed: {type(error).__name__}: {error}" in caplog.text


def test_a_local_run_closes_enumerators(monkeypatch: Any) -> None:
    closed: list[object] = []
    monkeypatch.setattr(SourceEnumerator, "close", lambda enumerator: closed.append(enumerator))
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.from_source(NumberSequenceSource(0, 1), WatermarkStrategy.no_watermarks(), "n", Types.LONG())
    numbers.print()
    run_local(env)
    assert len(closed) == 1
