"""Each command imports only what it needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from firesteel.cli.command_group import OptionPair
from firesteel.cli.main import cli

pytestmark = pytest.mark.slow

IMPORTED = """
import sys
from firesteel.cli.main import cli
command = cli.get_command(None, "run")
import firesteel.cli.program
slow = {"asyncio", "rich", "firesteel.client", "firesteel.rest", "firesteel.operators", "pyspark"}
print(sorted(slow & sys.modules.keys()))
"""


def test_the_jvm_starts_before_anything_slow_is_imported() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_command_is_listed_under_its_name() -> None:
    context = cli.make_context("firesteel", ["run"], resilient_parsing=True)
    for name in cli.list_commands(context):
        command = cli.get_command(context, name)
        assert command is not None
        assert command.name == name
    assert cli.get_command(context, "nope") is None


def test_an_unknown_command_is_wrong_usage() -> None:
    result = CliRunner().invoke(cli, ["nope"])
    assert result.exit_code == 2
    assert "no such command 'nope'" in result.output


def test_summaries_are_not_cut() -> None:
    text = CliRunner().invoke(cli, ["--help"]).output
    assert "..." not in text.partition("Commands:")[2]
    assert "and how to go on." in text


NAMES_A_FILE = re.compile(r"\b(FILE|PATH|DIR|DIRECTORY|PROGRAM)\b|^--?savepointPath|^(path|first|second|directory)$")


def commands_of(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands_of(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


@pytest.mark.parametrize("words", [["top", "--interval", "nan"], ["check", "--timeout", "inf", __file__]])
def test_numbers_are_finite(words: list[str]) -> None:
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert f"{words[2]} is not a finite number" in result.output


def test_options_without_effect_and_files_without_directory_are_refused() -> None:
    job = "0" * 32
    result = CliRunner().invoke(cli, ["logs", "--level", "root=DEBUG", "--taskmanager", "tm"])
    assert "--level sets levels of the JobManager, and takes no other option" in result.output
    result = CliRunner().invoke(cli, ["profile", "-o", "/nowhere/at/all.json", job])
    assert "--file '/nowhere/at/all.json': '/nowhere/at' is not a directory" in result.output


def test_the_shell_completes_whatever_names_a_file() -> None:
    found = 0
    for path, command in commands_of(cli):
        context = click.Context(command)
        for parameter in command.params:
            if NAMES_A_FILE.search(parameter.metavar or parameter.opts[-1]):
                kinds = {item.type for item in parameter.shell_complete(context, "x")}
                assert kinds & {"file", "dir"}, f"{path} {parameter.name}"
                found += 1
    assert found > 20


def test_the_shell_completes_commands_and_jobs_of_savepoints() -> None:
    complete = ShellComplete(cli, {}, "firesteel", "_FIRESTEEL_COMPLETE").get_completions
    assert [item.value for item in complete(["savepoint"], "in")] == ["inspect"]
    assert [item.type for item in complete(["run", "-q"], "job")] == ["file"]


@pytest.mark.parametrize("words", [[], ["jobmanager"], ["sql-gateway"]])
def test_the_shell_shows_the_whole_summary_of_each_command(words: list[str]) -> None:
    found = ShellComplete(cli, {}, "firesteel", "_FIRESTEEL_COMPLETE").get_completions(words, "")
    assert len(found) > 1
    assert [item.value for item in found if not item.help or not item.help.endswith((".", "]"))] == []


def test_fish_takes_summaries_with_commas() -> None:
    script = CliRunner().invoke(cli, ["completion", "fish"]).output
    assert 'string split --max 1 ","' in script, "click's script has changed"


def test_the_shell_completes_keys_of_options() -> None:
    context = click.Context(click.Command("run"))
    found = OptionPair().shell_complete(context, click.Option(["-D"]), "state.backend.t")
    assert [item.value for item in found] == ["state.backend.type="]


UNKNOWN = [
    ("rnu", "no such command 'rnu'; did you mean 'run'?"),
    ("jobmanager sart", "no such command 'sart'; did you mean 'start'?"),
    ("savepoint inspct /there", "no such command 'inspct'; did you mean 'inspect'?"),
    ("run --parallelsim 2 job.py", "no such option '--parallelsim'; did you mean '--parallelism'?"),
    ("check --statc job.py", "no such option '--statc'; did you mean '--static'?"),
    ("plan --fromat text job job.py", "no such option '--fromat'; did you mean '--format'?"),
    ("plan job --fromat text job.py", "no such option '--fromat'; did you mean '--format'?"),
    ("info --putput json job.py", "no such option '--putput'; did you mean '--output'?"),
    ("diff --putput=json old.py new.py", "no such option '--putput'; did you mean '--output'?"),
    ("upgrade --dryrun abc job.py", "no such option '--dryrun'; did you mean '--dry-run'?"),
    ("upgrade abc --dryrun job.py", "no such option '--dryrun'; did you mean '--dry-run'?"),
    ("run -p two job.py", "'two' is not a valid integer."),
    ("profile --seconds long abc", "'long' is not a valid number."),
]


@pytest.mark.parametrize(("line", "message"), UNKNOWN)
def test_the_error_of_a_misspelt_word_says_what_is_meant(line: str, message: str) -> None:
    result = CliRunner().invoke(cli, line.split())
    assert result.exit_code == 2
    assert message in result.output


def test_options_of_a_program_that_an_option_names_are_its_own(tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text("import sys\nprint(sys.argv[1:])\n")
    ran = subprocess.run(
        [sys.executable, "-m", "firesteel", "run", "-q", "-py", "job.py", "--parallelsim", "2"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "['--parallelsim', '2']\n"


def test_a_shell_takes_the_line_of_the_help_of_completion() -> None:
    text = CliRunner().invoke(cli, ["completion", "--help"]).output
    line = next(line for line in text.splitlines() if ".bashrc" in line).split(maxsplit=1)[1]
    assert line == 'eval "$(firesteel completion bash)"'
    shell = subprocess.run(
        ["bash", "-c", f"{line}; complete -p firesteel"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
    )
    assert "_firesteel_completion" in shell.stdout
