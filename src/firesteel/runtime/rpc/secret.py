"""The secret that the processes of a cluster share."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path

from firesteel.runtime.options import InvalidOptionError

__all__ = ["SECRET_FILE", "SECRET_VARIABLE", "rpc_secret", "rpc_secret_or_new"]

SECRET_FILE = "security.rpc.secret-file"
SECRET_VARIABLE = "FIRESTEEL_RPC_SECRET"
MIN_BYTES = 16


def rpc_secret(configuration: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> bytes:
    """The secret, out of the file that `security.rpc.secret-file` names, else of `FIRESTEEL_RPC_SECRET`.

    Neither shows in a list of processes. Flink has no such secret; it authenticates by TLS certificates.

    Raises:
        InvalidOptionError: there is none, it is too short, or others can read its file.
    """
    name = configuration.get(SECRET_FILE)
    if name is None:
        return _checked(environment.get(SECRET_VARIABLE, "").encode(), f"the environment variable {SECRET_VARIABLE}")
    path = Path(name)
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = path.read_bytes()
    except OSError as error:
        raise InvalidOptionError(f"option {SECRET_FILE!r}: {name!r} can't be read: {error}") from error
    if mode & 0o077:
        raise InvalidOptionError(
            f"option {SECRET_FILE!r}: others may read {name!r} (mode {mode:o}); allowed is 600, so: chmod 600 {name}"
        )
    return _checked(text.strip(), name)


def rpc_secret_or_new(configuration: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> bytes:
    """The secret that is set; where none is, a new one: for a JobManager that hands it to its TaskExecutors itself.

    Raises:
        InvalidOptionError: one is set that is too short, or that others can read.
    """
    if SECRET_FILE in configuration or SECRET_VARIABLE in environment:
        return rpc_secret(configuration, environment)
    return secrets.token_bytes(32)


def _checked(secret: bytes, where: str) -> bytes:
    if len(secret) < MIN_BYTES:
        raise InvalidOptionError(
            f"processes need a common secret of at least {MIN_BYTES} bytes to talk to one another and to sign what "
            f"they keep, {where} has {len(secret)}; set {SECRET_VARIABLE} or {SECRET_FILE}"
        )
    return secret
