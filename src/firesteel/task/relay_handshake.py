"""The handshake between a caller and the relay of a slot on another host: both prove that they know its token.

    relay -> caller   nonce
    caller -> relay   nonce, proof: HMAC-SHA256(token, "caller" + both nonces + name), name, line feed
    relay -> caller   proof: the same with "relay", once the slot is connected

The name is that of the slot's socket. Each side reads frames, which are unpickled, only after the other's proof. The
token is not sent, so whoever holds the port of a relay that has ended learns nothing. Records that follow are protected
from the network in between by TLS only.
"""

from __future__ import annotations

import hmac
import secrets

__all__ = ["NONCE_BYTES", "PROOF_BYTES", "is_relay_proof", "new_nonce", "relay_proof"]

NONCE_BYTES = PROOF_BYTES = 32


def new_nonce() -> bytes:
    """Return random bytes for one handshake."""
    return secrets.token_bytes(NONCE_BYTES)


def relay_proof(token: str, side: str, of_relay: bytes, of_caller: bytes, name: str) -> bytes:
    """Return the proof of a side.

    Args:
        token: The token of the relay.
        side: `caller` or `relay`.
        of_relay: The nonce of the relay.
        of_caller: The nonce of the caller.
        name: Name of the slot's socket.
    """
    return hmac.digest(token.encode(), b" ".join([side.encode(), of_relay, of_caller, name.encode()]), "sha256")


def is_relay_proof(given: bytes, token: str, side: str, of_relay: bytes, of_caller: bytes, name: str) -> bool:
    """Return whether a side has proved that it knows the token."""
    return hmac.compare_digest(given, relay_proof(token, side, of_relay, of_caller, name))
