"""The requests by which a service is asked for keys."""

from __future__ import annotations

import base64
import json
import urllib.parse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.values import to_arrow
from firesteel.connectors.formats.table_format import Format

Key = tuple[Cell, ...]


@dataclass(frozen=True)
class KeyRequests:
    """The request of each key.

    Attributes:
        url: The address; places `{name}` in it are filled in.
        method: The method.
        headers: The headers.
        texts: What writes the value of each column of a key.
        parameters: Names of query parameters and positions of their values within keys.
        places: Names of places in the address and positions of their values within keys.
        body: Positions of the values in the body within keys.
        body_format: The format of the body, whose columns are those values; None for no body.
    """

    url: str
    method: str
    headers: Mapping[str, str] = field(repr=False)
    texts: tuple[Callable[[Cell], str], ...]
    parameters: tuple[tuple[str, int], ...]
    places: tuple[tuple[str, int], ...]
    body: tuple[int, ...]
    body_format: Format | None

    def address(self, key: Key) -> str:
        """Return the address for a key."""
        url = self.url
        for name, place in self.places:
            url = url.replace(f"{{{name}}}", urllib.parse.quote(self._text(key, place), safe=""))
        if not self.parameters:
            return url
        query = urllib.parse.urlencode([(name, self._text(key, place)) for name, place in self.parameters])
        return f"{url}{'&' if '?' in url else '?'}{query}"

    def content(self, key: Key) -> bytes | None:
        """Return the body for a key, None for none."""
        if self.body_format is None:
            return None
        types = self.body_format.columns.types
        arrays = tuple(to_arrow([key[place]], kind) for place, kind in zip(self.body, types, strict=True))
        return self.body_format.encode(ColumnBatch(arrays, 1))[0]

    def _text(self, key: Key, place: int) -> str:
        return self.texts[place](key[place])


def authorization(headers: Mapping[str, str], is_raw: bool) -> dict[str, str]:
    """Return headers with `user:password` in Authorization encoded for basic authentication."""
    return {
        name: value if is_raw or name.lower() != "authorization" or value.startswith("Basic ") else _basic(value)
        for name, value in headers.items()
    }


def _basic(value: str) -> str:
    return f"Basic {base64.b64encode(value.encode()).decode()}"


def elements_of(body: bytes) -> Sequence[bytes]:
    """Return the texts of the elements of an array in JSON.

    Raises:
        ValueError: the text is no array.
    """
    text, decode, found = body.decode(), json.JSONDecoder().raw_decode, []
    position = _next(text, 0)
    if text[position : position + 1] != "[":
        raise ValueError(f"expected an array, found {text[:100]!r}")
    position = _next(text, position + 1)
    while text[position : position + 1] != "]":
        _, end = decode(text, position)
        # The text itself, as numbers of a DECIMAL would lose digits on the way through Python.
        found.append(text[position:end].encode())
        position = _next(text, end)
        if text[position : position + 1] == ",":
            position = _next(text, position + 1)
        elif text[position : position + 1] != "]":
            raise ValueError(f"expected , or ] after an element, found {text[position : position + 20]!r}")
    return found


def _next(text: str, position: int) -> int:
    """Return the position of the next character that is no space."""
    while text[position : position + 1].isspace():
        position += 1
    return position
