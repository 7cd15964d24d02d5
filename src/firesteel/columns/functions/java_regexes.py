"""Regular expressions in Java's syntax, as Python's. Flink's functions hand them to `java.util.regex.Pattern`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from firesteel.columns.functions.character_classes import UnknownClassError, members_of
from firesteel.columns.functions.function_errors import FunctionError, UnsupportedFunctionError

LINE_ENDS: Final = "\n\r\u0085\u2028\u2029"
NO_LINE_END: Final = f"[^{LINE_ENDS}]"
"""What a dot matches in Java."""

_VERTICAL, _HORIZONTAL = "\n\x0b\f\r\u0085\u2028\u2029", "\\ \t\u00a0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000"
_ESCAPES: Final = {
    "R": f"(?:\r\n|[{_VERTICAL}])",
    "Z": f"(?=(?:\r\n|[{LINE_ENDS}])?\\Z)",
    "z": "\\Z",
    "e": "\x1b",
    "b": r"(?u:\b)",
    "B": r"(?!(?u:\b))",
}
_LINE_BEGIN: Final = rf"(?!\Z)(?:\A|(?<=[{LINE_ENDS}])(?<!\r(?=\n)))"
_LINE_END: Final = r"(?=[\r\u0085\u2028\u2029]|(?<!\r)\n|\Z)"
_IN_CLASS: Final = {"h": _HORIZONTAL, "v": _VERTICAL}
_UNSUPPORTED: Final = "GXNHV"
_FLAGS: Final = re.compile(r"\(\?([a-zA-Z]*(?:-[a-zA-Z]+)?)([:)])")
_OF_PYTHON: Final = ("?P", "?#", "?(")
_REPETITION: Final = re.compile(r"\d+(?:,\d*)?\}")
_PROPERTY: Final = re.compile(r"(\w)|\{(\w+)\}")
_BACKREFERENCE: Final = re.compile(r"<([a-zA-Z][a-zA-Z0-9]*)>")
_CODE_POINT: Final = re.compile(r"x\{([0-9a-fA-F]+)\}|0([0-3]?[0-7]{1,2})|c(.)", re.DOTALL)


@lru_cache(1000)
def java_regex(pattern: str) -> re.Pattern[str]:
    """Return what Python matches as Java matches the pattern.

    Raises:
        FunctionError: Java knows no such expression.
        UnsupportedFunctionError: Python cannot express it.
    """
    try:
        return re.compile(_Translation(pattern).result(), re.ASCII)
    except re.error as error:
        if _is_known_to_java(error):
            raise UnsupportedFunctionError(f"Python does not support {pattern!r}: {error}") from error
        raise FunctionError(f"Invalid regular expression {pattern!r}: {error}") from error
    except OverflowError as error:
        raise FunctionError(f"Invalid regular expression {pattern!r}: {error}") from error


def java_matches(regex: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches that Java finds: after an empty match it goes on with the next character."""
    place: int | None = 0
    while place is not None:
        begin, place, empty_at = place, None, -1
        for found in regex.finditer(text, begin):
            if found.start() == empty_at:  # Python looks for a longer match there.
                place = empty_at + 1
                break
            yield found
            empty_at = found.start() if found.start() == found.end() else -1


def _is_known_to_java(error: re.error) -> bool:
    """Return whether Java may know an expression that Python refuses, which must not pass for an invalid one."""
    if error.msg.startswith(("nothing to repeat", "multiple repeat")):
        pattern, place = str(error.pattern), error.pos or 0
        # Java repeats what has no length; only `*`, `+` and `?` need something before them.
        is_first = error.msg.startswith("multiple") or not place or pattern[place - 1] in "(|:"
        return pattern.startswith("{", place) or not is_first
    return error.msg.startswith(("look-behind requires", "invalid group reference", "cannot refer to"))


