"""Look-ups of state over REST, from runners whose state is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.graph.hashing import uid_hash
from firesteel.rest import state_handlers
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest
from tests.rest.rest_cluster import Rest
from tests.runtime.helpers import settle

VALUES = {"1": 10, "2": None, "3": {"n": 1}}


def serving(rest: Rest, *problems: tuple[str, str]) -> list[StateRequest]:
    """Let two slots have the values, the first of which answers with problems before; return what is asked for."""
    asked: list[StateRequest] = []
    pending = list(problems)

    async def look_up(request: StateRequest) -> tuple[StateAnswer, ...]:
        asked.append(request)
        if pending:
            return (StateAnswer(-1, (), (), *pending.pop(0)),)
        owned: list[list[int]] = [[], []]
        for index, key in enumerate(request.keys):
            owned[len(str(key)) % 2].append(index)
        return tuple(
            StateAnswer(
                7 + slot,
                tuple(
                    (index, VALUES[str(request.keys[index])]) for index in own if VALUES.get(str(request.keys[index]))
                ),
                tuple(index for index in own if not VALUES.get(str(request.keys[index]))),
                "",
                "",
            )
            for slot, own in enumerate(owned)
        )

    for runner in rest.cluster.runners.values():
        runner.look_up_state = look_up
    return asked


async def running(rest: Rest) -> tuple[str, str]:
    """Run a job with an operator `counter`, and return their ids."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    numbers = env.from_collection([1], Types.INT()).key_by(lambda n: n, Types.INT())
    numbers.reduce(max).uid("counter").print()
    job = env.get_stream_graph().get_job_graph()
    await rest.cluster.submit(job)
    await settle()
    return job.job_id, uid_hash("counter").hex()


async def test_keys_of_all_slots_are_put_together(rest: Rest) -> None:
    job_id, operator = await running(rest)
    asked = serving(rest, ("not running", ""), ("no operator", ""))
    body = {"uidHash": operator, "state": "count", "keys": [1, "22", 3, 2]}
    status, answer = await rest.call("POST", f"/firesteel/jobs/{job_id}/state", json=body)
    assert (status, answer) == (
        200,
        {
            "operator": operator,
            "state": "count",
            "values": [
                {"key": 1, "value": 10, "batch": 8},
                {"key": "22", "value": None, "batch": 7},
                {"key": 3, "value": {"n": 1}, "batch": 8},
                {"key": 2, "value": None, "batch": 8},
            ],
        },
    )
    assert len(asked) == 3  # the subtask started meanwhile
    assert (asked[0].operator_id, asked[0].state, asked[0].keys) == (operator, "count", (1, "22", 3, 2))
    one = await rest.get(f"/firesteel/jobs/{job_id}/state?uidHash={operator}&state=count&key=3")
    assert one["values"] == [{"key": 3, "value": {"n": 1}, "batch": 8}]
    text = await rest.get(f"/firesteel/jobs/{job_id}/state?uidHash={operator}&state=count&key=a+b")
    assert text["values"] == [{"key": "a b", "value": None, "batch": 8}]


@pytest.mark.parametrize(
    ("problem", "status", "message"),
    [
        (("no state", "'a', 'b'"), 404, "has no keyed state 'count'; it has 'a', 'b'"),
        (("wrong key", "the key 1 is wrong"), 400, "the key 1 is wrong"),
        (("no json", "values of X cannot"), 400, "values of X cannot"),
    ],
)
async def test_problems_of_slots_are_told(rest: Rest, problem: tuple[str, str], status: int, message: str) -> None:
    job_id, operator = await running(rest)
    serving(rest, problem)
    found = await rest.call("GET", f"/firesteel/jobs/{job_id}/state?uidHash={operator}&state=count&key=1")
    assert found[0] == status
    assert message in found[1]["errors"][0]


async def test_wrong_requests_are_refused(make_rest: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rest = await make_rest()
    job_id, operator = await running(rest)
    path = f"/firesteel/jobs/{job_id}/state"
    for query, status, message in (
        ("state=s&key=1", 400, "either uid or uidHash must be given"),
        (f"uid=a&uidHash={operator}&state=s&key=1", 400, "either uid or uidHash"),
        ("uid=nothing&state=s&key=1", 404, "has no operator 'nothing'; its vertices and operators: "),
        (f"uidHash={operator}&key=1", 400, "state must be given"),
        (f"uidHash={operator}&state=s", 400, "key must be given"),
    ):
        found = await rest.call("GET", f"{path}?{query}")
        assert (query, found[0]) == (query, status)
        assert message in found[1]["errors"][0]
    found = await rest.call("POST", path, json={"uidHash": operator, "state": "s", "keys": {"a": 1}})
    assert (found[0], found[1]["errors"][0]) == (400, "keys is {'a': 1}, expected an array")
    assert (await rest.call("GET", f"/firesteel/jobs/{'0' * 32}/state?uid=a&state=s&key=1"))[0] == 404
    monkeypatch.setattr(state_handlers, "_PATIENCE_S", 0.0)  # its slots answer nothing
    found = await rest.call("GET", f"{path}?uidHash={operator}&state=s&key=1")
    assert (found[0], "does not run now" in found[1]["errors"][0]) == (503, True)
    await rest.cluster.finish_query()
    rest.forget()
    found = await rest.call("GET", f"{path}?uidHash={operator}&state=s&key=1")
    assert (found[0], "only the state of running jobs" in found[1]["errors"][0]) == (409, True)


async def test_whoever_may_see_the_job_may_read_its_state(make_rest: Callable[..., Any]) -> None:
    view, submit = "v" * 32, "s" * 32
    rest = await make_rest(**{"security.rest.token.view": view, "security.rest.token.submit": submit})
    path = f"/firesteel/jobs/{'0' * 32}/state?uid=a&state=s&key=1"
    assert (await rest.call("GET", path))[0] == 401
    for token in (view, submit):
        assert (await rest.call("GET", path, headers={"Authorization": f"Bearer {token}"}))[0] == 404
