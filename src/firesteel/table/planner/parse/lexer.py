"""SQL text to tokens, with Flink's rules: backquoted identifiers, single-quoted strings, comments and hints."""

from __future__ import annotations

import re
from dataclasses import dataclass

from firesteel.common.table_errors import SqlParserError
from firesteel.common.values.surrogates import without_surrogates
from firesteel.table.syntax.unresolved import Position

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|--[^\n]*|//[^\n]*|/\*(?!\+)(?:.|\n)*?\*/)
  | (?P<hint>/\*\+|\*/)
  | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
  | (?P<bytes>[xX]'[0-9a-fA-F]*')
  | (?P<unicode>[uU]&'(?:[^']|'')*')
  | (?P<string>(?:[nN]|_[A-Za-z][\w-]*)?'(?:[^']|'')*')
  | (?P<quoted>`(?:[^`]|``)*`)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<operator><>|!=|>=|<=|\|\||=>|->|[-+*/%=<>(),.;\[\]{}?|^$:@])
    """,
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token of a statement.

    Attributes:
        kind: number, bytes, string, quoted, word, operator, hint or end.
        text: The text as written; for strings and quoted identifiers their value.
        start: Offset of its first character in the statement; `stop` is the offset after its last one.
    """

    kind: str
    text: str
    start: int
    stop: int

    @property
    def upper(self) -> str:
        """The word in upper case, empty where the token is no word."""
        return self.text.upper() if self.kind == "word" else ""


def position_of(sql: str, offset: int) -> Position:
    """Return line and column of an offset, both from 1."""
    line = sql.count("\n", 0, offset) + 1
    return Position(line, offset - (sql.rfind("\n", 0, offset) + 1) + 1)


def tokenize(sql: str) -> list[Token]:
    """Return the tokens of a text; the last one is of kind end.

    Raises:
        SqlParserError: a character can't begin a token, or a string has no end.
    """
    tokens, offset = [], 0
    while offset < len(sql):
        match = _TOKEN.match(sql, offset)
        if match is None:
            at = position_of(sql, offset)
            raise SqlParserError(
                f"SQL parse failed. Lexical error at line {at.line}, column {at.column}. "
                f"Encountered: {sql[offset]!r}" + (" (a string without end)" if sql[offset] == "'" else "")
            )
        kind = match.lastgroup or ""
        if kind != "space":
            tokens.append(Token(*_meaning(kind, match.group()), offset, match.end()))
        offset = match.end()
    tokens.append(Token("end", "<EOF>", len(sql), len(sql)))
    return tokens


def _meaning(kind: str, text: str) -> tuple[str, str]:
    if kind == "string":
        return "string", text[text.index("'") + 1 : -1].replace("''", "'")
    if kind == "unicode":
        plain = text[3:-1].replace("''", "'")
        found = re.sub(r"\\(?:\\|([0-9a-fA-F]{4}))", lambda m: chr(int(m[1], 16)) if m[1] else "\\", plain)
        return "string", without_surrogates(found)
    if kind == "quoted":
        return "quoted", text[1:-1].replace("``", "`")
    if kind == "bytes":
        return "bytes", text[2:-1]
    return kind, text
