"""Reads the texts of JSON paths and of the filters in them, `[?(@.a > 1 && !@.b)]`.

or         = and { "||" and }
and        = operand { "&&" operand }
operand    = "!" operand | "(" or ")" | comparison
comparison = value [ operator value ]
value      = path | literal
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache

from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.java_regexes import java_regex
from firesteel.columns.functions.json_path import Constant, JsonPath, PathValue
from firesteel.columns.functions.json_path_operators import OPERATORS, NotComparable, Pattern
from firesteel.columns.functions.json_path_steps import (
    AGGREGATES,
    Elements,
    Filter,
    Members,
    PathCall,
    Scan,
    Search,
    Slice,
    Step,
    Wildcard,
)

Condition = Callable[[object, Search], bool]

_MODE = re.compile(r"\s*(strict|lax)\s+(.+)", re.IGNORECASE | re.DOTALL)
_KEYS = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_BRACKETS = re.compile(
    r"\[\s*(?:(?P<star>\*)|(?P<slice>-?\d*:-?\d*)|(?P<indices>-?\d+(?:\s*,\s*-?\d+)*)"
    rf"|(?P<keys>(?:{_KEYS})(?:\s*,\s*(?:{_KEYS}))*))\s*\]"
)
_FILTER = re.compile(r"\[\s*\?\s*(?=\()")
_FILTER_END = re.compile(r"\s*\]")
_KEY = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_DOTS = re.compile(r"\.\.?(?=[^.\s])")
_NAME = re.compile(r"(?P<name>[^.\[\]()'\"\s]+)(?P<call>\()?")
_NAME_IN_FILTER = re.compile(r"(?P<name>[^.\[\]()'\"\s<>=~!&|,]+)(?P<call>\()?")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_SIGN = re.compile(r"\s*([<>=~!]+)")
_WORD = re.compile(r"\s*([a-zA-Z]+)(?=\s)")
_CONSTANT = re.compile(r"(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)")
_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_REGEX = re.compile(r"/((?:[^/\\]|\\.)*)/([dixmsuU]*)", re.DOTALL)
_CONSTANTS = {"true": True, "false": False, "null": None}
_DECODER = json.JSONDecoder(parse_float=Decimal)


@lru_cache(1000)
def json_path(text: str) -> JsonPath:
    """Compile a path such as `lax $.a[0].b`.

    Raises:
        FunctionError: The path is invalid or not supported.
    """
    match = _MODE.fullmatch(text)
    spec = (match.group(2) if match else text).strip()
    spec = spec if spec.startswith("$") else f"$.{spec}"
    return JsonPath(_PathReader(spec).read(), lax=match is not None and match.group(1).lower() == "lax")


class _PathReader:
    """A reader of the text of a path, from left to right.

    Args:
        text: The text that has the path.
        position: Where its `$` or `@` is.
        in_filter: Whether what may follow is the rest of a filter.
    """

    def __init__(self, text: str, position: int = 0, in_filter: bool = False) -> None:
        self._text = text
        self._name = _NAME_IN_FILTER if in_filter else _NAME
        self._in_filter = in_filter
        self.position = position

    def read(self) -> list[Step]:
        """Return the steps; `position` is behind them then.

        Raises:
            FunctionError: The path is invalid or not supported.
        """
        self.position += 1
        steps: list[Step] = []
        while self.position < len(self._text):
            if self._text[self.position] == "[":
                steps.append(self._bracket())
            elif dots := _DOTS.match(self._text, self.position):
                self.position = dots.end()
                if dots[0] == "..":
                    steps.append(Scan())
                steps.append(self._bracket() if self._text[self.position] == "[" else self._named())
            elif self._in_filter:
                break
            else:
                raise self.refused()
        if any(isinstance(step, PathCall) for step in steps[:-1]):
            raise FunctionError(f"firesteel does not support what follows a function in the JSON path {self._text!r}")
        scans = [place for place, step in enumerate(steps) if isinstance(step, Scan)]
        if scans and any(isinstance(step, PathCall) for step in steps[scans[0] :]):
            raise FunctionError(f"firesteel does not support functions of `..` in the JSON path {self._text!r}")
        return steps

    def _named(self) -> Step:
        match = self._name.match(self._text, self.position)
        if match is None:
            raise self.refused()
        if match["call"]:
            return self._call(match["name"])
        self.position = match.end()
        return Wildcard() if match["name"] == "*" else Members((match["name"],))

    def _call(self, name: str) -> Step:
        if name not in AGGREGATES or not self._text.startswith("()", self.position + len(name)):
            raise FunctionError(
                f"firesteel does not support {name}(...) in the JSON path {self._text!r}; without arguments, "
                f"{', '.join(AGGREGATES)} are allowed"
            )
        self.position += len(name) + 2
        return PathCall(name)

    def _bracket(self) -> Step:
        if match := _FILTER.match(self._text, self.position):
            condition, position = _read_filter(self._text, match.end())
            end = _FILTER_END.match(self._text, position)
            if end is None:
                raise self.refused(position)
            self.position = end.end()
            return Filter(condition)
        match = _BRACKETS.match(self._text, self.position)
        if match is None:
            raise self.refused()
        self.position = match.end()
        if match["keys"]:
            return Members(tuple(_unescaped(first or second) for first, second in _KEY.findall(match["keys"])))
        if match["indices"]:
            return Elements(tuple(int(text) for text in match["indices"].split(",")))
        if match["slice"]:
            first, last = (int(text) if text else None for text in match["slice"].split(":"))
            return Slice(first, last)
        return Wildcard()

    def refused(self, position: int | None = None) -> FunctionError:
        """Return the error of a path that goes on with something unknown."""
        rest = self._text[self.position if position is None else position :]
        return FunctionError(f"firesteel does not support the JSON path {self._text!r} from {rest!r} on")


def _unescaped(text: str) -> str:
    """Return a quoted text without its backslashes."""
    return _ESCAPE.sub(lambda match: _character(match[1]), text)


def _character(escaped: str) -> str:
    return chr(int(escaped[1:], 16)) if len(escaped) > 1 else _ESCAPED.get(escaped, escaped)


def _read_filter(text: str, position: int) -> tuple[Condition, int]:
    """Return the condition in parentheses at a position of a path, and the position behind it.

    Raises:
        FunctionError: The filter is invalid or not supported.
    """
    reader = _FilterReader(text, position)
    condition = reader.operand()

    def accepts(item: object, search: Search) -> bool:
        try:
            return condition(item, search)
        except NotComparable:
            return False

    return accepts, reader.position


class _FilterReader:
    def __init__(self, text: str, position: int) -> None:
        self._text = text
        self.position = position

    def operand(self) -> Condition:
        """Read what stands between `&&` and `||`."""
        if self._skips("("):
            found = self._joined("||", lambda: self._joined("&&", self.operand, all), any)
            if not self._skips(")"):
                raise self._refused()
            return found
        if self._next() == "!" and self._next(1) not in "@$":
            self._skips("!")
            negated = self.operand()
            return lambda item, search: not negated(item, search)
        return self._comparison()

    def _joined(self, word: str, read: Callable[[], Condition], join: Callable[..., bool]) -> Condition:
        parts = [read()]
        while self._skips(word):
            parts.append(read())
        return parts[0] if len(parts) == 1 else lambda item, search: join(part(item, search) for part in parts)

    def _comparison(self) -> Condition:
        left = self._value()
        match = _SIGN.match(self._text, self.position) or _WORD.match(self._text, self.position)
        if match is None:
            if not isinstance(left, PathValue):
                raise self._refused()
            return left.test
        compare = OPERATORS.get(match[1].upper())
        if compare is None:
            raise FunctionError(
                f"firesteel does not support {match[1]!r} in the JSON path {self._text!r}; {', '.join(OPERATORS)} "
                "are allowed"
            )
        self.position = match.end()
        right = self._value()
        return lambda item, search: compare(left.value(item, search), right.value(item, search))

    def _value(self) -> PathValue | Constant:
        exists = not self._skips("!")
        start = self._next()
        if start and start in "@$":
            reader = _PathReader(self._text, self.position, in_filter=True)
            path = JsonPath(reader.read(), of_document=start == "$")
            self.position = reader.position
            return PathValue(path, exists)
        if not exists:
            raise self._refused()
        return Constant(self._literal(start))

    def _literal(self, start: str) -> object:
        if start == "[":
            return self._list()
        if start == "{":
            try:
                found, self.position = _DECODER.raw_decode(self._text, self.position)
            except ValueError:
                raise self._refused() from None
            return found
        for regex, read in _LITERALS:
            if match := regex.match(self._text, self.position):
                self.position = match.end()
                return read(match)
        raise self._refused()

    def _list(self) -> list[object]:
        self.position += 1
        found: list[object] = []
        while not self._skips("]"):
            if found and not self._skips(","):
                raise self._refused()
            found.append(self._literal(self._next()))
        return found

    def _next(self, further: int = 0) -> str:
        """Return the next character that is no space, or one after it."""
        found = self._text[self.position :].lstrip()
        self.position = len(self._text) - len(found)
        return found[further : further + 1] or " "

    def _skips(self, word: str) -> bool:
        self._next()
        found = self._text.startswith(word, self.position)
        self.position += len(word) * found
        return found

    def _refused(self) -> FunctionError:
        return FunctionError(
            f"firesteel does not support the JSON path {self._text!r} from {self._text[self.position :]!r} on"
        )


def _constant(match: re.Match[str]) -> object:
    return _CONSTANTS[match[1]] if match[1] else Decimal(match[2]) if "." in match[2] else _DECODER.decode(match[2])


def _quoted(match: re.Match[str]) -> object:
    return _unescaped(match[1] if match[1] is not None else match[2])


def _regex(match: re.Match[str]) -> object:
    return Pattern(java_regex(f"(?{match[2]}){match[1]}" if match[2] else match[1]))


_LITERALS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], object]], ...] = (
    (_CONSTANT, _constant),
    (_QUOTED, _quoted),
    (_REGEX, _regex),
)
