"""Each option has its readers, who are those in whose code it is read, and a door names what nobody behind it reads."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import firesteel
from firesteel.common.options.declared import declared_options
from firesteel.common.options.deprecated_keys import deprecated_keys
from firesteel.common.options.known_options import flink_options
from firesteel.common.options.option import Option
from firesteel.common.options.option_classes import OptionClass, class_of
from firesteel.common.options.option_readers import _PATTERNS, Reader, note_of_unread, readers_of
from firesteel.common.options.option_rule import closest
from tests.common.test_options import MODULES

SOURCE = Path(firesteel.__file__).parent
READING = {
    Reader.JOB: ("datastream", "table", "graph", "columns", "operators", "coordinator"),
    Reader.CLUSTER: ("runtime", "entrypoint"),
    Reader.GATEWAY: ("gateway",),
}
"""The packages whose processes have only the options of that reader."""


OPEN = ("spark.executor.memory", "yarn.tags", "containerized.taskmanager.env.A", "presto.s3.endpoint", "s3a.endpoint")
"""Examples of options of which there is no closed list."""


def effective() -> list[str]:
    """Return all options with an effect, by the keys that Flink and firesteel know."""
    return sorted({*declared_options(), *(key for key in flink_options() if class_of(key) is OptionClass.EFFECTIVE)})


def test_each_option_with_an_effect_has_readers() -> None:
    assert len(effective()) > 250
    assert {key for key in effective() if not readers_of(key)} == set()


def test_each_pattern_fits_an_option() -> None:
    keys = {deprecated_keys().get(key, key) for key in (*effective(), *OPEN)}
    patterns = {pattern for _, patterns in _PATTERNS for pattern in patterns.split()}
    assert patterns - {closest({pattern: pattern for pattern in patterns}, key) for key in keys} == set()


@pytest.mark.parametrize("reader", READING)
def test_an_option_has_the_readers_in_whose_code_it_stands(reader: Reader) -> None:
    keys = {name: value.key for module in MODULES for name, value in vars(module).items() if isinstance(value, Option)}
    found = {
        keys[node.id]
        for package in READING[reader]
        for path in (SOURCE / package).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Name) and node.id in keys
    }
    assert found
    assert sorted(key for key in found if reader not in readers_of(key)) == []


def test_an_option_that_nobody_knows_has_no_readers() -> None:
    with pytest.raises(KeyError, match="who reads"):
        readers_of("my.own")
    assert note_of_unread(["my.own", "taskmanager.memory.network.min"], Reader.CLUSTER) is None


@pytest.mark.parametrize(
    ("keys", "readers", "note"),
    [
        (["rest.port", "state.backend.type", "spark.executor.memory"], [Reader.CLUSTER], None),
        (["pipeline.name", "table.exec.state.ttl", "restart-strategy"], [Reader.JOB], None),
        (
            ["execution.buffer-timeout.interval", "sql-client.execution.result-mode"],
            [Reader.CLUSTER],
            "execution.buffer-timeout.interval has no effect here: it is read by jobs and the programs that submit "
            "them, a SQL gateway or client; sql-client.execution.result-mode has no effect here: it is read by a SQL "
            "gateway or client",
        ),
        (
            ["taskmanager.slot.timeout", "spark.executor.memory", "parallelism.default"],
            [Reader.JOB],
            "spark.executor.memory, taskmanager.slot.timeout have no effect here: they are read by a cluster when it "
            "starts",
        ),
        (["jobstore.expiration-time"], [Reader.CLUSTER], None),
    ],
)
def test_a_note_names_what_only_others_read(keys: list[str], readers: list[Reader], note: str | None) -> None:
    assert note_of_unread(keys, *readers) == note


@pytest.mark.parametrize(
    ("reader", "keys"),
    [
        (Reader.HISTORY_SERVER, "fs.default-scheme fs.s3a.secret.key s3.endpoint fs.azure.account.key.a"),
        (Reader.HISTORY_SERVER, "security.ssl.rest.enabled security.ssl.rest.keystore security.ssl.protocol"),
        (Reader.JOB, "security.ssl.enabled security.ssl.keystore security.ssl.protocol security.ssl.algorithms"),
        (Reader.CLUSTER, "execution.state-recovery.allow-unverified-state security.ssl.truststore"),
    ],
)
def test_what_helpers_read_is_no_unread_option(reader: Reader, keys: str) -> None:
    assert note_of_unread(keys.split(), reader) is None


def test_the_longest_pattern_counts() -> None:
    patterns = {"rest.*": 1, "rest.flamegraph.*": 2, "rest.port": 3}
    assert [closest(patterns, key) for key in ("rest.a.b", "rest.flamegraph.a", "rest.port", "rest")] == [1, 2, 3, None]
