"""Values of entries as bytes that carry their own checksum."""

from __future__ import annotations

import hashlib
import pickle
from typing import Any

import cloudpickle

from firesteel.runtime.highavailability.errors import CorruptEntryError

__all__ = ["decode_entry", "encode_entry"]

_DIGEST_BYTES = hashlib.sha256().digest_size


def encode_entry(value: Any) -> bytes:
    """The checksum, then the pickled value."""
    payload: bytes = cloudpickle.dumps(value)
    return hashlib.sha256(payload).digest() + payload


def decode_entry(folder: str, name: str, data: bytes) -> Any:
    """The value that was encoded.

    Raises:
        CorruptEntryError: the bytes are not those that were written, or can't be read back.
    """
    digest, payload = data[:_DIGEST_BYTES], data[_DIGEST_BYTES:]
    if hashlib.sha256(payload).digest() != digest:
        raise CorruptEntryError(folder, name, f"its {len(data)} bytes don't match their checksum")
    try:
        return pickle.loads(payload)
    except (Exception, SystemExit) as error:  # Modules of the user are imported here.
        raise CorruptEntryError(folder, name, f"{type(error).__name__}: {error}") from error
