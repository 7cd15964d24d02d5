"""Input formats (module as `pyflink.common.io`)."""

from __future__ import annotations

from typing import Any

__all__ = ["InputFormat"]


class InputFormat:
    """What `env.create_input` reads: a format's name and its settings, e.g. of `CsvReaderFormat`."""

    def __init__(self, format_name: str, settings: Any = None) -> None:
        self.format_name = format_name
        self.settings = settings
