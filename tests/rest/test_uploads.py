"""Uploads have limits, and other requests are answered in the meantime."""

from __future__ import annotations

import asyncio
import io
import json
import pickle
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest

from firesteel.client.rest_client import RestClusterClient
from firesteel.common.options.option import InvalidOptionError
from firesteel.rest import request_content
from tests.rest.rest_cluster import LOCAL_TOKEN, Rest
from tests.runtime.helpers import job_graph

BEGINNING = b'--b\r\nContent-Disposition: form-data; name="file_0"; filename="plan"\r\n\r\nsome'
END = b"\r\n--b--\r\n"
HEADERS = {"Content-Type": "multipart/form-data; boundary=b"}
is_unpickling, may_go_on = threading.Event(), threading.Event()


class Slow:
    """Takes as long to unpickle as the test wants."""

    def __reduce__(self) -> Any:
        return _wait, ()


def _wait() -> None:
    is_unpickling.set()
    may_go_on.wait(30)


def form(content: bytes) -> aiohttp.FormData:
    form = aiohttp.FormData()
    form.add_field("request", json.dumps({"executionPlanFileName": "plan"}), content_type="application/json")
    form.add_field("file_0", content, filename="plan")
    return form


async def held_open(until: asyncio.Event) -> AsyncIterator[bytes]:
    yield BEGINNING
    await until.wait()
    yield END


async def test_status_is_answered_while_an_upload_is_under_way_and_more_uploads_are_refused(
    make_rest: Callable[..., Any],
) -> None:
    rest: Rest = await make_rest(**{"rest.server.max-concurrent-uploads": "1"})
    end = asyncio.Event()
    held = asyncio.ensure_future(rest.call("POST", "/jobs", data=held_open(end), headers=HEADERS))
    async with asyncio.timeout(20):
        while True:
            async with rest.session.post(f"{rest.server.address}/jobs", data=form(b"x")) as answer:
                refused = await answer.json()
            if answer.status == 429:
                break
    assert answer.headers["Retry-After"] == "1"
    limit = "1 uploads are running, more are not allowed (rest.server.max-concurrent-uploads); try again"
    assert refused == {"errors": [limit]}
    assert (await rest.get("/overview"))["taskmanagers"] == 1
    assert not held.done()
    end.set()
    assert (await held)[0] == 400
    assert (await rest.call("POST", "/jobs", data=form(b"x")))[0] == 400


async def test_a_client_waits_for_its_turn(make_rest: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    rest: Rest = await make_rest(**{"rest.server.max-concurrent-uploads": "1"})
    end = asyncio.Event()
    monkeypatch.setattr("firesteel.client.rest_connection._RETRY_UPLOAD_S", 0.05)
    held = asyncio.ensure_future(rest.call("POST", "/jobs", data=held_open(end), headers=HEADERS))
    while rest.server._content._uploads == 0:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    job = job_graph(("a", 1, []))
    submitting = asyncio.ensure_future(
        asyncio.to_thread(RestClusterClient(rest.server.address, LOCAL_TOKEN).submit, job)
    )
    await rest.get("/overview")
    assert not submitting.done()
    end.set()
    await asyncio.wait_for(submitting, 20)
    await held
    assert [one["id"] for one in (await rest.get("/jobs"))["jobs"]] == [job.job_id]


async def test_status_is_answered_while_a_job_graph_is_unpickled(rest: Rest) -> None:
    is_unpickling.clear()
    may_go_on.clear()
    submitting = asyncio.ensure_future(rest.call("POST", "/jobs", data=form(pickle.dumps(Slow()))))
    assert await asyncio.to_thread(is_unpickling.wait, 20)
    assert (await rest.get("/overview"))["taskmanagers"] == 1
    assert not submitting.done()
    may_go_on.set()
    status, body = await submitting
    assert (status, body["errors"]) == (400, ["the file 'plan' contains a NoneType, expected a JobGraph"])


@pytest.mark.parametrize("has_length", [True, False])
async def test_too_large_uploads_are_refused(make_rest: Callable[..., Any], has_length: bool) -> None:
    rest: Rest = await make_rest(**{"rest.server.max-content-length": "10 kb"})

    async def chunks() -> AsyncIterator[bytes]:
        yield BEGINNING + b"x" * 20_000 + END

    whole = BEGINNING + b"x" * 20_000 + END
    status, body = await rest.call("POST", "/jobs", data=whole if has_length else chunks(), headers=HEADERS)
    assert status == 413
    assert body["errors"] == ["the request is longer than 10240 bytes (rest.server.max-content-length)"]
    status, _ = await rest.call("POST", "/savepoint-disposal", data=io.BytesIO(b'"' + b"x" * (1 << 20)))
    assert status == 413


async def test_a_stalled_upload_is_aborted(rest: Rest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_content, "_CHUNK_TIMEOUT_S", 0.05)
    status, body = await rest.call("POST", "/jobs", data=held_open(asyncio.Event()), headers=HEADERS)
    assert (status, body["errors"]) == (408, ["no more data of the request arrived for 0.05 s"])
    assert rest.server._content._uploads == 0


async def test_no_uploads_at_all_is_no_limit(make_rest: Callable[..., Any]) -> None:
    with pytest.raises(InvalidOptionError, match="at least 1"):
        await make_rest(**{"rest.server.max-concurrent-uploads": "0"})
