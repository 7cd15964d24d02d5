"""Requests with a proof of the token instead of the token."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common.trust.message_proof import ANSWER_PROOF, RequestProof, answer_proof, content_digest
from firesteel.rest import proofs
from tests.rest.rest_cluster import LOCAL_TOKEN, Rest

BODY = json.dumps({"savepoint-path": "/nowhere/savepoint"}).encode()


async def ask(rest: Rest, proof: RequestProof, method: str = "GET", path: str = "/overview", **options: Any) -> Any:
    headers = {"Authorization": proof.header(), **options.pop("headers", {})}
    async with rest.session.request(method, rest.server.address + path, headers=headers, **options) as answer:
        return answer.status, await answer.read(), answer.headers.get(ANSWER_PROOF)


def proof_of(
    token: str = LOCAL_TOKEN, method: str = "GET", path: str = "/overview", body: bytes = b"", **at: float
) -> Any:
    return RequestProof.of(token, method, path, content_digest(body), at.get("at", time.time()))


async def test_the_server_proves_that_it_knows_the_token(make_rest: Callable[..., Any]) -> None:
    rest: Rest = await make_rest(**{"security.rest.token.admin": "a token of sixteen bytes"})
    for token in (LOCAL_TOKEN, "a token of sixteen bytes"):
        proof = proof_of(token)
        status, content, given = await ask(rest, proof)
        assert (status, given) == (200, answer_proof(token, proof.nonce, 200, content))
    status, _, given = await ask(rest, proof_of("another token, of nobody"))
    assert (status, given) == (401, None)


async def test_errors_have_proofs_too(rest: Rest) -> None:
    proof = proof_of(path="/jobs/nothing")
    status, content, given = await ask(rest, proof, path="/jobs/nothing")
    assert (status, given) == (400, answer_proof(LOCAL_TOKEN, proof.nonce, 400, content))


async def test_a_request_is_accepted_once_and_for_what_it_was_signed(make_rest: Callable[..., Any]) -> None:
    rest: Rest = await make_rest(**{"security.rest.token.admin": "a token of sixteen bytes"})
    proof = proof_of()
    assert (await ask(rest, proof))[0] == 200
    assert (await ask(rest, proof))[0] == 401  # repeated
    assert (await ask(rest, proof_of(), path="/jobs"))[0] == 401
    assert (await ask(rest, proof_of(path="/cluster"), "DELETE", "/cluster"))[0] == 401
    for seconds in (-proofs._WINDOW_S - 10, proofs._WINDOW_S + 10):
        status, content, _ = await ask(rest, proof_of(at=time.time() + seconds))
        assert status == 401
        assert b"the clocks of client and server differ by" in content


@pytest.mark.parametrize("header", ["", "1 2 3", "x n d m", "1 n d " + "é"])
async def test_malformed_proofs_are_refused(make_rest: Callable[..., Any], header: str) -> None:
    rest: Rest = await make_rest(**{"security.rest.token.admin": "a token of sixteen bytes"})
    headers = {"Authorization": f"Firesteel-Proof {header}"}
    async with rest.session.get(f"{rest.server.address}/overview", headers=headers) as answer:
        assert answer.status == 401


async def test_the_content_is_what_was_signed(make_rest: Callable[..., Any]) -> None:
    rest: Rest = await make_rest(**{"security.rest.token.admin": "a token of sixteen bytes"})
    options: dict[str, Any] = {"method": "POST", "path": "/savepoint-disposal"}
    signed = proof_of(body=BODY, **options)
    json_type = {"Content-Type": "application/json"}
    assert (await ask(rest, signed, data=BODY.replace(b"no", b"my"), headers=json_type, **options))[0] == 401
    assert (await ask(rest, proof_of(body=BODY, **options), data=BODY, headers=json_type, **options))[0] == 200
    assert (await ask(rest, proof_of(body=BODY, **options), headers=json_type, **options))[0] == 401
