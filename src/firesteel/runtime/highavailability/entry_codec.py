"""Encoding of entries as bytes that are signed with the cluster's secret."""

from __future__ import annotations

import hashlib
import hmac
import json
import pickle
import struct
from typing import Any

from firesteel.common.release import release
from firesteel.common.trust import pickling
from firesteel.runtime.highavailability.high_availability_errors import (
    CorruptEntryError,
    EntryVersionError,
    UntrustedEntryError,
)
from firesteel.runtime.highavailability.storage import CLEAN_RESULTS, DIRTY_RESULTS, JOBS, REMOVED_JOBS
from firesteel.runtime.rpc.secret import ClusterSecret, Secret

__all__ = ["EntryCodec", "dump_value", "load_value"]

_SIGNATURE_BYTES = hashlib.sha256().digest_size
_KEY_OF_ENTRIES = b"firesteel: entries of high availability, version 1"

# An entry moves between these folders in one atomic step, so it can't be signed again. Binding it to one of them would
# not help, because an attacker who can move it back could also have kept an earlier copy.
_SIGNED_AS = {REMOVED_JOBS: JOBS, CLEAN_RESULTS: DIRTY_RESULTS}


class EntryCodec:
    """A codec that signs entries with HMAC-SHA256 and rejects others before anything is unpickled.

    A signature is valid for one cluster, kind of entry and name, so an entry can't replace another one. It does not
    protect against deletion of entries, or against restoring an older version of the same entry.

    Args:
        secret: The cluster's secret, as returned by `cluster_secret`; entries of the accepted one are read, too.
        cluster_id: Distinguishes clusters with the same secret.

    Example:
        >>> codec = EntryCodec(b"sixteen or more bytes", "/default")
        >>> codec.verify("jobs", "a", codec.sign("jobs", "a", b"graph"))
        b'graph'
    """

    def __init__(self, secret: Secret, cluster_id: str) -> None:
        self._secret = ClusterSecret.of(secret)
        self._cluster_id = cluster_id

    def sign(self, folder: str, name: str, payload: bytes) -> bytes:
        """Return the signature followed by the payload."""
        return self._signature(self._secret.current, folder, name, payload) + payload

    def verify(self, folder: str, name: str, data: bytes) -> bytes:
        """Return the verified payload of an entry.

        Raises:
            UntrustedEntryError: it was not signed with the cluster's secret, or not for this entry.
        """
        payload = data[_SIGNATURE_BYTES:]
        found = data[:_SIGNATURE_BYTES]
        signatures = (self._signature(secret, folder, name, payload) for secret in self._secret.accepted)
        if not any(hmac.compare_digest(signature, found) for signature in signatures):
            raise UntrustedEntryError(folder, name)
        return payload

    def encode(self, folder: str, name: str, value: object) -> bytes:
        """Return the signature followed by the pickled value."""
        return self.sign(folder, name, dump_value(value))

    def decode(self, folder: str, name: str, data: bytes) -> Any:
        """Verify an entry and return its value.

        Raises:
            UntrustedEntryError: it was not signed with the cluster's secret, or not for this entry.
            CorruptEntryError: it can't be unpickled.
        """
        return load_value(folder, name, self.verify(folder, name, data))

    def _signature(self, secret: bytes, folder: str, name: str, payload: bytes) -> bytes:
        context = json.dumps([self._cluster_id, _SIGNED_AS.get(folder, folder), name]).encode()
        key = hmac.digest(secret, _KEY_OF_ENTRIES, "sha256")
        signature = hmac.new(key, context + b"\0", "sha256")  # JSON holds no zero byte.
        signature.update(payload)
        return signature.digest()


ENTRY_VERSION = 2
"""The format of what entries contain. Version 1 had no trailer, and its readers ignore what follows a pickle."""

READABLE_FROM = 1
"""The earliest format whose readers understand the entries of this one."""

_TRAILER = struct.Struct("!HHB4s")
_TRAILER_MAGIC = b"FSHE"


def dump_value(value: object) -> bytes:
    """Return the pickled value, followed by the format and the release that wrote it."""
    name = release().encode()[:255]
    # After the pickle, whose readers stop at its end: so a JobManager of version 1 reads the entry, too.
    payload: bytes = pickling.dumps(value)
    return payload + name + _TRAILER.pack(ENTRY_VERSION, READABLE_FROM, len(name), _TRAILER_MAGIC)


def _written_by(payload: bytes) -> tuple[str, int, int]:
    """Return the release that wrote an entry, its format, and the earliest format whose readers understand it."""
    if not payload.endswith(_TRAILER_MAGIC) or len(payload) < _TRAILER.size:
        return release(), 1, 1  # of version 1, which names none
    version, readable_from, length, _ = _TRAILER.unpack(payload[-_TRAILER.size :])
    return payload[-_TRAILER.size - length : -_TRAILER.size].decode(errors="replace"), version, readable_from


def load_value(folder: str, name: str, payload: bytes) -> object:
    """Unpickle a value whose signature was verified.

    Raises:
        CorruptEntryError: it can't be unpickled.
        EntryVersionError: a later release wrote it, which this one can't read.
    """
    writer, version, readable_from = _written_by(payload)
    if readable_from > ENTRY_VERSION:
        raise EntryVersionError(folder, name, (writer, version), (release(), ENTRY_VERSION))
    try:
        return pickle.loads(payload)
    except (Exception, SystemExit) as error:  # Unpickling imports modules of the user.
        cause = f"{type(error).__name__}: {error}"
        if writer != release():  # Job graphs name classes of the release, which may have moved since.
            cause += f" (firesteel {writer} wrote it, and this is firesteel {release()})"
        raise CorruptEntryError(folder, name, cause) from error
