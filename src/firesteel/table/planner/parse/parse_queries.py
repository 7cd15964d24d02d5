"""Queries of SQL: SELECT, FROM, joins, set operations, window table functions and MATCH_RECOGNIZE."""

from __future__ import annotations

from dataclasses import replace

from firesteel.columns.kernels.match_pattern import Pattern
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.parse.parse_hints import HintParser
from firesteel.table.planner.resolve.scope import where
from firesteel.table.syntax.queries import (
    GroupingSets,
    Join,
    Lateral,
    Limit,
    MatchRecognize,
    Named,
    OrderBy,
    Query,
    Select,
    SetOperation,
    TableFunctionCall,
    TableRef,
    ValuesQuery,
    WindowTable,
    With,
)
from firesteel.table.syntax.unresolved import Alias, Apply, Star, Unresolved, WindowSpec

_WINDOW_FUNCTIONS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP"),
}

_MODEL_FUNCTIONS = ("ML_PREDICT", "ML_EVALUATE")


_WindowArgument = tuple[Query, tuple[str, ...]] | str | Unresolved
"""An argument of TUMBLE(...): a table with its PARTITION BY, the column in DESCRIPTOR(...), or an expression."""


class QueryParser(HintParser):
    """A parser of queries."""

    def query(self) -> Query:
        """Take a query with its WITH, ORDER BY and LIMIT."""
        tables = []
        if self.accept("WITH"):
            tables = list(self.comma_list(self._common_table))
        body = self._union()
        if self.accept("ORDER", "BY"):
            body = OrderBy(body, self.comma_list(self.ordering))
        body = self._limit(body)
        return With(tuple(tables), body) if tables else body

    def _common_table(self) -> tuple[str, tuple[str, ...], Query]:
        name = self.name()
        columns = self.names() if self.at("(") else ()
        self.expect("AS", "(")
        query = self.query()
        self.expect(")")
        return name, columns, query

    def _limit(self, body: Query) -> Query:
        offset, fetch, found = 0, None, False
        while True:
            if self.accept("LIMIT"):
                found = True
                if not self.accept("ALL"):
                    fetch = self.integer()
                    if self.accept(","):
                        offset, fetch = fetch, self.integer()
            elif self.accept("OFFSET"):
                offset, found = self.integer(), True
                self.accept_any("ROW", "ROWS")
            elif self.accept("FETCH"):
                self.accept_any("FIRST", "NEXT")
                fetch = 1 if self.at_any("ROW", "ROWS") else self.integer()
                self.accept_any("ROW", "ROWS")
                self.expect("ONLY")
                found = True
            else:
                return Limit(body, offset, fetch) if found else body

    def _union(self) -> Query:
        left = self._intersect()
        while word := self.accept_any("UNION", "EXCEPT", "MINUS"):
            all_rows = bool(self.accept("ALL")) or bool(self.accept("DISTINCT") and False)
            kind = "EXCEPT" if word == "MINUS" else word
            left = SetOperation(kind, all_rows, left, self._intersect())
        return left

    def _intersect(self) -> Query:
        left = self._query_term()
        while self.accept("INTERSECT"):
            all_rows = bool(self.accept("ALL")) or bool(self.accept("DISTINCT") and False)
            left = SetOperation("INTERSECT", all_rows, left, self._query_term())
        return left

    def _query_term(self) -> Query:
        if self.accept("("):
            query = self.query()
            self.expect(")")
            return query
        if self.at("VALUES"):
            return self._values()
        if self.at("TABLE") and self.is_name(self.ahead()):
            self.next()
            position = self.position()
            return Select(TableRef(self.path(), position=position), (Star(),))
        return self._select()

    def _values(self) -> ValuesQuery:
        position = self.position()
        self.expect("VALUES")
        return ValuesQuery(self.comma_list(self._values_row), position=position)

    def _values_row(self) -> tuple[Unresolved, ...]:
        value = self.expression()
        if isinstance(value, Apply) and value.function == "ROW":
            return value.operands
        return (value,)

    def _select(self) -> Select:
        if not self.at("SELECT"):
            self.fail("SELECT", "VALUES", "WITH", "TABLE", "(")
        self.expect("SELECT")
        hints = self.hints()
        self.accept("STREAM")
        distinct = bool(self.accept("DISTINCT")) or bool(self.accept("ALL") and False)
        items = self.comma_list(self._item)
        if not self.accept("FROM"):
            return Select(None, items, distinct=distinct, hints=hints)
        source = self._from()
        where = self.expression() if self.accept("WHERE") else None
        group_by = self._group_by() if self.accept("GROUP", "BY") else None
        having = self.expression() if self.accept("HAVING") else None
        windows = self.comma_list(self._named_window) if self.accept("WINDOW") else ()
        qualify = self.expression() if self.accept("QUALIFY") else None
        return Select(source, items, where, group_by, having, distinct, windows, hints=hints, qualify=qualify)

    def _item(self) -> Unresolved:
        if self.accept("*"):
            return Star()
        expression = self.expression()
        if self.accept("AS") or self.is_name() or self.token.kind == "string":
            return Alias(expression, (self.string() if self.token.kind == "string" else self.name(),))
        return expression

    def _named_window(self) -> tuple[str, WindowSpec]:
        name = self.name()
        self.expect("AS")
        return name, self.window_spec()

    def _group_by(self) -> tuple[Unresolved | GroupingSets, ...]:
        self.accept_any("ALL", "DISTINCT")
        items = self.comma_list(self._group_item)
        return tuple(item for item in items if item is not None)

    def _group_item(self) -> Unresolved | GroupingSets | None:
        if self.at("(", ")"):
            self.expect("(", ")")
            return None
        if self.accept("GROUPING", "SETS"):
            return GroupingSets(tuple(_flattened(self.in_parentheses(self._grouping_set))))
        if self.accept("CUBE"):
            parts = self.in_parentheses(self._grouping_part)
            masks = range(2 ** len(parts) - 1, -1, -1)
            count = len(parts)
            return GroupingSets(
                tuple(sum((parts[i] for i in range(count) if mask >> (count - 1 - i) & 1), ()) for mask in masks)
            )
        if self.accept("ROLLUP"):
            parts = self.in_parentheses(self._grouping_part)
            return GroupingSets(tuple(sum(parts[:end], ()) for end in range(len(parts), -1, -1)))
        return self.expression()

    def _grouping_set(self) -> tuple[Unresolved, ...] | GroupingSets:
        if self.at("(", ")"):
            self.expect("(", ")")
            return ()
        item = self._group_item()
        if isinstance(item, GroupingSets):
            return item
        assert item is not None
        return item.operands if isinstance(item, Apply) and item.function == "ROW" else (item,)

    def _grouping_part(self) -> tuple[Unresolved, ...]:
        item = self.expression()
        return item.operands if isinstance(item, Apply) and item.function == "ROW" else (item,)

    # --- FROM ----------------------------------------------------------------------------------------------------

    def _from(self) -> Query:
        left = self._joined()
        while self.accept(","):
            left = Join(left, self._joined(), "CROSS")
        return left

    def _joined(self) -> Query:
        left = self._table()
        while (found := self._join_kind()) is not None:
            natural, kind = found
            right = self._table()
            if self.accept("ON"):
                left = Join(left, right, kind, self.expression())
            elif self.accept("USING"):
                left = Join(left, right, kind, using=self.names())
            else:
                left = Join(left, right, kind, natural=natural)
        return left

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
            query = self._match(query)
        return self._named(query)

    def _named(self, query: Query) -> Query:
        if not (self.accept("AS") or self.is_name()):
            return query
        name = self.name()
        query = Named(query, name, self.names() if self.at("(") else ())
        if self.accept("MATCH_RECOGNIZE"):
            return self._named(self._match(query))
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
            query = self._from()
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

    # --- MATCH_RECOGNIZE -----------------------------------------------------------------------------------------

    def _match(self, query: Query) -> MatchRecognize:
        self.expect("(")
        partition = self.comma_list(self.expression) if self.accept("PARTITION", "BY") else ()
        order = self.comma_list(self.ordering) if self.accept("ORDER", "BY") else ()
        measures = self.comma_list(self._measure) if self.accept("MEASURES") else ()
        all_rows = False
        if self.accept("ALL", "ROWS", "PER", "MATCH"):
            all_rows = True
        else:
            self.accept("ONE", "ROW", "PER", "MATCH")
        after: tuple[str, ...] = ("NEXT ROW",)
        if self.accept("AFTER", "MATCH", "SKIP"):
            after = self._after_match()
        self.expect("PATTERN", "(")
        pattern = self._anchored_pattern()
        self.expect(")")
        within = self.expression() if self.accept("WITHIN") else None
        subsets = self.comma_list(self._subset) if self.accept("SUBSET") else ()
        self.expect("DEFINE")
        define = self.comma_list(self._definition)
        self.expect(")")
        return MatchRecognize(query, partition, order, measures, pattern, define, after, all_rows, within, subsets)

    def _measure(self) -> Alias:
        self.accept_any("FINAL", "RUNNING")
        expression = self.expression()
        self.expect("AS")
        return Alias(expression, (self.name(),))

    def _after_match(self) -> tuple[str, ...]:
        if self.accept("PAST", "LAST", "ROW"):
            return ("PAST LAST ROW",)
        self.expect("TO")
        if self.accept("NEXT", "ROW"):
            return ("NEXT ROW",)
        word = self.accept_any("FIRST", "LAST") or "LAST"
        return (word, self.name())

    def _definition(self) -> tuple[str, Unresolved]:
        name = self.name()
        self.expect("AS")
        return name, self.expression()

    def _subset(self) -> tuple[str, tuple[str, ...]]:
        name = self.name()
        self.expect("=")
        return name, self.names()

    def _anchored_pattern(self) -> Pattern:
        has_start = self.accept("^")
        pattern = self._pattern()
        has_end = self.accept("$")
        return ("anchored", pattern) if has_start or has_end else pattern

    def _pattern(self) -> Pattern:
        parts = [self._pattern_sequence()]
        while self.accept("|"):
            parts.append(self._pattern_sequence())
        return parts[0] if len(parts) == 1 else ("or", tuple(parts))

    def _pattern_sequence(self) -> Pattern:
        parts = []
        while not self.at_any(")", "|", "-", "}", "$"):
            parts.append(self._pattern_factor())
        return parts[0] if len(parts) == 1 else ("concat", tuple(parts))

    def _pattern_factor(self) -> Pattern:
        if self.accept("("):
            part = self._pattern()
            self.expect(")")
        elif self.accept("{", "-"):
            part = ("exclude", self._pattern())
            self.expect("-", "}")
        elif self.at("PERMUTE", "("):
            self.next()
            part = ("permute", self.in_parentheses(self._pattern))
        else:
            part = ("var", self.name())
        low, high = self._quantifier()
        if (low, high) == (1, 1):
            return part
        return ("repeat", part, low, high, not self.accept("?"))

    def _quantifier(self) -> tuple[int, int | None]:
        if self.accept("*"):
            return 0, None
        if self.accept("+"):
            return 1, None
        if self.accept("?"):
            return 0, 1
        if self.at("{") and self.ahead().text != "-":
            self.expect("{")
            low = 0 if self.at(",") else self.integer()
            high: int | None = low
            if self.accept(","):
                high = None if self.at("}") else self.integer()
            self.expect("}")
            return low, high
        return 1, 1


def _flattened(sets: tuple[tuple[Unresolved, ...] | GroupingSets, ...]) -> list[tuple[Unresolved, ...]]:
    found: list[tuple[Unresolved, ...]] = []
    for item in sets:
        found.extend(item.sets if isinstance(item, GroupingSets) else [item])
    return found
