"""Hints of queries and tables: `/*+ STATE_TTL('a' = '1d'), BROADCAST(b) */`. Calcite: `SqlHint`."""

from __future__ import annotations

from firesteel.table.planner.parse.parse_expressions import ExpressionParser
from firesteel.table.syntax.hint_checks import check_hint
from firesteel.table.syntax.queries import Hint


class HintParser(ExpressionParser):
    """A parser of hints."""

    def hints(self) -> tuple[Hint, ...]:
        """Take `/*+ name, name(option, ...), name('key' = 'value', ...) */` if it follows.

        Raises:
            SqlParserError: it is malformed.
            ValidationException: there is no such hint, or it does not have such options.
        """
        if not self.accept("/*+"):
            return ()
        found = self.comma_list(self._hint)
        self.expect("*/")
        return found

    def _hint(self) -> Hint:
        position, name = self.position(), self.name()
        hint = Hint(name, position=position)
        if self.at("(") and not self.accept("(", ")"):
            if self.ahead(2).text == "=":
                hint = Hint(name, pairs=self.in_parentheses(self._pair), position=position)
            else:
                plain = self.ahead().kind in ("string", "number")
                hint = Hint(name, self.in_parentheses(self._literal if plain else self.name), position=position)
        check_hint(hint)
        return hint

    def _pair(self) -> tuple[str, str]:
        key = self.string() if self.token.kind == "string" else self.name()
        self.expect("=")
        return key, self.string()

    def _literal(self) -> str:
        return self.next().text if self.token.kind == "number" else self.string()
