from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.cli.arguments import cluster_configuration
from firesteel.common import Configuration
from firesteel.common.options.deprecated_keys import deprecated_keys, with_current_keys
from firesteel.common.options.known_options import known_options
from firesteel.common.options.state_options import STATE_BACKEND
from firesteel.datastream import StreamExecutionEnvironment


def configured(**options: str) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(Configuration.from_dict({key.replace("__", "."): value for key, value in options.items()}))
    return env


def test_deprecated_keys_are_known_options() -> None:
    assert len(deprecated_keys()) > 100
    assert set(deprecated_keys()) <= known_options()


@pytest.mark.parametrize(
    ("old", "current"),
    [
        ("state.checkpoints.dir", "execution.checkpointing.dir"),
        ("state.savepoints.dir", "execution.checkpointing.savepoint-dir"),
        ("state.backend", "state.backend.type"),
        ("restart-strategy", "restart-strategy.type"),
        ("high-availability", "high-availability.type"),
        ("execution.savepoint.path", "execution.state-recovery.path"),
    ],
)
def test_a_value_under_a_deprecated_key_is_honoured(old: str, current: str) -> None:
    assert with_current_keys({old: "x"})[current] == "x"
    assert with_current_keys({old: "x", current: "y"})[current] == "y"


def test_configure_honours_deprecated_keys_in_the_environment_and_its_job() -> None:
    env = configured(**{"pipeline__operator-chaining": "false", "execution__buffer-timeout": "7 ms"})
    assert not env.is_chaining_enabled()
    assert env.get_buffer_timeout() == 7
    env.get_configuration().set_string("state.checkpoints.dir", "/checkpoints")
    env.from_collection([1]).print()
    job_graph = env.get_stream_graph().get_job_graph()
    assert job_graph.configuration["execution.checkpointing.dir"] == "/checkpoints"


def test_configure_replaces_what_was_set_before() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_buffer_timeout(20)
    env.configure(Configuration.from_dict({"execution.buffer-timeout": "7 ms"}))
    assert env.get_buffer_timeout() == 7


def test_an_option_of_the_command_line_wins_over_a_file_whatever_its_key(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("execution.checkpointing.dir: /of-the-file\n")
    options = cluster_configuration(config, {"state.checkpoints.dir": "/of-the-command"})
    assert options["execution.checkpointing.dir"] == "/of-the-command"


@pytest.mark.parametrize(
    ("value", "backend"),
    [
        ("RocksDB", "rocksdb"),
        ("filesystem", "hashmap"),
        ("org.apache.flink.contrib.streaming.state.EmbeddedRocksDBStateBackendFactory", "rocksdb"),
        ("org.apache.flink.runtime.state.hashmap.HashMapStateBackendFactory", "hashmap"),
    ],
)
def test_backends_may_be_named_by_their_classes(value: str, backend: str) -> None:
    assert STATE_BACKEND.of(with_current_keys({"state.backend": value})) == backend
