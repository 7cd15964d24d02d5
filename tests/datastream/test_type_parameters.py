"""Type parameters are for type checkers: at run time nothing depends on them."""

from __future__ import annotations

import pickle
from typing import Any

import cloudpickle
import pytest

from firesteel.common import Types
from firesteel.common.typeinfo import ListTypeInfo, TypeInformation
from firesteel.datastream import MapFunction, OutputTag
from firesteel.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

WRITTEN_BEFORE_THE_SPLIT = (
    b"ccopy_reg\n_reconstructor\np0\n(cfiresteel.common.typeinfo\nTupleTypeInfo\np1\nc__builtin__\nobject\np2\nNtp3\n"
    b"Rp4\n(dp5\nV_field_types\np6\n(lp7\ng0\n(cfiresteel.common.typeinfo\nBasicTypeInfo\np8\ng2\nNtp9\nRp10\n(dp11\n"
    b"V_basic_type\np12\ncfiresteel.common.typeinfo\nBasicType\np13\n(VString\np14\ntp15\nRp16\nsbag0\n"
    b"(cfiresteel.common.typeinfo\nListTypeInfo\np17\ng2\nNtp18\nRp19\n(dp20\nV_element_type\np21\ng0\n"
    b"(cfiresteel.common.typeinfo\nDateTypeInfo\np22\ng2\nNtp23\nRp24\nsbasb."
)
"""`Types.TUPLE([Types.STRING(), Types.LIST(Types.SQL_DATE())])`, when `typeinfo` was one module."""


@pytest.mark.parametrize(
    ("with_parameters", "without"),
    [
        (ValueStateDescriptor[int]("n", Types.INT()), ValueStateDescriptor("n", Types.INT())),
        (ListStateDescriptor[int]("n", Types.INT()), ListStateDescriptor("n", Types.INT())),
        (
            MapStateDescriptor[int, int]("n", Types.INT(), Types.INT()),
            MapStateDescriptor("n", Types.INT(), Types.INT()),
        ),
        (ReducingStateDescriptor[int]("n", max, Types.INT()), ReducingStateDescriptor("n", max, Types.INT())),
        (ListTypeInfo[int](Types.INT()), Types.LIST(Types.INT())),
        (OutputTag[int]("n", Types.INT()), OutputTag("n", Types.INT())),
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_made_with_and_without_parameters_are_equal(with_parameters: Any, without: Any) -> None:
    assert with_parameters == without
    assert hash(with_parameters) == hash(without)
    assert pickle.loads(pickle.dumps(with_parameters)) == without


def test_descriptors_of_different_types_differ() -> None:
    assert ValueStateDescriptor[int]("n", Types.INT()) != ValueStateDescriptor[int]("n", Types.LONG())


def test_pickled_types_of_earlier_versions_load() -> None:
    loaded: TypeInformation[Any] = pickle.loads(WRITTEN_BEFORE_THE_SPLIT)
    assert loaded == Types.TUPLE([Types.STRING(), Types.LIST(Types.SQL_DATE())])


def test_functions_with_and_without_parameters_are_pickled() -> None:
    class Plain(MapFunction):
        def map(self, value):
            return value + 1

    class Typed(MapFunction[int, int]):
        def map(self, value: int) -> int:
            return value + 1

    for function in (Plain(), Typed()):
        assert pickle.loads(cloudpickle.dumps(function)).map(1) == 2
