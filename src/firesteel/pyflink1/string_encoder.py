"""`SimpleStringEncoder`, which became a static method of `Encoder`."""

from __future__ import annotations

from firesteel.common.serialization import Encoder
from firesteel.pyflink1.removed import Removed, note

_INSTEAD = "Encoder.simple_string_encoder()"


class SimpleStringEncoder(Encoder):
    """An encoder that writes Java's text of each record on a line of its own."""

    def __init__(self, charset_name: str = "UTF-8") -> None:
        note("SimpleStringEncoder", _INSTEAD)
        super().__init__(charset_name)


REMOVED = (Removed(("common", "common.serialization"), "SimpleStringEncoder", SimpleStringEncoder, _INSTEAD),)
