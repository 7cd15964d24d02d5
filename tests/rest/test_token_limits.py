"""Jobs, connections and results per token."""

from __future__ import annotations

import asyncio
import base64
import pickle
from collections.abc import Callable
from typing import Any

import aiohttp
import cloudpickle
import pytest

from firesteel.rest.rest_errors import RestError
from firesteel.rest.token_limits import TokenLimits
from tests.rest.rest_cluster import AS_THIS_USER, Rest
from tests.runtime.helpers import an_id, job_graph

ONE, OTHER = "one-token-of-the-team", "the-token-of-another"
TOKENS = {"security.rest.token.submit": ONE, "security.rest.token.admin": OTHER}


def as_(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def submitted(rest: Rest, name: str, headers: dict[str, str]) -> int:
    form = aiohttp.FormData()
    form.add_field("request", '{"executionPlanFileName": "job"}', content_type="application/json")
    graph = cloudpickle.dumps(job_graph(("a", 1, []), name=name))
    form.add_field("file_0", graph, filename="job", content_type="application/octet-stream")
    return (await rest.call("POST", "/jobs", data=form, headers=headers))[0]


async def test_a_token_has_no_more_jobs_than_its_limit(make_rest: Callable[..., Any]) -> None:
    rest: Rest = await make_rest(**TOKENS, **{"security.rest.token-limit.jobs": "1"})
    assert [await submitted(rest, name, as_(ONE)) for name in ("first", "second")] == [202, 429]
    assert await submitted(rest, "third", as_(OTHER)) == 202
    together = await asyncio.gather(*(submitted(rest, name, as_(ONE)) for name in ("x", "y")))
    assert together == [429, 429]
    assert await submitted(rest, "fourth", AS_THIS_USER) == 202
    assert await submitted(rest, "fifth", AS_THIS_USER) == 202  # the JobManager's own user has no limit
    await rest.cluster.gateway.cancel_job(an_id("first"))
    async with asyncio.timeout(10):
        while await submitted(rest, "second", as_(ONE)) == 429:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_a_token_has_no_more_connections_at_work_than_its_limit(make_rest: Callable[..., Any]) -> None:
    rest: Rest = await make_rest(**TOKENS, **{"security.rest.token-limit.connections": "1"})
    begun, may_end = asyncio.Event(), asyncio.Event()
    overview = rest.view.dispatcher

    async def slowly() -> Any:
        begun.set()
        await may_end.wait()
        return await overview()

    rest.view.dispatcher = slowly
    waiting = asyncio.create_task(rest.call("GET", "/jobs", headers=as_(ONE)))
    await begun.wait()
    status, body = await rest.call("GET", "/config", headers=as_(ONE))
    assert (status, body["errors"]) == (
        429,
        ["1 requests of this token are being served (security.rest.token-limit.connections); try again"],
    )
    assert (await rest.call("GET", "/config", headers=as_(OTHER)))[0] == 200
    may_end.set()
    assert (await waiting)[0] == 200
    assert (await rest.call("GET", "/config", headers=as_(ONE)))[0] == 200


async def test_a_token_gets_no_more_results_in_a_minute_than_its_limit(make_rest: Callable[..., Any]) -> None:
    rest: Rest = await make_rest(**TOKENS, **{"security.rest.token-limit.result-bytes": "100 b"})
    assert await submitted(rest, "job", as_(ONE)) == 202

    async def results(operator_uid: str, request: bytes) -> bytes:
        return b"r" * 60

    rest.cluster.data_plane.deliver_coordination_request = results  # type: ignore[method-assign]
    path = f"/jobs/{an_id('job')}/coordinators/sink"
    request = {"serializedCoordinationRequest": base64.b64encode(pickle.dumps(None)).decode()}

    async def status(token: str) -> int:
        async with rest.session.post(rest.server.address + path, json=request, headers=as_(token)) as answer:
            assert answer.status == 200 or 1 <= int(answer.headers["Retry-After"]) <= 60
            return answer.status

    assert [await status(token) for token in (ONE, ONE, ONE, OTHER)] == [200, 200, 429, 200]


def test_results_of_the_minute_before_do_not_count() -> None:
    now_s = [0.0]
    share = TokenLimits({"security.rest.token-limit.result-bytes": "10 b"}, lambda: now_s[0]).of(ONE)
    share.check_results()
    share.sent(10)
    with pytest.raises(RestError, match=r"10 bytes of results were sent to this token in a minute") as refused:
        share.check_results()
    assert refused.value.retry_after_s == 60
    now_s[0] = 60.0
    share.check_results()
