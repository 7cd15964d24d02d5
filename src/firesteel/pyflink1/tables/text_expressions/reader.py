"""A position among the tokens of an expression."""

from __future__ import annotations

from firesteel.pyflink1.tables.text_expressions.tokens import ExpressionParserException, Token, parse_error, tokens_of


class TokenReader:
    """The tokens of a text, which are taken one after the other.

    Args:
        source: The text.
    """

    def __init__(self, source: str) -> None:
        self._source = source
        self._tokens = tokens_of(source)
        self._next = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self._tokens[self._next]

    def ahead(self, count: int = 1) -> Token:
        """Return a token after the next one."""
        return self._tokens[min(self._next + count, len(self._tokens) - 1)]

    def take(self) -> Token:
        """Take the next token."""
        token = self.token
        self._next += token.kind != "end"
        return token

    def at(self, *texts: str) -> bool:
        """Return whether the next token is one of several symbols."""
        return self.token.kind == "symbol" and self.token.text in texts

    def at_word(self, *words: str) -> bool:
        """Return whether the next token is one of several words in lower case; their case does not matter."""
        return self.token.kind == "name" and self.token.text.lower() in words

    def accept(self, *texts: str) -> str | None:
        """Take the next token if it is one of several symbols, and return it."""
        return self.take().text if self.at(*texts) else None

    def accept_word(self, *words: str) -> str | None:
        """Take the next token if it is one of several words, and return it."""
        return self.take().text if self.at_word(*words) else None

    def expect(self, text: str) -> None:
        """Take a symbol.

        Raises:
            ExpressionParserException: the next token is another one.
        """
        if self.accept(text) is None:
            raise self.error(f"'{text}' expected")

    def name(self) -> str:
        """Take a name.

        Raises:
            ExpressionParserException: the next token is none.
        """
        if self.token.kind != "name":
            raise self.error("name expected")
        return self.take().text

    def error(self, reason: str) -> ExpressionParserException:
        """Return an error at the next token."""
        return parse_error(self._source, self.token.column, reason)
