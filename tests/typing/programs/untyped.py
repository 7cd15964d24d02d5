"""A program without annotations, in which nothing may be flagged."""

from __future__ import annotations

from typing import Any, assert_type

from firesteel.common import Types
from firesteel.datastream import DataStream, MapFunction, OutputTag, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor


class Double(MapFunction[Any, Any]):
    def map(self, value: Any) -> Any:
        return value * 2


def main(env: StreamExecutionEnvironment) -> None:
    anything: DataStream[Any] = env.from_collection([1, "a"])
    assert_type(anything.map(Double()), DataStream[Any])
    assert_type(anything.map(Double(), Types.PICKLED_BYTE_ARRAY()), DataStream[Any])
    anything.key_by(lambda value: value[0]).sum(1).union(anything).print()
    late = OutputTag("late")
    assert_type(anything.get_side_output(late), DataStream[Any])
    assert_type(ValueStateDescriptor("any", Types.PICKLED_BYTE_ARRAY()), ValueStateDescriptor[Any])
