"""FROM: tables, joins, table functions and window table functions."""

from __future__ import annotations

from dataclasses import replace

from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.parse.parse_patterns import PatternParser
from firesteel.table.syntax.queries import Join, Lateral, Named, Query, TableFunctionCall, TableRef, WindowTable
from firesteel.table.syntax.unresolved import Apply, Unresolved, where

_WINDOW_FUNCTIONS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}

_MODEL_FUNCTIONS = ("ML_PREDICT", "ML_EVALUATE")


_WindowArgument = tuple[Query, tuple[str, ...]] | str | Unresolved
"""An argument of TUMBLE(...): a table with its PARTITION BY, the column in DESCRIPTOR(...), or an expression."""


class FromParser(PatternParser):
    """A parser of the FROM clause."""

    def from_clause(self) -> Query:
        """Take the tables and joins that follow FROM."""
        left = self._joined()
        while self.accept(","):
            left = Join(left, self._joined(), "CROSS")
        return left

    def _joined(self) -> Query:
        left = self._table()
        while (found := self._join_kind()) is not None:
            natural, kind = found
            right = self._table()
            if self.at("ON") or self.at("USING"):
                self._refuse_condition(natural, kind)
            if self.accept("ON"):
                left = Join(left, right, kind, self.expression())
            elif self.accept("USING"):
                left = Join(left, right, kind, using=self.names())
            else:
                left = Join(left, right, kind, natural=natural)
        return left

    def _refuse_condition(self, natural: bool, kind: str) -> None:
        if natural:
            raise ValidationException("SQL validation failed. Cannot specify NATURAL keyword with ON or USING clause")
        if kind == "CROSS":
            raise ValidationException(
                "SQL validation failed. Cannot specify condition (NATURAL keyword, or ON or USING clause) following "
                "CROSS JOIN"
            )

    def _join_kind(self) -> tuple[bool, str] | None:
        begin = self.index
        natural = self.accept("NATURAL")
        if self.accept("CROSS", "JOIN"):
            return natural, "CROSS"
        word = self.accept_any("INNER", "LEFT", "RIGHT", "FULL") or "INNER"
        if word in ("LEFT", "RIGHT", "FULL"):
            self.accept("OUTER")
            word = self.accept_any("SEMI", "ANTI") or word if word == "LEFT" else word
        if self.accept("JOIN"):
            return natural, word
        self.index = begin
        return None

    def _table(self) -> Query:
        query = self._table_primary()
        if self.accept("MATCH_RECOGNIZE"):
            query = self.match_recognize(query)
        return self._named(query)

    def _named(self, query: Query) -> Query:
        if not (self.accept("AS") or self.is_name()):
            return query
        name = self.name()
        query = Named(query, name, self.names() if self.at("(") else ())
        if self.accept("MATCH_RECOGNIZE"):
            return self._named(self.match_recognize(query))
        return query

    def _refuse_model_function(self) -> None:
        if self.token.upper in _MODEL_FUNCTIONS and self.ahead().text == "(":
            place = where(self.position(), self.token.text)
            raise ValidationException(
                f"SQL validation failed. {place}{self.token.upper} is not supported: models can't be executed"
            )

    def _table_primary(self) -> Query:
        if self.accept("LATERAL"):
            if self.accept("TABLE", "("):
                self._refuse_model_function()
                call = self.expression()
                self.expect(")")
                return TableFunctionCall(call)
            return Lateral(self._table_primary())
        if self.accept("UNNEST", "("):
            call = Apply("UNNEST", self.comma_list(self.expression))
            self.expect(")")
            return TableFunctionCall(call, self.accept("WITH", "ORDINALITY"))
        if self.accept("TABLE", "("):
            query = self._table_function()
            self.expect(")")
            return query
        if self.at("("):
            if self.at_query():
                self.expect("(")
                query = self.query()
                self.expect(")")
                return query
            self.expect("(")
            query = self.from_clause()
            self.expect(")")
            return query
        if self.token.upper in _WINDOW_FUNCTIONS and self.ahead().text == "(":
            return self._table_function()
        return self._table_name()

    def _table_name(self) -> Query:
        self._refuse_model_function()
        position = self.position()
        path = self.path()
        if self.at("("):
            # The name is the function's, which the parser of expressions takes.
            self.index -= 1
            return TableFunctionCall(self.expression())
        table = TableRef(path, position=position, hints=self.hints())
        if self.accept("FOR"):
            self.expect("SYSTEM_TIME", "AS", "OF")
            table = replace(table, as_of=self.sum())
        return table

    def options(self) -> tuple[tuple[str, str], ...]:
        """Take `('key' = 'value', ...)`."""
        if self.at("(", ")"):
            self.expect("(", ")")
            return ()
        return self.in_parentheses(self._option)

    def _option(self) -> tuple[str, str]:
        key = self.string()
        self.expect("=")
        return key, self.string()

    def _table_function(self) -> Query:
        """Take TUMBLE(...) and the like, or a call of a table function."""
        self._refuse_model_function()
        word, position = self.token.upper, self.position()
        if word not in _WINDOW_FUNCTIONS or self.ahead().text != "(":
            return TableFunctionCall(self.expression())
        self.next()
        arguments: dict[str, Unresolved] = {}
        query: Query | None = None
        time_column: str | None = None
        partition: tuple[str, ...] = ()
        self.expect("(")
        for index, (name, value) in enumerate(self.comma_list(self._window_argument)):
            key = (name or _WINDOW_FUNCTIONS[word][index]).upper()
            if key == "DATA" and isinstance(value, tuple):
                query, partition = value
            elif key == "TIMECOL" and isinstance(value, str):
                time_column = value
            elif not isinstance(value, tuple | str):
                arguments[key] = value
        self.expect(")")
        lengths = tuple(arguments[key] for key in _WINDOW_FUNCTIONS[word][2:] if key in arguments and key != "OFFSET")
        given = {*arguments, *["DATA"] * (query is not None), *["TIMECOL"] * (time_column is not None)}
        missing = [key for key in _WINDOW_FUNCTIONS[word] if key not in given and key != "OFFSET"]
        if query is None or time_column is None or missing:
            self.fail(*missing)
        return WindowTable(word, query, time_column, lengths, arguments.get("OFFSET"), partition, position)

    def _window_argument(self) -> tuple[str | None, _WindowArgument]:
        name = None
        if self.token.kind in ("word", "quoted") and self.ahead().text == "=>":
            name = self.name()
            self.next()
        if self.at("TABLE"):
            self.next()
            table = self.table_argument()
            partition: tuple[str, ...] = ()
            if self.accept("PARTITION", "BY"):
                partition = self.names() if self.at("(") else (self.name(),)
                # A comma ends PARTITION BY or goes on with it: what follows decides, as DESCRIPTOR is the next
                # argument.
                while self.at(",") and self._is_column(1):
                    self.next()
                    partition = (*partition, self.name())
            return name, (table, partition)
        if self.accept("DESCRIPTOR"):
            return name, self.names()[0]
        if self.at("("):
            return name, (self.table_argument(), ())
        return name, self.expression()

    def _is_column(self, offset: int) -> bool:
        """Return whether a token names a column of PARTITION BY, and does not begin the next argument."""
        token = self.ahead(offset)
        return self.is_name(token) and token.upper != "DESCRIPTOR" and self.ahead(offset + 1).text != "=>"

    def table_argument(self) -> Query:
        """Parse the argument after TABLE: a name or a query in parentheses."""
        if self.accept("("):
            query = self.query()
            self.expect(")")
            return query
        position = self.position()
        return TableRef(self.path(), position=position)
