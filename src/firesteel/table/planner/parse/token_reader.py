"""The token reader, the common base of the parsers."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import NoReturn, TypeVar

from firesteel.columns.column_types import DataType
from firesteel.columns.type_text import parse_type
from firesteel.common.table_errors import SqlParserError
from firesteel.table.planner.parse.lexer import Token, position_of, tokenize
from firesteel.table.planner.parse.reserved_words import RESERVED, RESERVED_COLUMNS, RESERVED_FUNCTIONS
from firesteel.table.syntax.unresolved import Position

T = TypeVar("T")

_TYPE_ENDS = frozenset(
    [
        "PRIMARY",
        "UNIQUE",
        "COMMENT",
        "METADATA",
        "AS",
        "CONSTRAINT",
        "FROM",
        "FIRST",
        "AFTER",
        "WATERMARK",
        "VIRTUAL",
        "PRESERVE",
        "ON",
        "NULL",
        "DEFAULT",
    ]
)


class TokenReader:
    """The tokens of one text, and the current position."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self.tokens = tokenize(sql)
        self.index = 0

    @property
    def token(self) -> Token:
        """The token that is read next."""
        return self.tokens[self.index]

    def ahead(self, count: int = 1) -> Token:
        """Return a later token; after the end, the last one."""
        # The last token is the end, which equals no word, so a look ahead needs no check.
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def next(self) -> Token:
        """Take a token."""
        token = self.token
        self.index = min(self.index + 1, len(self.tokens) - 1)
        return token

    def position(self, token: Token | None = None) -> Position:
        """Return the position of a token, by default the next one."""
        return position_of(self.sql, (token or self.token).start)

    def at(self, *words: str) -> bool:
        """Return whether these words (or operators) follow."""
        for i, word in enumerate(words):
            token = self.ahead(i)
            if (token.upper or (token.text if token.kind in ("operator", "hint") else "")) != word:
                return False
        return True

    def at_any(self, *words: str) -> bool:
        """Return whether one of these words (or operators) follows."""
        return any(self.at(word) for word in words)

    def accept(self, *words: str) -> bool:
        """Take these words if they follow."""
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def accept_any(self, *words: str) -> str | None:
        """Take the one of these words that follows."""
        for word in words:
            if self.accept(word):
                return word
        return None

    def expect(self, *words: str) -> None:
        """Take these words.

        Raises:
            SqlParserError: something else follows.
        """
        for word in words:
            if not self.accept(word):
                self.fail(word)

    def fail(self, *wanted: str) -> NoReturn:
        """Raise Flink's error for an unexpected token.

        Raises:
            SqlParserError: always.
        """
        at = self.position()
        hint = _hint_of_quotes(self.token, wanted) or _hint(self.token, wanted)
        hint = hint or _hint_of_alias(self.tokens[max(0, self.index - 1)])
        listed = () if hint and len(wanted) > _MANY else wanted
        was = "" if not listed else "\nWas expecting one of:\n" + "\n".join(f'    "{word}" ...' for word in listed)
        text = self.token.text if self.token.kind != "string" else f"'{self.token.text}'"
        raise SqlParserError(
            f'SQL parse failed. Encountered "{text}" at line {at.line}, column {at.column}{hint}.{was}'
        )

    def is_name(self, token: Token | None = None) -> bool:
        """Return whether a token may be an identifier."""
        token = token or self.token
        return token.kind == "quoted" or (token.kind == "word" and token.upper not in RESERVED)

    def is_function(self) -> bool:
        """Return whether the next token may be the name of a function that is called."""
        return self.ahead().text == "(" and (self.is_name() or self.token.upper in RESERVED_FUNCTIONS)

    def is_column(self) -> bool:
        """Return whether the next token may be the name of a column without its table."""
        return self.is_name() or (self.token.upper in RESERVED_COLUMNS and self.ahead().text not in (".", "("))

    def name(self) -> str:
        """Take an identifier."""
        self._expect_name()
        return self.next().text

    def _expect_name(self) -> None:
        if not self.is_name():
            self.fail(_NAME)

    def path(self) -> tuple[str, ...]:
        """Take an identifier of several parts."""
        parts = [self.name()]
        while self.at(".") and (self.ahead().kind in ("word", "quoted")):
            self.next()
            parts.append(self.name())
        return tuple(parts)

    def string(self) -> str:
        """Take a string."""
        if self.token.kind != "string":
            self.fail("<QUOTED_STRING>")
        return self.next().text

    def integer(self) -> int:
        """Take a whole number."""
        if self.token.kind != "number" or not self.token.text.isdigit():
            self.fail("<UNSIGNED_INTEGER_LITERAL>")
        return int(self.next().text)

    def comma_list(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Take items between commas, at least one."""
        items = [item()]
        while self.accept(","):
            items.append(item())
        return tuple(items)

    def in_parentheses(self, item: Callable[[], T]) -> tuple[T, ...]:
        """Take items between commas, in parentheses."""
        self.expect("(")
        items = self.comma_list(item)
        self.expect(")")
        return items

    def names(self) -> tuple[str, ...]:
        """Take identifiers in parentheses."""
        return self.in_parentheses(self.name)

    def type(self) -> DataType:
        """Take a data type."""
        begin = self.token
        opened: list[str] = []
        while self.token.kind != "end":
            text = self.token.text
            if text in ("(", "<"):
                opened.append(self.tokens[self.index - 1].upper)
            elif text in (")", ">"):
                if not opened:
                    break
                opened.pop()
            elif not opened and self._ends_type(begin):
                break
            self.next()
            if opened and opened[-1] == "ROW" and text in ("(", "<", ",") and self.token.text not in (")", ">"):
                self._expect_name()
        if self.token is begin or begin.upper == "NULL":
            self.fail("<DATA TYPE>")
        try:
            return parse_type(self.sql[begin.start : self.tokens[self.index - 1].stop], in_statement=True)
        except ValueError as error:
            at = self.position(begin)
            raise SqlParserError(f"SQL parse failed. {error} at line {at.line}, column {at.column}.") from error

    def _ends_type(self, begin: Token) -> bool:
        token = self.token
        if token.text == "," or (token.kind == "operator" and token.text not in ("(", ")", "<", ">")):
            return True
        if token.kind == "string" or token is begin:
            return token.kind == "string"
        if token.upper == "NOT":
            return self.ahead().upper != "NULL"
        if token.upper == "NULL":
            return self.tokens[self.index - 1].upper != "NOT" and self.ahead().upper == "ON"
        return token.upper in _TYPE_ENDS


_NAME = "<IDENTIFIER>"

_MANY = 8
"""More words than these are not listed if one of them is likely to be meant."""

_CLAUSES: tuple[str, ...] = (
    "FROM",
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "UNION",
    "LIMIT",
    "VALUES",
    "SELECT",
    "JOIN",
    "WITH",
)
"""Words that may follow where only the end of a statement is expected, as a misspelt one is read as an alias."""


def _hint(token: Token, wanted: tuple[str, ...]) -> str:
    """Return what a misspelt keyword may be meant as."""
    if token.kind != "word":
        return ""
    near = get_close_matches(token.upper, dict.fromkeys((*wanted, *_CLAUSES)), 1, cutoff=0.75)
    return f' (did you mean "{near[0]}"?)' if near and near[0] != token.upper else ""


def _hint_of_alias(token: Token) -> str:
    """Return what the word before an unexpected one may be meant as: `SELECT a FORM t` reads FORM as an alias."""
    near = get_close_matches(token.upper, _CLAUSES, 1, cutoff=0.75) if token.kind == "word" else []
    return f' ("{token.text}" before it: did you mean "{near[0]}"?)' if near and near[0] != token.upper else ""


def _hint_of_quotes(token: Token, wanted: tuple[str, ...]) -> str:
    """Return how a reserved word is written where a name is expected."""
    if _NAME not in wanted or token.upper not in RESERVED or token.upper in _CLAUSES:
        return ""
    return f' ("{token.text}" is a reserved word: quote it to use it as a name, `{token.text}`)'
