"""Tokens of expressions as text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from firesteel.common.table_errors import ValidationException

_TOKEN = re.compile(
    r"""\s*(?:
        (?P<number>(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?(?:[lLfFdDpP](?![\w$]))?)
      | (?P<text>'(?:''|[^'])*'|"(?:""|[^"])*")
      | (?P<name>[^\W\d][\w$]*|\$[\w$]*)
      | (?P<symbol>===|!==|&&|\|\||==|!=|<>|>=|<=|[-+*/%=<>!?().,])
    )""",
    re.VERBOSE,
)


class ExpressionParserException(ValidationException):
    """A text is not an expression. Flink: `ExpressionParserException`."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token.

    Attributes:
        kind: `number`, `text`, `name`, `symbol` or `end`.
        text: The token as written.
        column: The position of its first character, from 1.
    """

    kind: str
    text: str
    column: int


def tokens_of(source: str) -> list[Token]:
    """Return the tokens of a text, and the end.

    Raises:
        ExpressionParserException: a character belongs to no token.
    """
    found: list[Token] = []
    position = 0
    while source[position:].strip():
        match = _TOKEN.match(source, position)
        if match is None:
            start = position + len(source[position:]) - len(source[position:].lstrip())
            raise parse_error(source, start + 1, "unknown character")
        assert match.lastgroup is not None
        found.append(Token(match.lastgroup, match[match.lastgroup], match.start(match.lastgroup) + 1))
        position = match.end()
    return [*found, Token("end", "", len(source) + 1)]


def parse_error(source: str, column: int, reason: str) -> ExpressionParserException:
    """Return the error for a text, which shows the part that could not be parsed."""
    fragment = source[column - 1 :] or "end of expression"
    return ExpressionParserException(
        f"Could not parse expression '{source}' at column {column}: {reason} at '{fragment}'"
    )
