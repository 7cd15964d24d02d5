"""Resolution of the FROM clause: tables, views, and what stands beside them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from firesteel.columns.type_text import quoted_path
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_connector import ResolvedTable
from firesteel.table.planner.rel.projections import one_row, renamed
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.resolve.resolve_joins import JoinResolver
from firesteel.table.planner.resolve.scans import scan
from firesteel.table.planner.resolve.scope import Scope, Side
from firesteel.table.planner.resolve.select_hints import SelectHints
from firesteel.table.planner.resolve.table_functions import TableFunctions
from firesteel.table.syntax import queries as q
from firesteel.table.syntax.hint_checks import table_options
from firesteel.table.syntax.queries import Query
from firesteel.table.syntax.unresolved import where

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.resolve_queries import QueryResolver


class FromResolver:
    """A resolver of the items of FROM.

    Args:
        queries: Resolves nested queries.
        outer: The scope of the enclosing query.
        hints: The hints of the SELECT, which its joins look up.
    """

    def __init__(
        self,
        queries: QueryResolver,
        outer: Scope | None,
        hints: SelectHints | None = None,
    ) -> None:
        self.queries = queries
        self.context = queries.context
        self.outer = outer
        self._hints = hints or SelectHints((), self.context.hint_names, self.context.is_streaming)
        self._functions = TableFunctions(self.context.catalogs, outer)

    def resolve(self, item: Query) -> Side:
        """Return node and scope of an item.

        Raises:
            ValidationException: a name is unknown, or a condition does not fit.
        """
        match item:
            case q.TableRef():
                return self._table(item)
            case q.Named():
                return self._named(item)
            case q.WindowTable():
                return self._window(item)
            case q.MatchRecognize():
                return self._match(item)
            case q.TableFunctionCall():
                return self._function(item)
            case q.Lateral():
                return self.resolve(item.query)
            case q.Join():
                return self._join(item)
        node = self.queries.resolve(item, self.outer)
        return node, Scope.of(node.row_type, (), self.outer, self.queries.names_of(item, node))

    def _table(self, item: q.TableRef) -> Side:
        if item.as_of is not None:
            raise ValidationException(
                f"SQL validation failed. {where(item.position)}FOR SYSTEM_TIME AS OF is for the right side of a join: "
                "no catalog has tables with a time travel"
            )
        if len(item.path) == 1 and item.path[0] in self.queries.tables:
            node, names = self.queries.tables[item.path[0]]
            return node, Scope.of(node.row_type, item.path, self.outer, names)
        node = self._catalog_table(item)
        return node, Scope.of(node.row_type, item.path, self.outer)

    def _catalog_table(self, item: q.TableRef) -> Rel:
        found = self.context.catalogs.find_table(item.path)
        if found is None:
            name = ".".join(item.path)
            hint = self.context.catalogs.hint_near(item.path)
            raise ValidationException(
                f"SQL validation failed. {where(item.position, name)}Object '{name}' not found{hint}"
            )
        if isinstance(found, ResolvedTable):
            options = table_options(item.hints)
            return scan(replace(found, options={**found.options, **options}) if options else found, self.context)
        if table_options(item.hints):
            raise ValidationException(
                f"SQL validation failed. {where(item.position, '.'.join(item.path))}View '{self._quoted(item.path)}' "
                "cannot be enriched with new options. Hints can only be applied to tables."
            )
        node = found.query
        if not hasattr(node, "row_type"):
            # A view means the same wherever it is used, whatever WITH around it names.
            node = self.queries.without_tables().resolve(node)
        return renamed(node, tuple(found.columns or ()), item.path[-1])

    def _quoted(self, path: tuple[str, ...]) -> str:
        return quoted_path(self.context.catalogs.qualify(path))

    def _named(self, item: q.Named) -> Side:
        node, scope = self.resolve(item.query)
        names = list(item.columns) or [column.name for column in scope.columns]
        node = renamed(node, item.columns, item.name)
        return node, Scope.of(node.row_type, (item.name,), self.outer, names)

    def _window(self, item: q.WindowTable) -> Side:
        node = self.queries.window_table(item, self.outer)
        return node, Scope.of(node.row_type, (), self.outer)

    def _match(self, item: q.MatchRecognize) -> Side:
        node = self.queries.match(item, self.outer)
        return node, Scope.of(node.row_type, (), self.outer)

    def _function(self, item: q.TableFunctionCall) -> Side:
        return self._functions.correlate((one_row(), Scope((), self.outer)), item, False, None, None)

    def _join(self, item: q.Join) -> Side:
        is_lateral = item.kind in ("CROSS", "INNER", "LEFT")
        left = self.resolve(item.left)
        named = item.right if isinstance(item.right, q.Named) else None
        inner = named.query if named is not None else item.right
        if isinstance(inner, q.TableFunctionCall) and is_lateral:
            return self._functions.correlate(left, inner, item.kind == "LEFT", named, item.condition)
        if isinstance(inner, q.Lateral) and is_lateral:
            query = self.queries.resolve(inner.query, left[1])
            return self._functions.lateral(left, query, item.kind == "LEFT", named, item.condition)
        joins = JoinResolver(self.queries, self.outer, self._hints)
        as_of = inner.as_of if isinstance(inner, q.TableRef) else None
        right = replace(inner, as_of=None) if isinstance(inner, q.TableRef) else inner
        right = right if named is None else replace(named, query=right)
        return joins.join(item, left, self.resolve(right), as_of)
