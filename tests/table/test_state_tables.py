"""The connector `state`: its options, and its values; tests/cli/test_state_of_jobs.py reads a running job."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal
from typing import Any

import pytest

from firesteel.columns import column_types as t
from firesteel.columns.values import to_arrow
from firesteel.connectors.state.cells import cell_reader
from firesteel.connectors.state.client import RunningState, StateReadError
from firesteel.connectors.state.table import StateFinder
from firesteel.table.errors import ValidationException
from tests.table.environments import environment

COLUMNS = "k BIGINT, v STRING, PRIMARY KEY (k) NOT ENFORCED"


def create(t_env: Any, columns: str = COLUMNS, **options: str | None) -> None:
    declared = {"connector": "state", "job": "j", "uid": "u", "state": "s", **options}
    shown = ", ".join(f"'{key}' = '{value}'" for key, value in declared.items() if value is not None)
    t_env.execute_sql(f"CREATE TABLE state ({columns}) WITH ({shown})")


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (COLUMNS, {"job": None}, r"Missing required options are:\s+job"),
        (COLUMNS, {"uid": None}, "Either 'uid' or 'uid.hash' must be set, found none of them"),
        (COLUMNS, {"uid.hash": "0" * 32}, "must be set, found ..uid., .uid.hash.."),
        (COLUMNS, {"other": "1"}, r"Unsupported options:\s+other"),
        ("k BIGINT, v STRING", {}, "needs the key of the operator in one column, .* the key none"),
        ("k BIGINT, v STRING, w INT, PRIMARY KEY (k) NOT ENFORCED", {}, "the value in another one, found the columns"),
        ("k BIGINT, v STRING, m INT METADATA, PRIMARY KEY (k) NOT ENFORCED", {}, "metadata"),
    ],
)
def test_what_a_table_needs_is_said(columns: str, options: dict[str, str | None], message: str) -> None:
    t_env = environment("batch")
    create(t_env, columns, **options)
    with pytest.raises(ValidationException, match=message):
        t_env.explain_sql("SELECT * FROM state")


def test_a_table_cannot_be_written() -> None:
    t_env = environment("batch")
    create(t_env)
    with pytest.raises(ValidationException, match="'state' can only be used as a source"):
        t_env.explain_sql("INSERT INTO state VALUES (1, 'a')")


@pytest.mark.parametrize(
    ("data_type", "shown", "cell"),
    [
        (t.VarCharType(10), "a", "a"),
        (t.BooleanType(), True, True),
        (t.BigIntType(), 7, 7),
        (t.DoubleType(), "Infinity", float("inf")),
        (t.DoubleType(), 1, 1.0),
        (t.DecimalType(4, 2), "1.50", Decimal("1.50")),
        (t.DateType(), "2026-11-27", datetime.date(2026, 11, 27)),
        (t.TimeType(), "04:05:06", datetime.time(4, 5, 6)),
        (t.TimestampType(3), "2026-11-27T04:05:06", datetime.datetime(2026, 11, 27, 4, 5, 6)),
        (
            t.LocalZonedTimestampType(3),
            "2026-11-27T04:05:06Z",
            datetime.datetime(2026, 11, 27, 4, 5, 6, tzinfo=datetime.UTC),
        ),
        (t.VarBinaryType(10), "AP8=", b"\x00\xff"),
        (t.ArrayType(t.IntType()), [1, None], [1, None]),
        (t.MapType(t.VarCharType(9), t.IntType()), [["a", 1]], [("a", 1)]),
        (t.RowType([t.RowField("n", t.IntType()), t.RowField("s", t.VarCharType(9))]), [1, "x"], {"n": 1, "s": "x"}),
        (t.RowType([t.RowField("n", t.IntType())]), {"n": 1, "more": 2}, {"n": 1}),
    ],
    ids=lambda one: str(one)[:30],
)
def test_values_become_cells(data_type: t.DataType, shown: Any, cell: Any) -> None:
    read = cell_reader(data_type, "the value")
    assert to_arrow([read(shown), read(None)], data_type).to_pylist() == [cell, None]


@pytest.mark.parametrize(
    ("data_type", "shown"),
    [
        (t.VarCharType(9), 1),
        (t.BigIntType(), "1"),
        (t.BigIntType(), True),
        (t.DecimalType(4, 2), "x"),
        (t.ArrayType(t.IntType()), 1),
        (t.MapType(t.IntType(), t.IntType()), [[1]]),
        (t.RowType([t.RowField("n", t.IntType())]), [1, 2]),
        (t.DateType(), "today"),
    ],
    ids=lambda one: str(one)[:30],
)
def test_a_value_of_another_type_is_named(data_type: t.DataType, shown: Any) -> None:
    with pytest.raises(StateReadError, match=r"the value is .*, which is no value of its column of type"):
        cell_reader(data_type, "the value")(shown)


class Known(RunningState):
    """A state of a job that is not there."""

    def values(self, keys: Any) -> list[Any]:
        return [{1: "one", 2: "two"}.get(key) for key in keys]


def test_a_lookup_finds_the_rows_that_fit_its_whole_condition() -> None:
    known = Known("127.0.0.1:1", None, "j", {"uid": "u"}, "s")
    finder = StateFinder(known, ("v", "k"), (t.VarCharType(9), t.BigIntType()), "k", ("k",))
    assert finder.find([(1,), (3,)]) == [[("one", 1)], []]
    finder = StateFinder(known, ("v", "k"), (t.VarCharType(9), t.BigIntType()), "k", ("v", "k"))
    assert finder.find([("one", 1), ("one", 2)]) == [[("one", 1)], []]


def test_only_the_cluster_of_the_session_gets_the_token_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str | None] = []
    monkeypatch.setenv("FIRESTEEL_REST_TOKEN", "secret")
    monkeypatch.setattr(
        "firesteel.connectors.state.client.RestClusterClient", lambda address, token, _: given.append(token)
    )
    for token, is_own in ((None, True), (None, False), ("own", False)):
        state = RunningState("https://h:1", token, "j", {"uid": "u"}, "s", {}, is_own)
        _ = pickle.loads(pickle.dumps(state))._client
    assert given == ["secret", None, "own"]
