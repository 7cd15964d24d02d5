"""Input formats (module as `pyflink.common.io`)."""

from __future__ import annotations

from typing import Any

__all__ = ["InputFormat"]


class InputFormat:
    """An input of `env.create_input`: the name of a format and its settings.

    `create_input` accepts only the subclass `AvroInputFormat`.

    Args:
        format_name: Name of the format, such as `avro`.
        settings: Settings of the format; None for none.
    """

    def __init__(self, format_name: str, settings: Any = None) -> None:
        self.format_name = format_name
        self.settings = settings
