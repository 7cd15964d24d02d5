"""Objects of users: the API takes instances of its base classes only, and what user methods return gets defaults."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable, Iterator
from enum import Enum
from typing import Any

import pytest

import firesteel.datastream.connectors
from firesteel.common import Types
from firesteel.common.serialization import Encoder, SimpleStringSchema
from firesteel.connectors.files.sink import FileCompactor, FileCompactStrategy, FileSink, StreamingFileSink
from firesteel.connectors.files.source import FileSource, StreamFormat
from firesteel.connectors.kafka.records import KafkaRecordSerializationSchema
from firesteel.connectors.kafka.sink import KafkaSink
from firesteel.connectors.kafka.source import KafkaSource
from firesteel.connectors.kinesis.sink import KinesisFirehoseSink, KinesisStreamsSink
from firesteel.connectors.kinesis.source import FlinkKinesisConsumer
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import CommitRequest, Committer, Sink, SinkWriter
from firesteel.datastream.connectors.dynamic_kafka import DynamicKafkaSource
from firesteel.datastream.connectors.elasticsearch import Elasticsearch6SinkBuilder, Elasticsearch7SinkBuilder
from firesteel.datastream.connectors.hybrid_source import HybridSource
from firesteel.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSource
from firesteel.operators.completed import REQUIRED, completed
from firesteel.testing import run_local


class Other:
    """Derives from no class of the API."""


MADE_BY_USERS = ("Flink", "HybridSourceBuilder")
"""The beginnings of the names of classes whose constructors users call; other classes have builders."""

BUILT_IN_PARAMETERS = ("settings", "context", "builder", "remote", "is_of")
"""Parameters that built-in code passes."""

NOT_USED = {
    "FlinkKinesisConsumer.set_shard_assigner",
    "FlinkKinesisConsumer.set_watermark_tracker",
    "FlinkKinesisConsumer.set_periodic_watermark_assigner",
}
"""Methods that ignore their argument with a warning, or refuse any."""

ENCODER, SCHEMA = Encoder.simple_string_encoder(), SimpleStringSchema()
STRATEGY = FileCompactStrategy.builder().enable_compaction_on_checkpoint(1).build()
FILES = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/in")
ROW = Types.ROW([Types.INT()])
JDBC = (
    JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:sqlite:/a").with_driver_name("sqlite").build()
)
ARGUMENTS: dict[str, Any] = {
    "encoder": ENCODER,
    "strategy": STRATEGY,
    "compactor": FileCompactor.identical_file_compactor(),
    "config_props": {"aws.region": "eu-west-1"},
    "deserializer": SCHEMA,
    "type_info": ROW,
    "row_type": ROW,
    "connection_options": JDBC,
    "jdbc_connection_options": JDBC,
    "sql": "INSERT INTO t VALUES (?)",
    "properties": {},
    "producer_config": {},
}
"""Valid arguments by the name of the parameter; `x` for others."""

BUILDERS: dict[str, Callable[[], Any]] = {
    "DynamicKafkaSourceBuilder": DynamicKafkaSource.builder,
    "ElasticsearchSinkBuilderBase": Elasticsearch7SinkBuilder,
    "Elasticsearch6SinkBuilder": Elasticsearch6SinkBuilder,
    "Elasticsearch7SinkBuilder": Elasticsearch7SinkBuilder,
    "_Builder": lambda: FileSink.for_row_format("/out", ENCODER),
    "FileSink.BaseBuilder": lambda: FileSink.for_row_format("/out", ENCODER),
    "StreamingFileSink.BaseBuilder": lambda: StreamingFileSink.for_row_format("/out", ENCODER),
    "FileSourceBuilder": lambda: FILES,
    "HybridSourceBuilder": lambda: HybridSource.builder(FILES.build()),
    "JdbcSourceBuilder": JdbcSource.builder,
    "KafkaRecordSerializationSchemaBuilder": KafkaRecordSerializationSchema.builder,
    "KafkaSinkBuilder": KafkaSink.builder,
    "KafkaSourceBuilder": KafkaSource.builder,
    "KinesisStreamsSinkBuilder": KinesisStreamsSink.builder,
    "KinesisFirehoseSinkBuilder": KinesisFirehoseSink.builder,
    "_AwsSinkBuilder": KinesisStreamsSink.builder,
    "FlinkKinesisConsumer": lambda: FlinkKinesisConsumer("x", SCHEMA, ARGUMENTS["config_props"]),
}
"""Objects with the methods of a class; other classes have methods with the decorator `staticmethod`."""


def classes_of(holder: Any, module: str) -> Iterator[type]:
    for found in vars(holder).values():
        if inspect.isclass(found) and found.__module__ == module:
            yield found
            yield from classes_of(found, module)


def parameters() -> Iterator[tuple[type, str, str]]:
    """Yield class, method and parameter for each object of a class of the API that users pass to a connector."""
    for info in pkgutil.iter_modules(firesteel.datastream.connectors.__path__):
        module = importlib.import_module(f"firesteel.datastream.connectors.{info.name}")
        for owner in classes_of(module, module.__name__):
            if owner.__name__.endswith("Database"):
                continue  # of built-in connectors
            is_made = owner.__name__.startswith(MADE_BY_USERS)
            for name, member in vars(owner).items():
                function = getattr(member, "__func__", member)
                if inspect.isfunction(function) and (not name.startswith("_") or (name == "__init__" and is_made)):
                    for parameter in inspect.signature(function).parameters.values():
                        if parameter.name not in BUILT_IN_PARAMETERS and names_own_class(parameter, module):
                            yield owner, name, parameter.name


def names_own_class(parameter: inspect.Parameter, module: Any) -> bool:
    """Return whether a parameter is annotated with a class of the API that is no enumeration."""
    names = (part.split("[")[0].strip() for part in str(parameter.annotation).split("|"))
    kinds = [kind for name in names if inspect.isclass(kind := getattr(module, name, None))]
    return any(kind.__module__.startswith("firesteel") and not issubclass(kind, Enum) for kind in kinds)


@pytest.mark.parametrize(
    ("owner", "method", "parameter"),
    [found for found in parameters() if f"{found[0].__qualname__}.{found[1]}" not in NOT_USED],
    ids=lambda one: one.__qualname__ if inspect.isclass(one) else one,
)
def test_connectors_refuse_objects_of_other_classes(owner: type, method: str, parameter: str) -> None:
    is_static = isinstance(vars(owner)[method], staticmethod)
    call: Any = (
        owner if method == "__init__" else getattr(owner if is_static else BUILDERS[owner.__qualname__](), method)
    )
    arguments = {
        name: ARGUMENTS.get(name, "x")
        for name, one in inspect.signature(call).parameters.items()
        if one.default is one.empty and one.kind is not one.VAR_POSITIONAL
    }
    with pytest.raises((TypeError, NotImplementedError), match=r"found .*Other|Java"):
        call(**{**arguments, parameter: Other()})


WRITTEN: list[Any] = []


class Writer:
    def write(self, element: Any, timestamp: int | None) -> None:
        WRITTEN.append(element)

    def prepare_commit(self) -> list[Any]:
        return [len(WRITTEN)]


class Publisher:
    def commit(self, requests: list[CommitRequest]) -> None:
        WRITTEN.append([request.committable for request in requests])


class PublishingSink(Sink[Any]):
    def create_writer(self, context: Any) -> Any:
        return Writer()

    def create_committer(self) -> Any:
        return Publisher()


def test_writers_and_committers_of_other_classes_work() -> None:
    WRITTEN.clear()
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_collection([1, 2], Types.LONG()).sink_to(PublishingSink())
    run_local(env)
    assert WRITTEN == [1, 2, [2]]


DEFAULT_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "write": (1, None),
    "write_all": ([], None),
    "flush": (True,),
    "write_watermark": (1,),
    "begin_after": ([],),
    "restore_state": (None,),
    "configure": ({},),
    "check": ([],),
    "commit": ([],),
}


@pytest.mark.parametrize("kind", REQUIRED, ids=lambda kind: kind.__name__)
def test_every_member_of_a_base_class_has_a_default(kind: type) -> None:
    made = type("Made", (), {REQUIRED[kind]: lambda self, *arguments: "own"})()
    found = completed(made, kind, test_every_member_of_a_base_class_has_a_default)
    derived = type("Derived", (kind,), {REQUIRED[kind]: lambda self, *arguments: "own"})()
    for name, member in vars(kind).items():
        if not name.startswith("_"):
            values = [
                getattr(one, name)(*DEFAULT_ARGUMENTS.get(name, ()))
                if inspect.isfunction(member)
                else getattr(one, name)
                for one in (found, derived)
            ]
            assert values[0] == values[1], name


@pytest.mark.parametrize(("kind", "call"), [(SinkWriter, "create_writer"), (Committer, "create_committer")])
@pytest.mark.parametrize("made", [None, Other()])
def test_what_lacks_the_required_method_is_refused(kind: type, call: str, made: Any) -> None:
    message = rf"PublishingSink.{call}\(\) must return a {kind.__name__}, or an object with the method"
    with pytest.raises(TypeError, match=message):
        completed(made, kind, getattr(PublishingSink(), call))


def test_a_completed_object_can_be_pickled() -> None:
    copy = pickle.loads(pickle.dumps(completed(Publisher(), Committer, PublishingSink.create_committer)))
    assert copy.check([]) is None