class _Translation:
    """The translation of one pattern, from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._flags = "".join(flags for flags, _ in _FLAGS.findall(pattern))
        self._flagged: list[list[str]] = [[]]  # for each open group, the starts of groups that stand for flags in it

    def result(self) -> str:
        found = []
        while self._at < len(self._pattern):
            found.append(self._next())
        return "".join(found) + ")" * len(self._flagged[0])

    def _next(self) -> str:
        char = self._take()
        match char:
            case "\\":
                return self._escaped()
            case "[":
                return self._class()
            case "{" if not _REPETITION.match(self._pattern, self._at):
                raise FunctionError(f"Invalid regular expression {self._pattern!r}: illegal repetition")
            case "(":
                return self._group()
            case ")":
                return ")" * (len(self._flagged.pop()) if len(self._flagged) > 1 else 0) + ")"
            case "|":  # The flags hold in all alternatives that follow.
                return ")" * len(self._flagged[-1]) + "|" + "".join(self._flagged[-1])
            case ".":
                return "." if "s" in self._flags else NO_LINE_END
            case "#" if "x" in self._flags:
                raise self._unsupported("comments")
            case "^" if "m" in self._flags:
                return f"(?:{_LINE_BEGIN})"
            case "$":
                return _LINE_END if "m" in self._flags else _ESCAPES["Z"]
            case _:
                return char

    def _take(self) -> str:
        """Return the next character.

        Raises:
            FunctionError: there is none.
        """
        if self._at >= len(self._pattern):
            raise FunctionError(f"Invalid regular expression {self._pattern!r}: it ends too early")
        self._at += 1
        return self._pattern[self._at - 1]

    def _unsupported(self, what: str) -> UnsupportedFunctionError:
        return UnsupportedFunctionError(f"firesteel does not support {what} in {self._pattern!r}")

    def _group(self) -> str:
        """Return the start of a group, or of one for the flags that hold up to the end of the group around."""
        if match := _FLAGS.match(self._pattern, self._at - 1):
            flags, end = match.groups()
            self._at = match.end()
            if set(flags) - set("imsx-"):
                raise self._unsupported(f"the flags {flags!r}")
            if end == ")" and not flags:
                return ""
            if end == ")":
                self._flagged[-1].append(f"(?{flags}:")
            else:
                self._flagged.append([])
            return f"(?{flags}:"
        if self._pattern.startswith(_OF_PYTHON, self._at):
            raise FunctionError(f"Invalid regular expression {self._pattern!r}: unknown kind of group")
        self._flagged.append([])
        if self._pattern.startswith("?<", self._at) and self._pattern[self._at + 2 : self._at + 3] not in ("=", "!"):
            self._at += 2
            return "(?P<"
        return "("

    def _escaped(self) -> str:
        if (quoted := self._quoted()) is not None:
            return quoted
        if (known := self._known_escape()) is not None:
            return known
        char = self._take()
        if char == "0":
            raise FunctionError(f"Invalid regular expression {self._pattern!r}: no octal digits")
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char in _IN_CLASS:
            return f"[{_IN_CLASS[char]}]"
        if char in "pP":
            return f"[{'^' if char == 'P' else ''}{self._property(char)}]"
        if char in _UNSUPPORTED:
            raise self._unsupported(f"\\{char}")
        if char == "k" and (match := _BACKREFERENCE.match(self._pattern, self._at)):
            self._at = match.end()
            return f"(?P={match[1]})"
        return f"\\{char}"

    def _quoted(self) -> str | None:
        r"""Return what stands between `\Q` and `\E`, if that is next."""
        if not self._pattern.startswith("Q", self._at):
            return None
        end = self._pattern.find("\\E", self._at)
        text = self._pattern[self._at + 1 : end if end >= 0 else None]
        self._at = end + 2 if end >= 0 else len(self._pattern)
        return re.escape(text)

    def _known_escape(self) -> str | None:
        """Return the character that is named by its number, if one is next."""
        match = _CODE_POINT.match(self._pattern, self._at)
        if match is None:
            return None
        self._at = match.end()
        hexadecimal, octal, control = match.groups()
        if control:
            return re.escape(chr(ord(control) ^ 64))
        return re.escape(chr(int(hexadecimal, 16) if hexadecimal else int(octal, 8)))

    def _property(self, letter: str) -> str:
        match = _PROPERTY.match(self._pattern, self._at)
        name = (match[1] or match[2]) if match else ""
        self._at = match.end() if match else self._at
        try:
            return members_of(name)
        except UnknownClassError:
            raise self._unsupported(f"\\{letter}{{{name}}}") from None

    # --- classes of characters: unions of what is listed and of classes, which `&&` intersects ---------------------

    def _class(self) -> str:
        """Return an expression that matches one character, after `[`."""
        negated = self._pattern.startswith("^", self._at)
        self._at += negated
        parts = [self._union(is_first=True)]
        while self._pattern.startswith("&&", self._at):
            self._at += 2
            parts.append(self._union(is_first=False))
        self._take()
        if len(parts) == 1 and len(parts[0]) == 1 and parts[0][0].startswith("[") and not parts[0][0].startswith("[^"):
            return f"[^{parts[0][0][1:]}" if negated else parts[0][0]
        *others, last = ("|".join(part) for part in parts if part)
        inside = "".join(f"(?={other})" for other in others) + f"(?:{last})"
        return f"(?:(?!{inside})[\\s\\S])" if negated else f"(?:{inside})"

    def _union(self, is_first: bool) -> list[str]:
        """Return expressions for a union, up to `]` or `&&`."""
        listed, classes, begin = "", [], self._at
        while not self._pattern.startswith("&&", self._at):
            char = self._take()
            if char == "]" and not (is_first and self._at == begin + 1):
                self._at -= 1
                break
            if char == "[":
                classes.append(self._class())
            elif char == "\\":
                text = self._escape_in_class()
                listed, classes = (listed, [*classes, text]) if text.startswith("[^") else (listed + text, classes)
            else:
                listed += "\\" + char if char in "]&|~" else char
        return [*([f"[{listed}]"] if listed else []), *classes]

    def _escape_in_class(self) -> str:
        if self._pattern.startswith("Q", self._at):
            raise self._unsupported("\\Q within [...]")
        if (known := self._known_escape()) is not None:
            return known
        char = self._take()
        if char in _IN_CLASS:
            return _IN_CLASS[char]
        if char in "pP":
            members = self._property(char)
            return f"[^{members}]" if char == "P" else members
        if char == "b":
            raise FunctionError(f"Invalid regular expression {self._pattern!r}: \\b within [...]")
        if char in _UNSUPPORTED or (char in _ESCAPES and char != "e"):
            raise self._unsupported(f"\\{char} within [...]")
        return _ESCAPES.get(char, f"\\{char}")
