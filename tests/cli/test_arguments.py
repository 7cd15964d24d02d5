"""Sources of options, and warnings about unknown ones."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from firesteel.cli.arguments import cluster_configuration, option_flags

CONFIG = """\
parallelism:
  default: 2
rest:
  port: 8090
  bind-adress: localhost
my.own: 1
spark.anything: 2
"""


def test_misspelt_options_are_named_with_their_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG)
    monkeypatch.setenv("FIRESTEEL_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("FIRESTEEL_PROPERTIES", "rest.port: 8091\nrest.pot: 1")
    found = cluster_configuration(None, {"rest.port": "8092"})
    assert found["rest.port"] == "8092"
    assert (found["parallelism.default"], found["rest.bind-adress"]) == ("2", "localhost")
    assert capsys.readouterr().err.splitlines() == [
        f"Warning: {tmp_path}/config.yaml, line 5: there is no option 'rest.bind-adress'; did you mean "
        "'rest.bind-address'?",
        "Warning: FIRESTEEL_PROPERTIES, line 2: there is no option 'rest.pot'; did you mean 'rest.port'?",
    ]


def test_misspelt_flags_cause_a_warning() -> None:
    @click.command()
    @option_flags
    def command(options: dict[str, str]) -> None:
        click.echo(str(options))

    result = CliRunner().invoke(command, ["-D", "paralelism.default=3"])
    assert result.stdout == "{'paralelism.default': '3'}\n"
    assert result.stderr == (
        "Warning: -D: there is no option 'paralelism.default'; did you mean 'parallelism.default'?\n"
    )
