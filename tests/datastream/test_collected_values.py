"""Results of `execute_and_collect`: the values that PyFlink 2.3 returned for the same programs."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from firesteel.common import Instant, Row, RowKind, TypeInformation, Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.streams.collected_values import collected
from firesteel.testing import run_local

FLOAT = 1.100000023841858
TIME = datetime.time(12, 0, 0, 123000)


@pytest.mark.parametrize(
    ("type_info", "value", "expected"),
    [
        (Types.FLOAT(), FLOAT, 1.1),
        (Types.FLOAT(), 3.4028234663852886e38, 3.4028235e38),
        (Types.FLOAT(), float("inf"), float("inf")),
        (Types.SQL_TIME(), TIME, datetime.time(12, 0)),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"fl\xff", [102, 108, -1]),
        (Types.PRIMITIVE_ARRAY(Types.FLOAT()), [FLOAT], [1.1]),
        (Types.BASIC_ARRAY(Types.FLOAT()), [FLOAT, None], [1.1, None]),
        (Types.LIST(Types.FLOAT()), [FLOAT], [1.1]),
        (Types.MAP(Types.STRING(), Types.FLOAT()), {"a": FLOAT}, {"a": 1.1}),
        (Types.TUPLE([Types.FLOAT(), Types.STRING()]), (FLOAT, None), (1.1, None)),
        (Types.TUPLE([Types.LIST(Types.SQL_TIME())]), ([TIME],), ([datetime.time(12, 0)],)),
        (Types.ROW_NAMED(["x"], [Types.ROW([Types.FLOAT()])]), Row(Row(FLOAT)), Row(x=Row(f0=1.1))),
    ],
)
def test_collected_values_are_those_of_pyflink(type_info: TypeInformation, value: Any, expected: Any) -> None:
    convert = collected(type_info)
    assert convert is not None
    assert convert(value) == expected
    assert convert(None) is None


@pytest.mark.parametrize(
    "type_info",
    [
        None,
        Types.PICKLED_BYTE_ARRAY(),
        Types.DOUBLE(),
        Types.SQL_TIMESTAMP(),
        Types.INSTANT(),
        Types.ROW([Types.STRING(), Types.LIST(Types.INT())]),
        Types.MAP(Types.STRING(), Types.PRIMITIVE_ARRAY(Types.INT())),
    ],
)
def test_most_values_are_collected_as_they_are(type_info: TypeInformation | None) -> None:
    assert collected(type_info) is None


def test_a_collected_row_keeps_its_kind() -> None:
    convert = collected(Types.ROW([Types.FLOAT()]))
    assert convert is not None
    row = convert(Row.of_kind(RowKind.DELETE, FLOAT))
    assert (row.get_row_kind(), row.as_dict()) == (RowKind.DELETE, {"f0": 1.1})


def test_keys_of_a_keyed_stream_are_collected() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    pairs = env.from_collection([("a", 1), ("b", 2), ("a", 3)], Types.TUPLE([Types.STRING(), Types.INT()]))
    pairs.key_by(lambda pair: pair[0], Types.STRING()).collect_async()
    names = [node.name for node in env.get_stream_graph().nodes.values()]
    assert "_keyed_stream_values_operator" not in names
    rows = sorted(run_local(env).elements, key=str)
    assert rows == [Row(f0="a", f1=("a", 1)), Row(f0="a", f1=("a", 3)), Row(f0="b", f1=("b", 2))]


def test_keys_of_any_type_are_collected_unchanged() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1.5], Types.DOUBLE()).key_by(lambda number: (Instant(1, 2), [number])).collect_async()
    (row,) = run_local(env).elements
    assert row.f0 == (Instant(1, 2), [1.5])
