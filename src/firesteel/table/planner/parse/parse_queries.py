"""Queries of SQL: WITH, SELECT, GROUP BY, set operations, ORDER BY and LIMIT."""

from __future__ import annotations

from firesteel.common.table_errors import SqlParserException
from firesteel.table.planner.parse.parse_from import FromParser
from firesteel.table.syntax.queries import (
    GroupingSets,
    Limit,
    OrderBy,
    Query,
    Select,
    SetOperation,
    TableRef,
    ValuesQuery,
    With,
)
from firesteel.table.syntax.unresolved import Alias, Apply, Star, Unresolved, WindowSpec


class QueryParser(FromParser):
    """A parser of queries."""

    def query(self) -> Query:
        """Take a query with its WITH, ORDER BY and LIMIT."""
        tables = []
        if self.accept("WITH"):
            self.accept("RECURSIVE")  # as in Flink, for queries that are not: a table does not know itself
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
        offset, fetch = 0, None
        while True:
            if self.accept("LIMIT"):
                if not self.accept("ALL"):
                    fetch = self.integer()
                    if self.accept(","):
                        offset, fetch = fetch, self.integer()
            elif self.accept("OFFSET"):
                offset = self.integer()
                self.accept_any("ROW", "ROWS")
            elif self.accept("FETCH"):
                self.accept_any("FIRST", "NEXT")
                fetch = 1 if self.at_any("ROW", "ROWS") else self.integer()
                self.accept_any("ROW", "ROWS")
                self.expect("ONLY")
            else:
                return Limit(body, offset, fetch) if offset or fetch is not None else body

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
        if self.accept("STREAM"):
            raise SqlParserException("SQL parse failed. A table is no stream: leave out STREAM")
        distinct = bool(self.accept("DISTINCT")) or bool(self.accept("ALL") and False)
        items = self.comma_list(self._item)
        if not self.accept("FROM"):
            return Select(None, items, distinct=distinct, hints=hints)
        source = self.from_clause()
        where = self.expression() if self.accept("WHERE") else None
        has_groups = self.accept("GROUP", "BY")
        distinct_groups = has_groups and self.accept_any("ALL", "DISTINCT") == "DISTINCT"
        group_by = self._group_by() if has_groups else None
        having = self.expression() if self.accept("HAVING") else None
        windows = self.comma_list(self._named_window) if self.accept("WINDOW") else ()
        qualify = self.expression() if self.accept("QUALIFY") else None
        return Select(
            source,
            items,
            where,
            group_by,
            having,
            distinct,
            windows,
            hints=hints,
            qualify=qualify,
            distinct_groups=distinct_groups,
        )

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
            # From all columns to none, the first column in the highest bit.
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


def _flattened(sets: tuple[tuple[Unresolved, ...] | GroupingSets, ...]) -> list[tuple[Unresolved, ...]]:
    found: list[tuple[Unresolved, ...]] = []
    for item in sets:
        found.extend(item.sets if isinstance(item, GroupingSets) else [item])
    return found
