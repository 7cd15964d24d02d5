"""Proofs that both sides of an HTTP exchange know a token, which is not sent.

Whoever holds the port of a server that has ended receives the requests of its clients. With a bearer token he could
answer them, and use the token later. So without TLS firesteel's clients send a proof over the request, and accept
answers only with a proof over the answer, which nobody can copy from another exchange.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["ANSWER_PROOF", "SCHEME", "RequestProof", "answer_proof", "content_digest", "form_digest"]

SCHEME = "Firesteel-Proof"
"""The scheme of the header `Authorization`."""

ANSWER_PROOF = "X-Firesteel-Proof"
"""The header of the answer with the proof of the server."""


@dataclass(frozen=True, slots=True)
class RequestProof:
    """The fields of the header of a request.

    Attributes:
        time_s: Time at which it was sent, in seconds since the epoch.
        nonce: Random text that no other request has.
        digest: Of the content, see `content_digest` and `form_digest`.
        mac: Proves that the sender knows the token.
    """

    time_s: int
    nonce: str
    digest: str
    mac: str

    @classmethod
    def of(cls, token: str, method: str, path: str, digest: str, now_s: float) -> RequestProof:
        """Return the proof of a new request.

        Example:
            >>> proof = RequestProof.of("a token of 16 bytes", "GET", "/jobs", content_digest(b""), 1_000_000)
            >>> RequestProof.parse(proof.header()).proves("a token of 16 bytes", "GET", "/jobs")
            True
            >>> RequestProof.parse(proof.header()).proves("a token of 16 bytes", "DELETE", "/cluster")
            False
        """
        unsigned = cls(int(now_s), secrets.token_hex(16), digest, "")
        return cls(unsigned.time_s, unsigned.nonce, digest, unsigned._mac(token, method, path))

    @classmethod
    def parse(cls, header: str) -> RequestProof:
        """Return the proof in a header.

        Raises:
            ValueError: it contains none.
        """
        scheme, *fields = header.split()
        if scheme != SCHEME or len(fields) != 4:
            raise ValueError(f"the header Authorization is not of the form {SCHEME} TIME NONCE DIGEST MAC")
        return cls(int(fields[0]), *fields[1:])

    def header(self) -> str:
        """Return the value of the header `Authorization`."""
        return f"{SCHEME} {self.time_s} {self.nonce} {self.digest} {self.mac}"

    def proves(self, token: str, method: str, path: str) -> bool:
        """Return whether the sender of a request knows a token."""
        return hmac.compare_digest(self._mac(token, method, path).encode(), self.mac.encode(errors="replace"))

    def _mac(self, token: str, method: str, path: str) -> str:
        return _mac(token, "request", method, path, str(self.time_s), self.nonce, self.digest)


def answer_proof(token: str, nonce: str, status: int, content: bytes) -> str:
    """Return the proof of an answer to the request with a nonce."""
    return _mac(token, "answer", nonce, str(status), content_digest(content))


def content_digest(content: bytes) -> str:
    """Return the digest of the content of a request."""
    return hashlib.sha256(content).hexdigest()


def form_digest(parts: Iterable[tuple[str, str, str]]) -> str:
    """Return the digest of the parts of a form: name, file name and digest of the content, but not the boundary."""
    return content_digest("".join(f"{len(field)}:{field}" for part in parts for field in part).encode())


def _mac(token: str, *fields: str) -> str:
    # With lengths, as otherwise fields could be cut at other places and give the same text.
    text = "".join(f"{len(field)}:{field}" for field in fields)
    return hmac.new(token.encode(), text.encode(errors="surrogateescape"), "sha256").hexdigest()
