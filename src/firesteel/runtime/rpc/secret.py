"""The shared secret of a cluster's processes."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from firesteel.common.options.option import InvalidOptionError
from firesteel.common.options.security_options import RPC_SECRET_FILE
from firesteel.runtime.placeholders import check_not_placeholder

__all__ = ["SECRET_VARIABLE", "rpc_secret", "rpc_secret_or_new", "state_key"]

SECRET_VARIABLE = "FIRESTEEL_RPC_SECRET"
MIN_BYTES = 16
_KEY_OF_FILES = b"firesteel: state files, version 1"


def rpc_secret(configuration: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> bytes:
    """Return the secret from the file named by `security.rpc.secret-file`, else from `FIRESTEEL_RPC_SECRET`.

    Neither is visible in a process list. Flink has no such secret; it authenticates with TLS certificates.

    Raises:
        InvalidOptionError: the secret is missing or too short, or other users can read its file.
    """
    name = RPC_SECRET_FILE.of(configuration)
    if name is None:
        return _checked(environment.get(SECRET_VARIABLE, "").encode(), f"the environment variable {SECRET_VARIABLE}")
    path = Path(name)
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = path.read_bytes()
    except OSError as error:
        raise InvalidOptionError(f"option {RPC_SECRET_FILE.key!r}: {name!r} can't be read: {error}") from error
    if mode & 0o077:
        raise InvalidOptionError(
            f"option {RPC_SECRET_FILE.key!r}: others may read {name!r} (mode {mode:o}); allowed is 600, so: "
            f"chmod 600 {name}"
        )
    return _checked(text.strip(), name)


def rpc_secret_or_new(configuration: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> bytes:
    """Return the configured secret, or a new one that the JobManager distributes to its TaskExecutors.

    Raises:
        InvalidOptionError: the configured secret is too short, or other users can read it.
    """
    if RPC_SECRET_FILE.key in configuration or SECRET_VARIABLE in environment:
        return rpc_secret(configuration, environment)
    return secrets.token_bytes(32)


def state_key(configuration: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> bytes:
    """Return the key that signs state files, derived from the configured secret; empty if none is configured.

    A secret that the JobManager generated ends with it, so nobody could verify the files later.

    Raises:
        InvalidOptionError: the configured secret is too short, or other users can read it.
    """
    if RPC_SECRET_FILE.key in configuration or SECRET_VARIABLE in environment:
        return hmac.digest(rpc_secret(configuration, environment), _KEY_OF_FILES, "sha256")
    return b""


def _checked(secret: bytes, where: str) -> bytes:
    if len(secret) < MIN_BYTES:
        raise InvalidOptionError(
            f"processes need a common secret of at least {MIN_BYTES} bytes to talk to one another and to sign what "
            f"they keep, {where} has {len(secret)}; set {SECRET_VARIABLE} or {RPC_SECRET_FILE}"
        )
    check_not_placeholder(secret, where)
    return secret
