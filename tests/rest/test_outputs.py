"""`--output json` of each command: valid JSON, which has every id, path, state and number that the text shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from firesteel.cli import cluster, cluster_commands, rescale, watching
from firesteel.cli.jobmanager import SERVERS
from firesteel.cli.main import cli
from tests.rest.rest_cluster import Rest
from tests.rest.test_commands import a_job, run

TESTS = Path(__file__).parents[1]

SCENARIOS: dict[str, tuple[str, ...]] = {
    "list": ("list",),
    "status": ("status", "JOB"),
    "top": ("top", "--once"),
    "logs": ("logs",),
    "checkpoint": ("checkpoint", "JOB"),
    "savepoint take": ("savepoint", "-detached", "JOB"),
    "rescale": ("rescale", "-d", "JOB", "2"),
    "stop": ("stop", "-detached", "JOB"),
    "cancel": ("cancel", "JOB"),
}
"""A call of each command that needs nothing but a cluster."""

ELSEWHERE = {
    "run": "client/test_progress.py",
    "sql": "cli/test_sql.py",
    "sql-gateway start": "cli/sql_gateway.py",
    "sql-gateway start-foreground": "rest/test_outputs.py",  # as jobmanager start
    "sql-gateway stop": "cli/test_sql_gateway.py",
    "check": "migration/test_trial.py",
    "info": "rest/test_commands.py",
    "savepoint inspect": "state_processor/test_state_processor.py",
    "savepoint diff": "state_processor/test_state_processor.py",
    "profile": "cli/test_profile.py",
    "upgrade": "cli/test_upgrade.py",
    "diff": "cli/test_diff.py",
    "jobmanager start": "cli/test_jobmanager.py",
    "jobmanager status": "cli/test_jobmanager.py",
    "jobmanager stop": "cli/test_jobmanager.py",
}
"""The tests of commands that need more: a program, a savepoint, or processes."""

FACTS = re.compile(r"[0-9a-f]{32}|(?<!\w)/[\w./-]+|\b[A-Z]{4,}\b|\b\d+\b")
TIMES = re.compile(r"\d\d\.\d\d\.\d{4} \d\d:\d\d:\d\d|[\d.]+ s\b")
"""Texts show times of day and durations, JSON has milliseconds."""


def with_json(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[str]:
    """The commands that take `--output json`."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from with_json(command, (*path, name))
        elif any("--output" in one.opts and "json" in getattr(one.type, "choices", ()) for one in command.params):
            yield " ".join((*path, name))


def leaves(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield str(key)
            yield from leaves(value)
    elif isinstance(data, list):
        for value in data:
            yield from leaves(value)
    else:
        yield str(data)


def test_each_command_with_json_is_tested() -> None:
    assert sorted(with_json(cli)) == sorted([*SCENARIOS, *ELSEWHERE])
    for command, test in ELSEWHERE.items():
        text = (TESTS / test).read_text()
        assert re.search(r"\bjson\b", text), command


@pytest.mark.parametrize("command", SCENARIOS)
async def test_the_text_shows_nothing_that_json_lacks(
    command: str, rest: Rest, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = await a_job(rest)
    shown: list[tuple[Any, str]] = []
    for module in (cluster, cluster_commands, rescale, watching):
        monkeypatch.setattr(module, "show", lambda output, data, text: shown.append((data, text)))
    await run(rest, *(job_id if one == "JOB" else one for one in SCENARIOS[command]))
    ((data, text),) = shown
    found = " ".join(leaves(json.loads(json.dumps(data))))
    facts = FACTS.findall(TIMES.sub("", text))
    assert facts or command == "logs"
    assert [fact for fact in facts if fact not in found] == []


def test_a_server_in_the_foreground_says_where_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "jobmanager-1.json"
    state.write_text(json.dumps({"pid": 7, "address": "http://127.0.0.1:1", "started": 5}))
    SERVERS.announce(state, "text")
    assert capsys.readouterr() == ("", "JobManager is ready at http://127.0.0.1:1\n")
    SERVERS.announce(state, "json")
    assert json.loads(capsys.readouterr().out) == {"pid": 7, "address": "http://127.0.0.1:1"}
