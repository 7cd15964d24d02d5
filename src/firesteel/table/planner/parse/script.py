"""Splitting of SQL scripts into statements (Flink: `SqlMultiLineParser`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["ScriptStatement", "in_one_line", "split_statements"]

_PIECE = re.compile(
    r"""
    (?P<comment>--[^\n]*|//[^\n]*|/\*(?!\+)(?:.|\n)*?\*/)
  | (?P<quoted>'(?:[^']|'')*'|`(?:[^`]|``)*`)
  | (?P<open>'|`|/\*(?!\+))
  | (?P<end>;)
  | (?P<space>\s+)
  | (?P<word>\w+|[^\w\s])
    """,
    re.VERBOSE,
)
_BLOCK = re.compile(r"(EXECUTE |EXPLAIN [\w, ]*|COMPILE .*)?(BEGIN STATEMENT SET|STATEMENT SET BEGIN)", re.IGNORECASE)


class ScriptStatement(NamedTuple):
    """A statement of a script.

    Attributes:
        text: The statement without its semicolon.
        line: The line on which it begins, from 1.
        is_complete: Whether it ends with a semicolon.
    """

    text: str
    line: int
    is_complete: bool


def split_statements(script: str) -> Iterator[ScriptStatement]:
    """Yield the statements of a script; semicolons in strings, comments and statement sets do not end a statement."""
    begin: int | None = None
    words: list[str] = []
    last_end = position = 0
    while position < len(script):
        found = _PIECE.match(script, position)
        assert found is not None  # every character matches some alternative
        kind = found.lastgroup
        if kind == "open":
            begin = position if begin is None else begin
            # A string without end takes all that follows: whoever types it may still close it.
            last_end = len(script)
            break
        if kind == "end" and begin is not None and not _is_inside_block(words):
            yield _statement(script, begin, last_end, True)
            begin, words = None, []
        elif kind not in ("space", "comment", "end"):
            begin = position if begin is None else begin
            words.append(found.group().upper())
        position = found.end()
        # Comments behind a statement are not part of it, and those within are.
        if kind not in ("space", "comment"):
            last_end = position if kind != "end" else last_end
    if begin is not None:
        yield _statement(script, begin, last_end, False)


def in_one_line(statement: str) -> str:
    """Return a statement without its comments, and with one space in place of each gap outside of strings."""
    parts: list[str] = []
    for found in _PIECE.finditer(statement):
        part = " " if found.lastgroup in ("space", "comment") else found.group()
        if part != " " or parts[-1:] != [" "]:
            parts.append(part)
    return "".join(parts).strip()


def _is_inside_block(words: list[str]) -> bool:
    return _BLOCK.match(" ".join(words[:8])) is not None and words[-1] != "END"


def _statement(script: str, begin: int, end: int, is_complete: bool) -> ScriptStatement:
    return ScriptStatement(script[begin:end], script.count("\n", 0, begin) + 1, is_complete)
