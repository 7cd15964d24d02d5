"""Names of PyFlink 1, and their translation to the present API."""

from __future__ import annotations

import inspect
import logging
import subprocess
import sys
import textwrap

import pytest

from firesteel.common import Encoder, ExecutionConfig, RestartStrategies
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.checkpoint_config import CheckpointConfig
from firesteel.datastream.checkpoint_storage import JobManagerCheckpointStorage
from firesteel.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from firesteel.pyflink1 import (
    checkpoint_settings,
    java_serializers,
    removed,
    restart_strategies,
    state_backends,
    time_characteristic,
)
from firesteel.pyflink1.names import REMOVED
from firesteel.pyflink1.string_encoder import SimpleStringEncoder
from firesteel.pyflink1.time_characteristic import TimeCharacteristic


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def run(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    code = "from firesteel.compat import alias_pyflink; alias_pyflink()\n" + textwrap.dedent(program)
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_names_exist_only_with_the_alias():
    code = "from firesteel.datastream import StreamExecutionEnvironment as E; print(hasattr(E, 'set_state_backend'))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_the_alias_preserves_the_module_paths_of_pyflink():
    done = run(
        """
        import importlib, pyflink
        from firesteel.pyflink1.names import REMOVED, owner_of
        for removed in REMOVED:
            for place in removed.places:
                assert getattr(owner_of(place), removed.name) is removed.value, (place, removed.name)
        from pyflink.common.serialization import JsonRowDeserializationSchema, SimpleStringEncoder
        from pyflink.datastream import FsStateBackend, TimeCharacteristic, ExternalizedCheckpointCleanup
        from pyflink.table import *
        BatchTableEnvironment, CsvTableSource, TableEnvironment
        """
    )
    assert done.returncode == 0, done.stderr


def test_a_replacement_is_suggested_once_per_name(caplog):
    removed.note.cache_clear()
    with caplog.at_level(logging.WARNING):
        SimpleStringEncoder()
        SimpleStringEncoder()
    expected = "SimpleStringEncoder is from PyFlink 1 and was removed; use Encoder.simple_string_encoder()"
    assert [record.getMessage() for record in caplog.records] == [expected]


def test_every_name_says_what_takes_its_place():
    assert all(one.instead for one in REMOVED)


@pytest.mark.parametrize(
    ("characteristic", "milliseconds"), [(TimeCharacteristic.EventTime, 200), (TimeCharacteristic.ProcessingTime, 0)]
)
def test_the_time_characteristic_is_the_interval_of_watermarks(env, characteristic, milliseconds):
    time_characteristic.set_stream_time_characteristic(env, characteristic)
    assert env.get_config().get_auto_watermark_interval() == milliseconds
    assert time_characteristic.get_stream_time_characteristic(env) is characteristic


@pytest.mark.parametrize(
    "call",
    [
        lambda env: time_characteristic.set_stream_time_characteristic(env, "EventTime"),
        lambda env: state_backends.set_state_backend(env, None),
        lambda env: restart_strategies.set_restart_strategy(env, None),
        lambda env: checkpoint_settings.set_checkpoint_storage(env.get_checkpoint_config(), "file:///c"),
    ],
)
def test_values_of_other_classes_are_refused(env, call):
    with pytest.raises(TypeError, match=r"set_\w+\(\) takes an? \w+; found "):
        call(env)


def test_ingestion_time_is_refused(env):
    with pytest.raises(NotImplementedError, match=r"use WatermarkStrategy\.for_monotonous_timestamps"):
        time_characteristic.set_stream_time_characteristic(env, TimeCharacteristic.IngestionTime)


@pytest.mark.parametrize(
    ("backend", "options"),
    [
        (
            state_backends.MemoryStateBackend(1000),
            {"state.backend.type": "hashmap", "execution.checkpointing.storage": "jobmanager"},
        ),
        (
            state_backends.FsStateBackend("file:///c", "file:///s"),
            {
                "state.backend.type": "hashmap",
                "execution.checkpointing.dir": "file:///c",
                "execution.checkpointing.savepoint-dir": "file:///s",
            },
        ),
        (
            state_backends.RocksDBStateBackend("file:///c", True),
            {
                "state.backend.type": "rocksdb",
                "execution.checkpointing.dir": "file:///c",
                "execution.checkpointing.incremental": "true",
            },
        ),
        (
            state_backends.RocksDBStateBackend(checkpoint_stream_backend=state_backends.FsStateBackend("file:///c")),
            {"state.backend.type": "rocksdb", "execution.checkpointing.dir": "file:///c"},
        ),
    ],
)
def test_a_state_backend_is_options(env, backend, options):
    assert state_backends.set_state_backend(env, backend) is env
    found = env.get_configuration().to_dict()
    assert {key: found.get(key) for key in options} == options


def test_a_restart_strategy_is_options(env):
    restart_strategies.set_restart_strategy(env, RestartStrategies.fixed_delay_restart(3, 1000))
    assert env.get_configuration().to_dict()["restart-strategy.fixed-delay.attempts"] == "3"


def test_a_restart_strategy_of_the_execution_config_is_options(env):
    config: ExecutionConfig = env.get_config()
    restart_strategies.set_restart_strategy_of_config(config, RestartStrategies.no_restart())
    assert env.get_configuration().to_dict()["restart-strategy.type"] == "disable"


def test_serializers_of_java_are_taken_and_have_no_effect(env, caplog):
    removed.note.cache_clear()
    config = env.get_config()
    for one in java_serializers.REMOVED:
        names = list(inspect.signature(one.value).parameters)[1:]
        found = one.value(config, *("com.example.Class" for _ in names))
        assert found is (False if one.name.startswith("is_") else config)
    assert len(caplog.records) == len(java_serializers.REMOVED)


@pytest.mark.parametrize("name", ["enable_externalized_checkpoints", "set_externalized_checkpoint_cleanup"])
def test_externalized_checkpoints_have_another_name(name):
    config = CheckpointConfig()
    getattr(checkpoint_settings, name)(config, ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    kept = checkpoint_settings.get_externalized_checkpoint_cleanup(config)
    assert kept is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION


def test_the_storage_of_checkpoints_is_options(env):
    config = env.get_checkpoint_config()
    checkpoint_settings.set_checkpoint_storage(config, JobManagerCheckpointStorage())
    assert env.get_configuration().to_dict()["execution.checkpointing.storage"] == "jobmanager"
    checkpoint_settings.set_checkpoint_storage_dir(config, "file:///c")
    assert env.get_configuration().to_dict()["execution.checkpointing.dir"] == "file:///c"


def test_the_simple_string_encoder_is_an_encoder():
    assert isinstance(SimpleStringEncoder("utf-16"), Encoder)
    assert SimpleStringEncoder().encode("a") == b"a\n"


def test_a_program_of_pyflink_1_runs(tmp_path):
    (tmp_path / "in.txt").write_text("a b\nb\n")
    program = """
    import sys
    from pyflink.common.serialization import SimpleStringEncoder
    from pyflink.common.typeinfo import Types
    from pyflink.datastream import StreamExecutionEnvironment, TimeCharacteristic, MemoryStateBackend
    from pyflink.datastream.connectors import StreamingFileSink
    from firesteel.testing import run_local
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_stream_time_characteristic(TimeCharacteristic.EventTime)
    env.set_state_backend(MemoryStateBackend())
    words = env.read_text_file(sys.argv[1]).flat_map(lambda line: line.split(), Types.STRING())
    words.write_as_text(sys.argv[2])
    words.add_sink(StreamingFileSink.for_row_format(sys.argv[3], SimpleStringEncoder()).build())
    words.collect_async()
    print(sorted(run_local(env, default_parallelism=1).elements))
    """
    done = run(program, tmp_path / "in.txt", tmp_path / "text", tmp_path / "streaming")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['a', 'b', 'b']\n"
    assert "read_text_file() is from PyFlink 1 and was removed; use from_source()" in done.stderr
    for directory in ("text", "streaming"):
        files = [path.read_text() for path in (tmp_path / directory).rglob("part-*")]
        assert files == ["a\nb\nb\n"]
