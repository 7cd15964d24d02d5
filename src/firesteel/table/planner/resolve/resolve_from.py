"""Resolution of the FROM clause: tables, joins, table functions."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from firesteel.columns.column_types import (
    ArrayType,
    BooleanType,
    DataType,
    IntType,
    MapType,
    MultisetType,
    RowType,
)
from firesteel.columns.rex import InputRef, Literal, OuterRef, Rex, UserCall, UserFunction
from firesteel.columns.type_text import quoted, type_text
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_connector import ResolvedTable
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import one_row, renamed
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
    is_deterministic,
    refs,
    result_row_type,
    row_type,
    shift,
    transform,
    unique_names,
)
from firesteel.table.planner.resolve.on_subqueries import OnSubqueries, Side, without_added_columns
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scans import scan
from firesteel.table.planner.resolve.scope import Scope, ScopeColumn, where
from firesteel.table.planner.resolve.select_hints import SelectHints, input_name, table_options
from firesteel.table.planner.resolve.subqueries import conjuncts_of, filter_by, has_subquery
from firesteel.table.planner.resolve.unresolved_tools import user_function
from firesteel.table.planner.rules.apply import beside_rows
from firesteel.table.planner.rules.joins import make_join
from firesteel.table.syntax import queries as q
from firesteel.table.syntax.queries import Query
from firesteel.table.syntax.unresolved import Apply, Ref, Unresolved

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.resolve_queries import QueryResolver


class FromResolver:
    """A resolver of the items of FROM.

    Args:
        queries: Resolves nested queries.
        outer: The scope of the enclosing query.
        conditions: The parts of WHERE. Those that an inner join can check are taken out, so that `FROM a, b WHERE
            a.k = b.k` is a join by key.
        hints: The hints of the SELECT, which its joins look up.
    """

    def __init__(
        self,
        queries: QueryResolver,
        outer: Scope | None,
        conditions: list[Unresolved] | None = None,
        hints: SelectHints | None = None,
    ) -> None:
        self.queries = queries
        self.context = queries.context
        self.outer = outer
        self._conditions = conditions if conditions is not None else []
        self._hints = hints or SelectHints((), self.context.hint_names, self.context.is_streaming)

    def resolve(self, item: Query) -> tuple[Rel, Scope]:
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
        return node, Scope.of(node.row_type, (), self.outer)

    def _table(self, item: q.TableRef) -> tuple[Rel, Scope]:
        node = self.queries.tables.get(item.path[0]) if len(item.path) == 1 else None
        if node is None:
            node = self._catalog_table(item)
        return node, Scope.of(node.row_type, item.path, self.outer)

    def _catalog_table(self, item: q.TableRef) -> Rel:
        found = self.context.catalogs.find_table(item.path)
        if found is None:
            name = ".".join(item.path)
            near = self.context.catalogs.names_near(item.path)
            hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
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
            node = self.queries.without_tables().resolve(node)
        return self._rename(node, tuple(found.columns or ()), item.path[-1])

    def _quoted(self, path: tuple[str, ...]) -> str:
        return ".".join(map(quoted, self.context.catalogs.qualify(path)))

    def _rename(self, node: Rel, columns: tuple[str, ...], name: str) -> Rel:
        return node if tuple(node.row_type.names) == columns else renamed(node, columns, name)

    def _named(self, item: q.Named) -> tuple[Rel, Scope]:
        node, _ = self.resolve(item.query)
        node = self._rename(node, item.columns, item.name)
        return node, Scope.of(node.row_type, (item.name,), self.outer)

    def _window(self, item: q.WindowTable) -> tuple[Rel, Scope]:
        node = self.queries.window_table(item, self.outer)
        return node, Scope.of(node.row_type, (), self.outer)

    def _match(self, item: q.MatchRecognize) -> tuple[Rel, Scope]:
        node = self.queries.match(item, self.outer)
        return node, Scope.of(node.row_type, (), self.outer)

    def _function(self, item: q.TableFunctionCall) -> tuple[Rel, Scope]:
        return self._correlate(one_row(), Scope((), self.outer), item, False, None)

    def _join(self, item: q.Join) -> tuple[Rel, Scope]:
        may_check = item.kind in ("CROSS", "INNER", "LEFT")
        left, left_scope = self._with_conditions(self._conditions if may_check else []).resolve(item.left)
        named = item.right if isinstance(item.right, q.Named) else None
        inner = named.query if named is not None else item.right
        if isinstance(inner, q.TableFunctionCall) and may_check:
            return self._correlate(left, left_scope, inner, item.kind == "LEFT", named, item.condition)
        if isinstance(inner, q.Lateral) and may_check:
            return self._lateral(item, (left, left_scope), inner, named)
        as_of = inner.as_of if isinstance(inner, q.TableRef) else None
        right, right_scope = self._with_conditions([]).resolve(item.right)
        width = len(left.row_type)
        both = _side_by_side(left_scope, right_scope, width, self.outer)
        kind = "INNER" if item.kind == "CROSS" else item.kind
        if kind in ("LEFT", "RIGHT", "FULL") and item.condition is not None and has_subquery(item.condition):
            return self._outer_join_on_subqueries(item, (left, left_scope), (right, right_scope), both)
        time = None if as_of is None else ExpressionResolver(left_scope, self.context.catalogs).resolve(as_of)
        parts = conjuncts_of(item.condition) if item.condition is not None and kind == "INNER" else []
        apart = [part for part in parts if has_subquery(part)]
        condition = self._condition(_without(item, apart), both, left_scope, right_scope, width)
        if kind == "INNER" and time is None:
            condition = self._and_where(condition, both)
        ttl = self._hints.of_join(input_name(item.left), input_name(item.right))
        node = make_join(left, right, kind, condition, self.context, time, state_ttl=ttl)
        if kind in ("SEMI", "ANTI"):
            return node, left_scope
        scope = self._joined_scope(item, node, left_scope, right_scope, width)
        return filter_by(node, apart, scope, self.queries), scope

    def _lateral(self, item: q.Join, left: Side, inner: q.Lateral, named: q.Named | None) -> tuple[Rel, Scope]:
        """Join each row with the rows of a query that may refer to it."""
        node = self.queries.resolve(inner.query, left[1])
        if named is not None:
            node = self._rename(node, named.columns or tuple(node.row_type.names), named.name)
        joined = beside_rows(left[0], node, item.kind == "LEFT", left[1].level, self.context)
        width, own = len(left[0].row_type), refs(joined.row_type)
        qualifier = () if named is None else (named.name,)
        columns = [ScopeColumn(n, qualifier, own[width + i]) for i, n in enumerate(node.row_type.names)]
        scope = Scope([*left[1].columns, *columns], self.outer)
        if item.condition is None:
            return joined, scope
        rex = ExpressionResolver(scope, self.context.catalogs).resolve(item.condition)
        if isinstance(rex, Literal) and rex.value is True:
            return joined, scope
        if item.kind == "LEFT":
            matching = rel.Filter(node, _of_right(rex, width, left[1].level))
            return beside_rows(left[0], matching, True, left[1].level, self.context), scope
        return rel.Filter(joined, rex), scope

    def _outer_join_on_subqueries(self, item: q.Join, left: Side, right: Side, both: Scope) -> tuple[Rel, Scope]:
        subqueries = OnSubqueries(self.queries, left, right, both)
        assert item.condition is not None
        condition = subqueries.without(item.condition)
        (more_left, left_scope), (more_right, right_scope) = subqueries.sides
        width = len(more_left.row_type)
        grown = _side_by_side(left_scope, right_scope, width, self.outer)
        rex = self._condition(replace(item, condition=condition), grown, left_scope, right_scope, width)
        ttl = self._hints.of_join(input_name(item.left), input_name(item.right))
        joined = make_join(more_left, more_right, item.kind, rex, self.context, None, state_ttl=ttl)
        node = without_added_columns(joined, left[0], right[0], more_left)
        return node, self._joined_scope(item, node, left[1], right[1], len(left[0].row_type))

    def _condition(self, item: q.Join, both: Scope, left: Scope, right: Scope, width: int) -> Rex | None:
        names = self._using(item, left, right)
        if names:
            catalogs = self.context.catalogs
            resolver = ExpressionResolver(both, catalogs)
            parts = [
                resolver.call("=", (left.find(Ref((name,))), shift(right.find(Ref((name,))), width))) for name in names
            ]
            result = parts[0]
            for part in parts[1:]:
                result = resolver.call("AND", (result, part))
            return result
        if item.condition is None:
            return None
        condition = ExpressionResolver(both, self.context.catalogs).resolve(item.condition)
        if not isinstance(condition.type, BooleanType):
            raise ValidationException("SQL validation failed. ON clause must be a condition")
        return condition

    def _with_conditions(self, conditions: list[Unresolved]) -> FromResolver:
        return FromResolver(self.queries, self.outer, conditions, self._hints)

    def _and_where(self, condition: Rex | None, both: Scope) -> Rex | None:
        """Return the condition with the parts of WHERE that the columns of both sides decide, which are taken out."""
        resolver = ExpressionResolver(Scope(both.columns), self.context.catalogs)
        for part in list(self._conditions):
            try:
                rex: Rex = resolver.resolve(part)
            except ValidationException:
                continue  # of tables further right, of the query around, or an error that is found later
            if isinstance(rex.type, BooleanType) and is_deterministic(rex):
                self._conditions.remove(part)
                condition = rex if condition is None else resolver.call("AND", (condition, rex))
        return condition

    def _using(self, item: q.Join, left: Scope, right: Scope) -> tuple[str, ...]:
        if not item.natural:
            return item.using
        names = {name for name, _ in right.star()}
        return tuple(name for name, _ in left.star() if name in names)

    def _joined_scope(self, item: q.Join, node: Rel, left: Scope, right: Scope, width: int) -> Scope:
        columns = _side_by_side(left, right, width, self.outer).columns
        types = node.row_type.field_types()

        def typed(rex: Rex) -> Rex:
            return InputRef(rex.index, types[rex.index]) if isinstance(rex, InputRef) else rex

        columns = tuple(replace(column, rex=typed(column.rex)) for column in columns)
        names = self._using(item, left, right)
        if not names:
            return Scope(columns, self.outer)
        merged = [self._merged(name, columns, item.kind) for name in names]
        rest = [replace(column, in_star=column.in_star and column.name not in names) for column in columns]
        return Scope([*merged, *rest], self.outer)

    def _merged(self, name: str, columns: tuple[ScopeColumn, ...], kind: str) -> ScopeColumn:
        first, second = [c.rex for c in columns if c.name == name][:2]
        rex = first
        if kind == "RIGHT":
            rex = second
        elif kind == "FULL":
            rex = ExpressionResolver(Scope(()), self.context.catalogs).call("COALESCE", (first, second))
        return ScopeColumn(name, (), rex)

    # --- table functions -----------------------------------------------------------------------------------------

    def _correlate(
        self,
        left: Rel,
        scope: Scope,
        item: q.TableFunctionCall,
        outer: bool,
        named: q.Named | None,
        condition: Unresolved | None = None,
    ) -> tuple[Rel, Scope]:
        resolver = ExpressionResolver(Scope(scope.columns, self.outer), self.context.catalogs)
        call = item.call
        if not isinstance(call, Apply):
            raise ValidationException(f"SQL validation failed. {call!r} is no call of a table function")
        function: str | UserFunction
        if call.function == "UNNEST":
            operands = tuple(resolver.resolve(operand) for operand in call.operands)
            function, kind = "UNNEST", _unnested(operands[0].type)
            if item.with_ordinality:
                function = "UNNEST WITH ORDINALITY"
                kind = row_type([*kind.names, "ORDINALITY"], [*kind.field_types(), IntType(False)])
        else:
            called, operands = self._table_function(call, resolver)
            function, kind = called, result_row_type(called)
        columns = named.columns if named is not None else ()
        if columns and len(columns) != len(kind):
            raise ValidationException(
                f"SQL validation failed. The table function returns {len(kind)} columns, but {len(columns)} names "
                f"{list(columns)} are given"
            )
        names = list(columns) or kind.names
        types = [t.nullable() if outer else t for t in kind.field_types()]
        joined = row_type(unique_names([*left.row_type.names, *names]), [*left.row_type.field_types(), *types])
        made = rel.Correlate(left, function, operands, outer, joined, kind)
        width = len(left.row_type)
        qualifier = (named.name,) if named is not None else ()
        new = [
            ScopeColumn(n, qualifier, InputRef(width + i, t)) for i, (n, t) in enumerate(zip(names, types, strict=True))
        ]
        both = Scope([*scope.columns, *new], self.outer)
        if condition is not None:
            rex = ExpressionResolver(both, self.context.catalogs).resolve(condition)
            if not (isinstance(rex, Literal) and rex.value is True):
                return (replace(made, condition=rex) if outer else rel.Filter(made, rex)), both
        return made, both

    def _table_function(self, call: Apply, resolver: ExpressionResolver) -> tuple[UserFunction, tuple[Rex, ...]]:
        function = call.function
        if isinstance(function, str):
            found = user_function(call, self.context.catalogs)
            if found is None:
                raise ValidationException(
                    f"SQL validation failed. {where(call.position, str(call.function))}No match found for function "
                    f"signature {call.function}"
                )
            function = found
        rex = resolver.resolve(replace(call, function=function))
        assert isinstance(rex, UserCall)
        return function, rex.operands


def _without(item: q.Join, parts: list[Unresolved]) -> q.Join:
    """Return a join without parts of its condition."""
    if not parts:
        return item
    assert item.condition is not None
    rest: list[Unresolved] = [part for part in conjuncts_of(item.condition) if part not in parts]
    return replace(item, condition=reduce(lambda a, b: Apply("AND", (a, b)), rest) if rest else None)


def _of_right(condition: Rex, width: int, level: int) -> Rex:
    """Return a condition of a join over the columns of its right side; those of the left side are of a query around."""

    def change(rex: Rex) -> Rex | None:
        if not isinstance(rex, InputRef):
            return None
        return OuterRef(rex, rex.type, level) if rex.index < width else InputRef(rex.index - width, rex.type)

    return transform(condition, change)


def _unnested(kind: DataType) -> RowType:
    """Return the columns of UNNEST: the fields of rows, key and value of maps, or the elements."""
    if isinstance(kind, MapType):
        return row_type(["f0", "f1"], [kind.key_type, kind.value_type])
    if not isinstance(kind, ArrayType | MultisetType):
        raise ValidationException(
            f"SQL validation failed. UNNEST takes an array, a map or a multiset, found {type_text(kind)}"
        )
    element = kind.element_type
    if isinstance(element, RowType):
        types = element.field_types()
        return row_type(element.names, [t.nullable() for t in types] if element.is_nullable else types)
    return row_type(["f0"], [element])


def _side_by_side(left: Scope, right: Scope, width: int, outer: Scope | None) -> Scope:
    moved = [replace(column, rex=shift(column.rex, width)) for column in right.columns]
    return Scope([*left.columns, *moved], outer)
