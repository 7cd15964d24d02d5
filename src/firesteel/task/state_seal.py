"""The seal of state files: a proof that a process of the own cluster has written them.

A key derived from the cluster's secret authenticates each frame of a file together with the file's nonce and the number
of the frame. So a reader returns only verified frames, whatever is written to the file meanwhile, and no frame can move
to another place or file. The last tag covers the number of frames.

Whole files are not bound to their names, as savepoints are copied and moved. So the seal does not prevent that someone
replaces a file by another one, or an older one, of a cluster with the same secret.

Why: `docs/decisions/0037-signed-state-files.md`.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from firesteel.common.options.state_options import RECOVERY_ALLOW_UNVERIFIED
from firesteel.common.trust.frame_seal import FrameSeal

__all__ = ["KEY_ID_BYTES", "NONCE_BYTES", "UNSEALED", "StateSeal"]

"""The option that lets a job start from state that was not written with this cluster's secret."""

NONCE_BYTES = 16
KEY_ID_BYTES = 8
_ID_OF_KEY = b"firesteel: id of the key"


@dataclass(frozen=True, slots=True)
class StateSeal:
    """What a process needs to sign and verify state files.

    Attributes:
        key: The key, see `runtime.rpc.state_key`; empty without one, then files are written unsigned.
        allows_unverified: Whether files may be read that cannot be verified.
        accepted: Other keys whose files are read, while the cluster's secret is being replaced.
    """

    key: bytes = field(default=b"", repr=False)
    allows_unverified: bool = False
    accepted: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def key_id(self) -> bytes:
        """Eight bytes that tell keys apart and reveal nothing about them."""
        return _id_of(self.key)

    def key_with(self, key_id: bytes) -> bytes | None:
        """Return the key that has an id, None if it is none of ours."""
        keys = (self.key, *self.accepted) if self.key else ()
        return next((key for key in keys if _id_of(key) == key_id), None)

    def allowing(self, configuration: Mapping[str, str]) -> StateSeal:
        """Return the seal with which the state that a configuration names is read; it may allow unverified files."""
        allows = RECOVERY_ALLOW_UNVERIFIED.of(configuration)
        return replace(self, allows_unverified=self.allows_unverified or allows)

    def new_file(self) -> FrameSeal:
        """Return the seal of a new file."""
        return FrameSeal(self.key, secrets.token_bytes(NONCE_BYTES))


def _id_of(key: bytes) -> bytes:
    return hmac.digest(key, _ID_OF_KEY, "sha256")[:KEY_ID_BYTES]


UNSEALED = StateSeal()
"""The seal of a process without a secret."""
