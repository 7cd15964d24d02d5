from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from types import SimpleNamespace

import pytest

from firesteel.common import Row, RowKind, Types
from firesteel.common.values.collection_input import collection_coercer
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.errors import TypeMismatchError

NAMED = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])


@dataclass
class Person:
    name: str
    age: int


@pytest.mark.parametrize(
    ("value", "type_info", "expected"),
    [
        (Person("a", 1), NAMED, Row(name="a", age=1)),
        (SimpleNamespace(name="a"), NAMED, Row(name="a", age=None)),
        ({"age": 1, "other": 2}, NAMED, Row(name=None, age=1)),
        ((7, 1), NAMED, Row(name="7", age=1)),
        ([Person("a", 1)], Types.LIST(NAMED), [Row(name="a", age=1)]),
        ((Person("a", 1), 2), Types.TUPLE([NAMED, Types.INT()]), (Row(name="a", age=1), 2)),
        (Person("a", 1), Types.MAP(Types.STRING(), Types.STRING()), {"name": "a", "age": "1"}),
        ({1: True}, Types.MAP(Types.STRING(), Types.STRING()), {"1": "true"}),
        (1, Types.STRING(), "1"),
        (True, Types.STRING(), "true"),
        (1e10, Types.STRING(), "1.0E10"),
        (Decimal("1.50"), Types.STRING(), "1.50"),
        ([1, None, "a"], Types.STRING(), "[1, null, a]"),
        ({"a": [False]}, Types.STRING(), "{a=[false]}"),
        (None, Types.STRING(), None),
        (None, NAMED, None),
        ([1, 2], Types.OBJECT_ARRAY(Types.STRING()), ["1", "2"]),
    ],
)
def test_a_collection_takes_what_pyflink_takes(value, type_info, expected):
    assert collection_coercer(type_info)(value) == expected


def test_the_kind_and_names_of_a_row_stay():
    given = Row.of_kind(RowKind.DELETE, 1, 2)
    given.set_field_names(["age", "name"])
    taken = collection_coercer(NAMED)(given)
    assert (taken.get_row_kind(), taken["name"], taken["age"]) == (RowKind.DELETE, "2", 1)


@pytest.mark.parametrize(
    ("value", "type_info"),
    [("x", Types.INT()), ((1, 2, 3), NAMED), (b"x", Types.STRING()), (3, Types.MAP(Types.STRING(), Types.INT()))],
)
def test_values_that_become_null_in_pyflink_are_rejected(value, type_info):
    with pytest.raises(TypeMismatchError):
        collection_coercer(type_info)(value)


def test_from_collection_names_the_element_that_does_not_fit():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([Person("a", 1)], NAMED)
    with pytest.raises(TypeMismatchError, match=r"field \[1\].age: declared as INT"):
        env.from_collection([Person("a", 1), Person("b", "x")], NAMED)
