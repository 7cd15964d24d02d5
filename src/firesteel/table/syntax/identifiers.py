"""Paths of tables and functions as methods take them. Flink: `ParserImpl.parseIdentifier`."""

from __future__ import annotations

import re

from firesteel.common.table_errors import SqlParserException

_PART = re.compile(r"\s*(?:`((?:[^`]|``)+)`|([^`.\s]+))\s*(\.|$)")


def parse_path(text: str) -> tuple[str, ...]:
    """Return the parts of a path such as ``catalog.`my database`.table``.

    Raises:
        SqlParserException: it is no path.
    """
    parts: list[str] = []
    position = 0
    while True:
        found = _PART.match(text, position)
        if found is None:
            raise SqlParserException(f"Invalid SQL identifier {text}.")
        parts.append(found[2] if found[1] is None else found[1].replace("``", "`"))
        position = found.end()
        if found[3] != ".":
            return tuple(parts)
