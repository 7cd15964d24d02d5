"""Commands that query a cluster, against the REST server of a simulated one."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from firesteel.cli.cluster import JobId
from firesteel.cli.main import cli
from firesteel.client.rest_client import RestClusterClient
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.data_plane import SubtaskProgress
from tests.rest.rest_cluster import Rest
from tests.runtime.helpers import an_id, job_graph, settle


async def run(rest: Rest, *arguments: str, code: int = 0) -> Result:
    """A command, in a thread since the server is in this one's loop."""
    address = rest.server.address.removeprefix("http://")
    command = [*arguments[:1], "-m", address, *arguments[1:]]
    result = await asyncio.to_thread(CliRunner().invoke, cli, command)
    assert result.exit_code == code, result.output
    return result


async def run_json(rest: Rest, *arguments: str) -> Any:
    return json.loads((await run(rest, *arguments, "--output", "json")).stdout)


async def a_job(rest: Rest) -> str:
    job = job_graph(("count", 2, []), name="[odd] job")
    await rest.cluster.submit(job)
    await rest.cluster.advance(10)
    metrics = {"numRecordsIn": 500, "numRecordsOut": 20, "accumulateBusyTimeMs": 2500}
    progress = [SubtaskProgress(an_id("count"), index, 500, 20, False, metrics) for index in range(2)]
    rest.cluster.query.listener.subtasks_progressed(progress)
    await settle()
    return str(job.job_id)


async def test_status_shows_a_job(rest: Rest) -> None:
    job_id = await a_job(rest)
    text = (await run(rest, "status", job_id)).stdout
    assert text.startswith(f"Job [odd] job ({job_id}) is RUNNING; started ")
    assert "  count (2): 2 RUNNING, 1000 records in, 40 out, busy 5.0 s" in text
    assert (await run_json(rest, "status", job_id))["jid"] == job_id
    assert "not found" in (await run(rest, "status", "0" * 32, code=1)).stderr


async def test_status_says_how_often_and_why_a_job_has_restarted(rest: Rest) -> None:
    job = job_graph(("source", 1, []), name="job")
    job.configuration["restart-strategy.type"] = "fixed-delay"
    await rest.cluster.submit(job)
    failure = TaskFailure("ValueError: bad", operator_name="Map", subtask_index=0, parallelism=2)
    traceback = '  File "job.py", line 7, in parse\n    raise ValueError("bad")\nValueError: bad\n'
    await rest.cluster.fail_query(replace(failure, user_location="job.py:7 in parse", user_traceback=traceback))
    rest.cluster.clock.advance(2)
    await settle()
    text = (await run(rest, "status", job.job_id)).stdout
    end = (
        "Restarts: 1; the last failure: operator 'Map' (subtask 1/2) failed: ValueError: bad\n  at job.py:7 in parse\n"
    )
    assert text.endswith(end)  # once, without the traceback
    assert (await run_json(rest, "status", job.job_id))["restarts"] == 1
    config = await rest.get(f"/jobs/{job.job_id}/config")
    assert config["execution-config"]["restart-strategy"].startswith("Restart with fixed delay (PT1S).")


async def test_what_a_job_has_printed_is_shown(rest: Rest) -> None:
    job_id = await a_job(rest)
    rest.cluster.data_plane.printed[job_id] = "1> a\n2> b\n"
    assert (await run(rest, "logs", "--stdout", job_id)).stdout == "1> a\n2> b\n"
    assert await run_json(rest, "logs", "--stdout", job_id) == {"stdout": "1> a\n2> b\n"}
    assert await rest.get(f"/firesteel/jobs/{job_id}/stdout?offset=5") == {"offset": 5, "text": "2> b\n"}
    assert "there is no job" in (await run(rest, "logs", "--stdout", "0" * 32, code=1)).stderr
    assert "not both" in (await run(rest, "logs", "--stdout", job_id, "--taskmanager", "tm", code=2)).stderr


async def test_the_shell_completes_ids_of_jobs(rest: Rest) -> None:
    job_id = await a_job(rest)
    context = click.Context(click.Command("status"))
    context.params["address"] = rest.server.address.removeprefix("http://")
    complete = JobId().shell_complete
    found = await asyncio.to_thread(complete, context, click.Argument(["job_id"]), job_id[:3])
    assert [(item.value, item.help) for item in found] == [(job_id, "[odd] job, RUNNING")]
    context.params["address"] = "localhost:1"
    assert await asyncio.to_thread(complete, context, click.Argument(["job_id"]), "") == []


