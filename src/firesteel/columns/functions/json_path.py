"""JSON paths over parsed JSON, with the semantics of Jayway's JsonPath; filters are not supported."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any

from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.json_text import object_text, quote

_STEP = re.compile(
    r"(?P<deep>\.\.)(?P<deepname>\w+|\*)|\.(?P<name>[^.\[\]'\"\s]+)|\[\s*(?P<star>\*)\s*\]"
    r"|\[\s*(?P<slice>-?\d*:-?\d*)\s*\]|\[\s*(?P<indices>-?\d+(?:\s*,\s*-?\d+)*)\s*\]"
    r"|\[\s*(?P<keys>'(?:[^'\\]|\\.)*'(?:\s*,\s*'(?:[^'\\]|\\.)*')*|\"(?:[^\"\\]|\\.)*\")\s*\]"
)
_MODE = re.compile(r"\s*(strict|lax)\s+(.+)", re.IGNORECASE | re.DOTALL)
_KEY = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")


class JsonPathError(ValueError):
    """A text that is not JSON, or a path that matches nothing."""


Step = Callable[[Any], Iterator[Any]]


class JsonPath:
    """A compiled path.

    Attributes:
        lax: Whether a path that matches nothing returns NULL; a path without a mode is strict.
        definite: Whether the path identifies one value; otherwise the result is the list of all matches.
    """

    def __init__(self, text: str) -> None:
        match = _MODE.fullmatch(text)
        self.lax = match is not None and match.group(1).lower() == "lax"
        spec = (match.group(2) if match else text).strip()
        self.definite = True
        self._steps: list[tuple[Step, bool]] = []  # Each with whether the path is definite so far.
        self._parse(spec)

    def _parse(self, spec: str) -> None:
        if not spec.startswith("$"):
            spec = f"$.{spec}"
        position = 1
        while position < len(spec):
            match = _STEP.match(spec, position)
            if match is None:
                raise FunctionError(f"firesteel does not support the JSON path {spec!r} from {spec[position:]!r} on")
            self._add(match)
            position = match.end()

    def _add(self, match: re.Match[str]) -> None:
        keys = [first or second for first, second in _KEY.findall(match["keys"] or "")]
        if match["name"] and match["name"] != "*":
            keys = [match["name"]]
        indices = [int(text) for text in (match["indices"] or "").split(",") if text]
        if len(keys) == 1:
            self._steps.append((lambda value: _member(value, keys[0]), self.definite))
        elif len(indices) == 1:
            self._steps.append((lambda value: _element(value, indices[0]), self.definite))
        else:
            self.definite = False
            self._steps.append((_many(match, keys, indices), False))

    def find(self, value: object) -> Any:
        """Return the value at the path, or the list of all matches of an indefinite path.

        Raises:
            JsonPathError: The path matches nothing.
        """
        values = [value]
        for step, definite in self._steps:
            values = [found for value in values for found in step(value)]
            if definite and not values:
                raise JsonPathError("the path leads nowhere")
        return values[0] if self.definite else values


def _member(value: object, key: str) -> Iterator[object]:
    if isinstance(value, dict) and key in value:
        yield value[key]


def _element(value: object, index: int) -> Iterator[object]:
    if isinstance(value, list) and -len(value) <= index < len(value):
        yield value[index]


def _children(value: object) -> list[object]:
    return list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []


def _descendants(value: object) -> Iterator[object]:
    yield value
    for child in _children(value):
        yield from _descendants(child)


def _many(match: re.Match[str], keys: list[str], indices: list[int]) -> Step:
    """Return a step that may match several values."""
    if match["slice"]:
        first, last = (int(text) if text else None for text in match["slice"].split(":"))
        return lambda value: iter(value[first:last] if isinstance(value, list) else [])
    if match["deep"]:
        name = match["deepname"]
        if name == "*":
            return lambda value: (child for found in _descendants(value) for child in _children(found))
        return lambda value: (child for found in _descendants(value) for child in _member(found, name))
    if keys:
        return lambda value: iter([{key: value[key] for key in keys if isinstance(value, dict) and key in value}])
    if indices:
        return lambda value: (found for index in indices for found in _element(value, index))
    return lambda value: iter(_children(value))


@lru_cache(1000)
def json_path(text: str) -> JsonPath:
    """Compile a path such as `lax $.a[0].b`.

    Raises:
        FunctionError: The path is invalid or not supported.
    """
    return JsonPath(text)


def parse_json(text: str) -> object:
    """Parse a JSON text; numbers with a decimal point become Decimal. As in Flink, what follows it is ignored.

    Raises:
        JsonPathError: The text does not begin with JSON.
    """
    try:
        return _DECODER.raw_decode(text.lstrip(" \t\n\r"))[0]
    except (ValueError, RecursionError) as error:
        raise JsonPathError(str(error)) from error


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")


_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=_refuse)


def json_of(value: object) -> str:
    """Return parsed JSON as text without spaces and with sorted keys."""
    if isinstance(value, dict):
        return object_text({key: json_of(item) for key, item in value.items()})
    if isinstance(value, list):
        return f"[{','.join(map(json_of, value))}]"
    return quote(value) if isinstance(value, str) else scalar_text(value)


def scalar_text(value: object) -> str:
    """Return a JSON scalar as text; strings are not quoted."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
