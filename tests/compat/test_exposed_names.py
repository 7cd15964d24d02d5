"""Names of PyFlink's modules beyond `__all__`, and placeholders for those that firesteel lacks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parent.parent.parent / "src"


def run(program: str) -> subprocess.CompletedProcess[str]:
    code = "from firesteel.compat import alias_pyflink; alias_pyflink()\n" + program
    environment = {"PYTHONPATH": os.pathsep.join([str(SOURCE), *sys.path]), "PATH": ""}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)


def test_every_name_of_the_table_is_there():
    done = run(
        """
import importlib, pyflink
from firesteel.compat.exposed_names import exposed_names
for place, origin, names in exposed_names():
    module = importlib.import_module("pyflink." + place)
    for name in names:
        getattr(module, name)
"""
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "program",
    [
        "from pyflink.datastream.connectors import FileSink, FileSource, StreamFormat, OutputFileConfig, RollingPolicy",
        "from pyflink.datastream.connectors import BucketAssigner, StreamingFileSink, NumberSequenceSource",
        "from pyflink.datastream.connectors import JdbcSink, JdbcConnectionOptions, JdbcExecutionOptions",
        "from pyflink.common import JsonRowDeserializationSchema, CsvRowSerializationSchema",
        "from pyflink.datastream.window import Time as a; from pyflink.common import Time as b; assert a is b",
        "from pyflink.datastream.state import Time",
        "from pyflink.datastream.connectors.kafka import DeliveryGuarantee, KafkaSource, SinkFunction, Types",
        "from pyflink.datastream.connectors.pulsar import DeliveryGuarantee as a; "
        "from pyflink.datastream.connectors.base import DeliveryGuarantee as b; assert a is b",
        "from pyflink.datastream.functions import KEY, W, IN, OUT, ValueStateDescriptor",
        "from pyflink.datastream import functions; assert functions.W and functions.MapState",
        "from pyflink.datastream.window import T, Generic",
        "from pyflink.datastream.data_stream import RuntimeContext, Row, SinkFunction, WatermarkStrategy, MapFunction",
        "from pyflink.table.table_environment import Schema, DataStream; from pyflink.table.table import TableResult",
        "from pyflink.table.catalog import Schema as a; from pyflink.table import Schema as b; assert a is b",
    ],
)
def test_names_that_pyflink_sets_or_imports_for_itself(program):
    done = run(program)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "program",
    [
        "import pyflink.table",
        "from pyflink import table",
        "from pyflink.table import StreamTableEnvironment, EnvironmentSettings",
        "from pyflink.table.expressions import col",
        "from pyflink.table import DataTypes; from pyflink.datastream.formats.csv import CsvSchema; "
        "CsvSchema.builder().add_number_column('a', DataTypes.INT()).build()",
        "from pyflink.datastream.connectors import RMQSource, rabbitmq",
        "from pyflink.datastream.connectors.pulsar import PulsarSource",
        "from pyflink.datastream.connectors.pulsar import PulsarSource\n"
        "def f(t: PulsarSource | None, ts: list[PulsarSource[int]]) -> 'PulsarSource': ...",
        "from pyflink.datastream.connectors.pulsar import PulsarSource as P\nimport pickle; "
        "pickle.loads(pickle.dumps(P))",
        "from pyflink.datastream.connectors.pulsar import PulsarSource; assert not isinstance(1, PulsarSource)",
    ],
)
def test_an_unused_import_of_a_missing_name_is_allowed(program):
    done = run(program)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (
            "from pyflink.datastream.connectors.rabbitmq import RMQSource; RMQSource()",
            "pyflink.datastream.connectors.rabbitmq.RMQSource is not available in firesteel: there is no connector",
        ),
        (
            "from pyflink.datastream.connectors.pulsar import PulsarSource\nclass Mine(PulsarSource): ...",
            "pulsar.PulsarSource is not available",
        ),
        ("from pyflink.datastream.connectors import RMQSource; RMQSource()", "there is no connector for RabbitMQ"),
        ("from pyflink.java_gateway import get_gateway; get_gateway()", "there is no Java process of Flink"),
    ],
)
def test_using_a_missing_name_suggests_an_alternative(program, says):
    error = run(program).stderr.splitlines()[-1]
    assert error.startswith("NotImplementedError: ")
    assert says in error


def test_names_that_pyflink_does_not_have_can_not_be_imported():
    done = run("from pyflink.datastream.connectors.pulsar import PulsarSauce")
    assert "ImportError: cannot import name 'PulsarSauce'" in done.stderr
