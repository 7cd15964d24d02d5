"""A value in an object store that is changed by compare and swap."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable
from typing import Any

from firesteel.common.files.conditional_object import ConditionalObject
from firesteel.runtime.highavailability.entry_codec import EntryCodec
from firesteel.runtime.highavailability.high_availability_errors import HighAvailabilityError

__all__ = ["Register", "Value"]

Value = dict[str, Any]
"""Plain data, as in JSON."""

_FOLDER = "registers"
_NONCE = "nonce"
_TRIES = 1000


class Register:
    """A signed value that several processes change, each change depending on the value that it replaces.

    All methods block and are thread-safe.

    Args:
        place: The object with the value.
        codec: Signs the value, and rejects others.
        empty: The value while there is no object.
    """

    def __init__(self, place: ConditionalObject, codec: EntryCodec, empty: Value) -> None:
        self._place = place
        self._codec = codec
        self._empty = empty

    def read(self) -> tuple[Value, str | None]:
        """Return the value, and the tag of this version.

        Raises:
            UntrustedEntryError: it was not signed with the cluster's secret.
            RemoteFileError: the store does not answer, or refuses.
        """
        found = self._place.read()
        if found is None:
            return self._empty, None
        value: Value = json.loads(self._codec.verify(_FOLDER, self._place.path.name, found.data))
        return value, found.tag

    def replace(self, value: Value, tag: str | None) -> str | None:
        """Set the value if it is still the one with this tag; return the new tag, None if another was faster."""
        nonce = secrets.token_hex(8)
        payload = json.dumps(value | {_NONCE: nonce}).encode()
        written = self._place.replace(self._codec.sign(_FOLDER, self._place.path.name, payload), tag)
        if written is not None:
            return written
        now, found = self.read()  # The write may have been repeated after a lost answer, and have found itself.
        return found if now.get(_NONCE) == nonce else None

    def change(self, decide: Callable[[Value], Value | None]) -> Value:
        """Replace the value by what `decide` returns for it, None for no change; return the value then.

        `decide` is called again if another process was faster, and may raise.
        """
        for _ in range(_TRIES):
            value, tag = self.read()
            wanted = decide(value)
            if wanted is None or self.replace(wanted, tag) is not None:
                return wanted or value
        raise HighAvailabilityError(
            f"{self._place.path} was changed by others {_TRIES} times while it was being changed"
        )
