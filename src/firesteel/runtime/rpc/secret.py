"""The shared secret of a cluster's processes."""

from __future__ import annotations

import hmac
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from firesteel.common.files.watched_files import WatchedFiles
from firesteel.common.options.option import InvalidOptionError
from firesteel.common.options.security_options import RPC_ACCEPTED_SECRET_FILE, RPC_SECRET_FILE
from firesteel.runtime.placeholders import check_not_placeholder

__all__ = [
    "SECRET_VARIABLE",
    "ClusterSecret",
    "Secret",
    "accepted_state_keys",
    "cluster_secret",
    "rpc_secret",
    "rpc_secret_or_new",
    "state_key",
]

SECRET_VARIABLE = "FIRESTEEL_RPC_SECRET"
MIN_BYTES = 16
_KEY_OF_FILES = b"firesteel: state files, version 1"


class ClusterSecret:
    """The secret of a cluster, and another one that is accepted too while it is being replaced.

    Args:
        read: Returns the secret, and after it the accepted one if there is one.

    Example:
        >>> secret = ClusterSecret.of(b"sixteen or more bytes")
        >>> secret.current, secret.accepted
        (b'sixteen or more bytes', (b'sixteen or more bytes',))
    """

    def __init__(self, read: Callable[[], tuple[bytes, ...]]) -> None:
        self._read = read

    @classmethod
    def of(cls, secret: bytes | ClusterSecret) -> ClusterSecret:
        """Return a secret that does not change."""
        return secret if isinstance(secret, ClusterSecret) else cls(lambda: (secret,))

    @property
    def current(self) -> bytes:
        """The secret with which this process proves itself and signs."""
        return self._read()[0]

    @property
    def accepted(self) -> tuple[bytes, ...]:
        """The secrets that other processes may prove, and that entries may be signed with; the current one first."""
        return self._read()


Secret: TypeAlias = bytes | ClusterSecret
"""A secret that does not change, or one that may."""


def cluster_secret(configuration: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> ClusterSecret:
    """Return the secret of `rpc_secret` and the one of `security.rpc.accepted-secret-file`, read again after changes.

    Raises:
        InvalidOptionError: a secret is missing or too short, or other users can read its file.
    """

    def read() -> tuple[bytes, ...]:
        return rpc_secret(configuration, environment), *_accepted(configuration)

    names = (RPC_SECRET_FILE.of(configuration), RPC_ACCEPTED_SECRET_FILE.of(configuration))
    return ClusterSecret(WatchedFiles("the cluster's secret", [Path(name) for name in names if name], read).current)


def _accepted(configuration: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the secret that is accepted besides the current one; none if its file is missing or empty."""
    name = RPC_ACCEPTED_SECRET_FILE.of(configuration)
    if name is None or not Path(name).exists() or not Path(name).read_bytes().strip():
        return ()
    return (_of_file(RPC_ACCEPTED_SECRET_FILE.key, name),)


def rpc_secret(configuration: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> bytes:
    """Return the secret from the file named by `security.rpc.secret-file`, else from `FIRESTEEL_RPC_SECRET`.

    Neither is visible in a process list. Flink has no such secret; it authenticates with TLS certificates.

    Raises:
        InvalidOptionError: the secret is missing or too short, or other users can read its file.
    """
    name = RPC_SECRET_FILE.of(configuration)
    if name is None:
        return _checked(environment.get(SECRET_VARIABLE, "").encode(), f"the environment variable {SECRET_VARIABLE}")
    return _of_file(RPC_SECRET_FILE.key, name)


def _of_file(option: str, name: str) -> bytes:
    path = Path(name)
    try:
        mode = stat.S_IMODE(path.stat().st_mode)
        text = path.read_bytes()
    except OSError as error:
        raise InvalidOptionError(f"option {option!r}: {name!r} can't be read: {error}") from error
    if mode & 0o077:
        raise InvalidOptionError(
            f"option {option!r}: others may read {name!r} (mode {mode:o}); allowed is 600, so: chmod 600 {name}"
        )
    return _checked(text.strip(), name)


def rpc_secret_or_new(configuration: Mapping[str, str], environment: Mapping[str, str] = os.environ) -> ClusterSecret:
    """Return the configured secret, or a new one that the JobManager distributes to its TaskExecutors.

    Raises:
        InvalidOptionError: the configured secret is too short, or other users can read it.
    """
    if RPC_SECRET_FILE.key in configuration or SECRET_VARIABLE in environment:
        return cluster_secret(configuration, environment)
    return ClusterSecret.of(secrets.token_bytes(32))


def accepted_state_keys(configuration: Mapping[str, str]) -> tuple[bytes, ...]:
    """Return the keys of state files that are accepted besides `state_key`, as the secret is being replaced.

    Raises:
        InvalidOptionError: a secret is too short, or other users can read its file.
    """
    return tuple(hmac.digest(secret, _KEY_OF_FILES, "sha256") for secret in _accepted(configuration))


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
