"""Access to the Java objects of PyFlink raises an error that names the alternative."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.common.java_objects import NoJavaObjectError
from firesteel.common.serialization import SimpleStringSchema
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import SinkFunction


def objects() -> list[tuple[Any, str, str]]:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([1])
    return [
        (env, "_j_stream_execution_environment", "use the methods of StreamExecutionEnvironment, and env.get_conf"),
        (env.get_checkpoint_config(), "_j_checkpoint_config", "use the methods of CheckpointConfig"),
        (env.get_config(), "_j_execution_config", "use the methods of ExecutionConfig"),
        (stream, "_j_data_stream", "use the methods of DataStream"),
        (stream.key_by(str).count_window(2), "_j_windowed_stream", "use the Python API"),
        (stream.print(), "_j_data_stream_sink", "use the Python API"),
        (Configuration(), "_j_configuration", "use the methods of Configuration"),
        (Types.INT(), "get_java_type_info", "use Types to declare types"),
        (SimpleStringSchema(), "_j_deserialization_schema", "use the Python API"),
        (NumberSequenceSource(1, 2), "get_java_function", "give the source or sink itself to from_source()"),
        (SinkFunction(), "_j_function", "derive from SourceFunction's or SinkFunction's successors"),
        (WatermarkStrategy.no_watermarks(), "_j_watermark_strategy", "use the methods of WatermarkStrategy"),
    ]


def test_access_to_java_objects_suggests_a_replacement() -> None:
    for value, name, advice in objects():
        with pytest.raises(NoJavaObjectError) as caught:
            getattr(value, name)
        assert str(caught.value).startswith(
            f"{type(value).__name__}.{name}: there is no Java object behind it; {advice}"
        )
        assert not hasattr(value, name)


def test_other_names_are_missing_as_usual() -> None:
    with pytest.raises(AttributeError, match="'StreamExecutionEnvironment' object has no attribute 'from_colection'"):
        StreamExecutionEnvironment.get_execution_environment().from_colection  # type: ignore[attr-defined]  # noqa: B018
    for value in (Types.INT(), SimpleStringSchema(), NumberSequenceSource(1, 2)):
        assert type(pickle.loads(pickle.dumps(copy.deepcopy(value)))) is type(value)
