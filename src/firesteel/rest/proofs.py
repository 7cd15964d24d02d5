"""Verification of requests that prove a token instead of sending it, and proofs of the answers to them."""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from aiohttp import web

from firesteel.common.trust.message_proof import ANSWER_PROOF, SCHEME, RequestProof, answer_proof
from firesteel.rest.rest_errors import RestError

__all__ = ["Proofs", "add_answer_proof", "check_content", "proven_token"]

_WINDOW_S = 300
"""Largest difference between the clocks of client and server; nonces are remembered for twice as long."""


class _Proven(NamedTuple):
    token: str
    proof: RequestProof


# Versions of aiohttp before 3.14 have no typed keys, and later ones warn of others.
_PROVEN: Any = web.RequestKey("proven", _Proven) if hasattr(web, "RequestKey") else "firesteel-proven"


class Proofs:
    """Verifies the proofs of requests; each is accepted once.

    Args:
        clock: Returns the time in seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._seen: dict[str, float] = {}

    def token_of(self, request: web.Request, tokens: Iterable[str]) -> str:
        """Return the token that a request proves, or an empty text if it proves none.

        Raises:
            RestError: the proof is malformed, old or was used before (401).
        """
        header = request.headers.get("Authorization", "")
        if not header.startswith(f"{SCHEME} "):
            return ""
        try:
            proof = RequestProof.parse(header)
        except ValueError as error:
            raise RestError(401, str(error)) from None
        for token in tokens:
            # As sent, because the client has signed it before anything decodes it.
            if proof.proves(token, request.method, request.raw_path):
                self._check_new(proof)
                request[_PROVEN] = _Proven(token, proof)
                return token
        return ""

    def _check_new(self, proof: RequestProof) -> None:
        now_s = self._clock()
        if abs(now_s - proof.time_s) > _WINDOW_S:
            raise RestError(
                401, f"the clocks of client and server differ by {abs(now_s - proof.time_s):.0f} s; at most {_WINDOW_S}"
            )
        # Nonces are in the order of their expiry, as all are kept for the same time.
        while self._seen and next(iter(self._seen.values())) < now_s:
            del self._seen[next(iter(self._seen))]
        if proof.nonce in self._seen:
            raise RestError(401, "this request was sent before")
        # A proof from a clock that is ahead is valid until two windows from now.
        self._seen[proof.nonce] = now_s + 2 * _WINDOW_S


def proven_token(request: web.Request) -> str:
    """Return the token that a request has proved, or an empty text."""
    proven: _Proven | None = request.get(_PROVEN)
    return "" if proven is None else proven.token


def check_content(request: web.Request, digest: str) -> None:
    """Check that the content of a request is the one that its proof covers.

    Raises:
        RestError: it is not (401).
    """
    proven: _Proven | None = request.get(_PROVEN)
    if proven is not None and not hmac.compare_digest(proven.proof.digest.encode(), digest.encode()):
        raise RestError(401, "the content of the request is not what its sender has signed")


def add_answer_proof(request: web.Request, answer: web.StreamResponse) -> None:
    """Add the proof that this server knows the token that a request proved; streamed files have none."""
    proven: _Proven | None = request.get(_PROVEN)
    if proven is not None and isinstance(answer, web.Response) and isinstance(answer.body, bytes | None):
        content = answer.body or b""
        answer.headers[ANSWER_PROOF] = answer_proof(proven.token, proven.proof.nonce, answer.status, content)
