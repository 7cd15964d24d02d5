"""The OpenAPI document is valid and complete, and describes the actual responses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from firesteel.rest.server import ROUTES
from tests.rest.rest_cluster import Rest

pytestmark = [pytest.mark.libraries, pytest.mark.slow]


async def test_the_document_is_valid_and_has_all_routes(rest: Rest) -> None:
    validator = pytest.importorskip("openapi_spec_validator")
    document = await rest.get("/v1/openapi.json")
    validator.validate(document)
    assert document == await rest.get("/openapi.json")
    documented = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert documented == {(route.method, route.path) for route in ROUTES} - {("GET", "/openapi.json")}
    assert len({one["operationId"] for item in document["paths"].values() for one in item.values()}) == len(documented)
    assert json.dumps(document)


async def test_no_request_makes_the_server_fail(tmp_path: Path) -> None:
    pytest.importorskip("schemathesis")
    from tests.rest import fuzzing

    await fuzzing.run(5, 1, tmp_path)


async def test_a_body_may_come_in_pieces(rest: Rest) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield b'{"checkpoint'
        await asyncio.sleep(0.01)
        yield b'Type": "ODD"}'

    status, answer = await rest.call("POST", f"/jobs/{'0' * 32}/checkpoints", data=pieces())
    assert (status, answer["errors"][0][:26]) == (400, "checkpointType is 'ODD'; a")


@pytest.mark.parametrize(
    ("content_type", "data"),
    [
        ("application/json", b"[" * 100_000),
        ("application/json", b'"\xff"'),
        ("multipart/form-data; boundary=x", b"what"),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="\x02"\r\n\r\n1\r\n--x--'),
        ("multipart/form-data", b"--x"),
    ],
)
async def test_unreadable_input_is_rejected(rest: Rest, content_type: str, data: bytes) -> None:
    status, answer = await rest.call("POST", "/jobs", data=data, headers={"Content-Type": content_type})
    assert (status, list(answer)) == (400, ["errors"])


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("stop", {"drain": "yes"}, "drain is 'yes', expected a boolean"),
        ("savepoints", {"formatType": "OLD"}, "formatType is 'OLD'; allowed: CANONICAL, NATIVE or none"),
        ("savepoints", {"target-directory": 5}, "target-directory is 5, expected a string"),
        ("checkpoints", {"triggerId": [1]}, "triggerId is [1], expected a string"),
    ],
)
async def test_fields_of_other_types_are_refused(rest: Rest, path: str, body: object, message: str) -> None:
    status, answer = await rest.call("POST", f"/jobs/{'0' * 32}/{path}", json=body)
    assert (status, answer["errors"]) == (400, [message])
