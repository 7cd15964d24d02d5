"""Sources of options, and warnings about unknown ones."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from firesteel import cli
from firesteel.cli.arguments import cluster_configuration, option_flags, warn_of_unread
from firesteel.cli.history import historyserver
from firesteel.common.options.option_readers import Reader

pytestmark = pytest.mark.slow

CONFIG = """\
parallelism:
  default: 2
rest:
  port: 8090
  bind-domain: localhost
my.own: 1
spark.anything: 2
"""


def test_unknown_options_are_named_with_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG)
    monkeypatch.setenv("FIRESTEEL_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("FIRESTEEL_PROPERTIES", "rest.port: 8091\nrest.bind-things: 1")
    found = cluster_configuration(None, {"rest.port": "8092"})
    assert found["rest.port"] == "8092"
    assert (found["parallelism.default"], found["rest.bind-domain"]) == ("2", "localhost")
    assert capsys.readouterr().err.splitlines() == [
        f"Warning: {tmp_path}/config.yaml, line 5: there is no option 'rest.bind-domain'; did you mean "
        "'rest.bind-port'?",
        "Warning: FIRESTEEL_PROPERTIES, line 2: there is no option 'rest.bind-things'; did you mean 'rest.bind-port'?",
    ]


REFUSED = [
    ("paralelism.default", "3", "there is no option 'paralelism.default'; did you mean 'parallelism.default'?"),
    ("heartbeat.timeout", "soon", "option 'heartbeat.timeout': 'soon' is not a duration"),
    ("security.ssl.provider", "OPENSSL", "option 'security.ssl.provider' is not supported here: TLS is Python's"),
]


@pytest.mark.parametrize(("option", "value", "message"), REFUSED)
def test_flags_that_cannot_have_their_effect_are_refused(option: str, value: str, message: str) -> None:
    @click.command()
    @option_flags
    def command(options: dict[str, str]) -> None:
        raise AssertionError(options)

    result = CliRunner().invoke(command, ["-D", f"{option}={value}"])
    assert result.exit_code == 2
    assert f"Error: -D: {message}" in result.stderr


@pytest.mark.parametrize(("option", "value", "message"), REFUSED)
def test_lines_of_a_file_that_cannot_have_their_effect_are_refused(
    option: str, value: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"rest.port: 8081\n{option}: {value}")
    with pytest.raises(click.UsageError) as caught:
        cluster_configuration(path, {})
    assert f"{path}, line 2: {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("restart-strategy.type: off", "off"),
        ("table.local-time-zone: +10:00", "+10:00"),
        ("parallelism.default: 010", "10"),
        ("parallelism.default: 0x10", "16"),
        ("pipeline.name: 1:30", "1:30"),
        ("pipeline.name: 1_0", "1_0"),
        ("pipeline.name: 2024-01-01T00:00:00", "2024-01-01T00:00:00"),
        ("pipeline.object-reuse: True", "true"),
        ("pipeline.jars: [on, 'true', True]", "on;true;true"),
    ],
)
def test_a_file_is_read_as_yaml_1_2(line: str, value: str, tmp_path: Path) -> None:
    """Checked with `GlobalConfiguration.loadConfiguration` of Flink 2.3."""
    path = tmp_path / "config.yaml"
    path.write_text(line)
    assert list(cluster_configuration(path, {}).values()) == [value]


def test_an_option_without_a_value_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text("rest.port: 8081\nrest:\n  address:\n")
    with pytest.raises(click.UsageError, match=r"line 3: option 'rest\.address' has no value"):
        cluster_configuration(path, {})


OF_JOBS, OF_CLUSTERS = "pipeline.name", "taskmanager.slot.timeout"


@pytest.mark.parametrize(
    ("settings", "readers", "unread"),
    [
        ({}, [Reader.CLUSTER], OF_JOBS),
        ({}, [Reader.JOB], None),
        ({"execution.target": "local"}, [Reader.JOB, Reader.GATEWAY], None),
        ({"execution.target": "remote"}, [Reader.JOB], OF_CLUSTERS),
    ],
)
def test_flags_that_nobody_reads_are_named(
    settings: dict[str, str], readers: list[Reader], unread: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    warn_of_unread({OF_JOBS: "job", OF_CLUSTERS: "1 min"}, settings, *readers)
    said = capsys.readouterr().err
    assert said.startswith(f"Warning: -D: {unread} has no effect here: it is read by ") if unread else said == ""


def test_a_command_names_what_it_does_not_read() -> None:
    said = CliRunner().invoke(historyserver, ["-D", "pipeline.name=job"]).stderr
    assert "Warning: -D: pipeline.name has no effect here: it is read by jobs" in said


def test_each_command_with_flags_names_what_nobody_reads() -> None:
    modules = {path.stem: path.read_text() for path in Path(cli.__file__).parent.glob("*.py")}
    with_flags = {name for name, text in modules.items() if "option_flags" in text} - {"arguments", "program_options"}
    assert {"jobmanager", "sql", "sql_gateway", "history"} <= with_flags
    assert {name for name in (*with_flags, "run") if "warn_of_unread(" not in modules[name]} == set()
