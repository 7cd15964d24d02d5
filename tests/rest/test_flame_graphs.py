"""Flame graphs over REST, from runners whose samples are known."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from firesteel.runtime.taskexecutor.stack_samples import StackRequest, SubtaskStacks
from tests.rest.rest_cluster import Rest
from tests.rest.test_server import running
from tests.runtime.helpers import an_id

FRAMES = (("job.parse", "job.py", 3), ("operator 'Map'", "", 0), ("json.loads", "json.py", 9))
ON = {"rest.flamegraph.enabled": "true", "rest.flamegraph.num-samples": "2"}


def sampled(rest: Rest) -> list[StackRequest]:
    """Let the TaskExecutor have two samples of each subtask, one of them on a processor; return what is asked for."""
    asked: list[StackRequest] = []
    stacks = tuple(
        SubtaskStacks(an_id("b"), "b", index, (FRAMES, FRAMES[:1]), ((0, True), (1, False))) for index in range(2)
    )

    async def sample(request: StackRequest) -> tuple[SubtaskStacks, ...]:
        asked.append(request)
        return stacks

    for runner in rest.cluster.runners.values():
        runner.sample_stacks = sample  # type: ignore[method-assign]
    return asked


async def graph(rest: Rest, path: str) -> Any:
    async with asyncio.timeout(10):
        while (found := await rest.get(path))["endTimestamp"] == -3:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return found


@pytest.mark.parametrize(
    ("query", "values"),
    [("", [4, 4, 2]), ("?type=on_cpu", [2, 2, 2]), ("?type=OFF_CPU&subtaskindex=1", [1, 1])],
)
async def test_a_flame_graph_counts_the_samples_of_each_call(
    make_rest: Callable[..., Any], query: str, values: list[int]
) -> None:
    rest = await make_rest(**ON)
    path = f"/jobs/{await running(rest)}/vertices/{an_id('b')}/flamegraph"
    asked = sampled(rest)
    assert await rest.get(path) == {"endTimestamp": -3}
    found = await graph(rest, path + query)
    assert found["endTimestamp"] > 0
    node, counted, names = found["data"], [], []
    while node is not None:
        counted.append(node["value"])
        names.append(node["name"])
        node = next(iter(node["children"]), None)
    assert counted[: len(values)] == values
    assert names[:4] == ["root", "job.parse:3", "operator 'Map'", "json.loads:9"][: len(names)]
    await rest.get(path)
    assert [request.samples for request in asked] == [2]  # a second look samples nothing anew


async def test_states_without_samples_and_wrong_requests(make_rest: Callable[..., Any]) -> None:
    rest = await make_rest(**ON)
    job_id = await running(rest)
    path = f"/jobs/{job_id}/vertices/{an_id('b')}/flamegraph"
    for query, status in (("type=half", 400), ("subtaskindex=x", 400), ("subtaskindex=7", 404)):
        assert (query, (await rest.call("GET", f"{path}?{query}"))[0]) == (query, status)
    await rest.cluster.finish_query()
    rest.forget()
    assert await rest.get(path) == {"endTimestamp": -1}


async def test_it_is_off_by_default(rest: Rest) -> None:
    path = f"/jobs/{await running(rest)}/vertices/{an_id('b')}/flamegraph"
    assert await rest.get(path) == {"endTimestamp": -2}