async def test_top_shows_rates_and_busy_times_of_vertices(rest: Rest) -> None:
    job_id = await a_job(rest)
    text = (await run(rest, "top", "--once")).stdout
    assert "1 job running, 0 of 2 slots free, 1 TaskManager" in text
    assert f"[odd] job {job_id}" in text
    assert re.search(r"count +│ RUNNING +│ +2 +│ +100 +│ +4 +│ +25%", text), text
    frame = await run_json(rest, "top", "--once")
    (vertex,) = frame["jobs"][0]["vertices"]
    assert (vertex["records-in"], vertex["records-out"], vertex["busy"]) == (100, 4, 0.25)
    assert "needs a terminal" in (await run(rest, "top", code=2)).stderr


async def test_logs_are_printed_and_followed(rest: Rest, tmp_path: Path) -> None:
    log = tmp_path / "jobmanager.log"
    assert (await run(rest, "logs")).stdout == "started\n"
    assert (await run(rest, "logs", "--taskmanager", "tm")).stdout == "started\n"
    assert await run_json(rest, "logs") == {"log": "started\n"}
    assert "Could not find TaskExecutor nobody" in (await run(rest, "logs", "--taskmanager", "nobody", code=1)).stderr
    await run(rest, "logs", "-f", "--output", "json", code=2)
    client = RestClusterClient(rest.server.address)
    path = "/jobmanager/log"
    assert await asyncio.to_thread(client.text, path, len("started\n")) == b""
    with log.open("a") as file:
        file.write("more\n")
    assert await asyncio.to_thread(client.text, path, len("started\n")) == b"more\n"
    log.unlink()
    assert "the JobManager logs to its terminal" in (await run(rest, "logs", code=1)).stderr


async def test_a_checkpoint_may_coincide_with_the_end_of_the_job(rest: Rest) -> None:
    job_id = await a_job(rest)
    assert (await run(rest, "checkpoint", job_id)).stdout == f"Checkpoint(CONFIGURED) 1 for job {job_id} completed.\n"
    assert await run_json(rest, "checkpoint", "--full", job_id) == {
        "job-id": job_id,
        "checkpoint-id": 2,
        "type": "FULL",
    }
    assert [job["jid"] for job in await run_json(rest, "list")] == [job_id]
    assert await run_json(rest, "cancel", job_id) == {"job-id": job_id}
    assert "there is no job" in (await run(rest, "checkpoint", "0" * 32, code=1)).stderr


async def test_control_characters_are_shown_escaped(rest: Rest, tmp_path: Path) -> None:
    name = "\x1b]0;title\x07\x9b2Jodd\u202ename\r\nnext"
    shown = r"\x1b]0;title\x07\x9b2Jodd\u202ename\r\nnext"
    job_id = await rest.cluster.submit(job_graph((name, 2, []), name=name))
    await rest.cluster.advance(10)
    (tmp_path / "jobmanager.log").write_bytes(f"{name}: begun\n".encode())
    for command in (["list"], ["status", job_id], ["top", "--once"]):
        text = (await run(rest, *command)).stdout
        assert (command, name in text, shown in text) == (command, False, True)
        assert not set("\x1b\x07\x9b\u202e\r").intersection(text)
    assert (await run(rest, "logs")).stdout == shown.replace(r"\n", "\n") + ": begun\n"
    assert (await run_json(rest, "list"))[0]["name"] == name


@pytest.mark.parametrize(
    ("shell", "sign"), [("bash", "complete -o nosort"), ("zsh", "#compdef"), ("fish", "complete --no-files")]
)
def test_shells_complete(shell: str, sign: str) -> None:
    result = CliRunner().invoke(cli, ["completion", shell])
    assert (result.exit_code, sign in result.stdout) == (0, True)
    complete = CliRunner().invoke(
        cli,
        prog_name="firesteel",
        env={"_FIRESTEEL_COMPLETE": "bash_complete", "COMP_WORDS": "firesteel che", "COMP_CWORD": "1"},
    )
    assert complete.stdout == "plain,check\nplain,checkpoint\n"


def test_info_prints_the_plan_of_a_program(tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(
        "from firesteel.datastream import StreamExecutionEnvironment as E\n"
        "env = E.get_execution_environment()\n"
        "env.from_collection([1, 2]).map(lambda n: n).name('same').print()\n"
        "env.execute()\n"
    )
    text = CliRunner().invoke(cli, ["info", "-p", "3", str(program)]).stdout
    assert text.startswith("----------------------- Execution Plan -----------------------\n{")
    plan = json.loads(CliRunner().invoke(cli, ["info", "--output", "json", "-p", "3", str(program)]).stdout)
    assert [(node["pact"], node["parallelism"]) for node in plan["nodes"]][1] == ("Operator", 3)
