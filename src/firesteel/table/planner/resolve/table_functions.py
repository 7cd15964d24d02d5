"""Resolution of what is in FROM beside each row of what precedes it: table functions, UNNEST and LATERAL."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from firesteel.columns.column_types import ArrayType, DataType, IntType, MapType, MultisetType, RowType
from firesteel.columns.rex import InputRef, Literal, Rex, SubqueryValue, UserCall, UserFunction
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.outer_refs import outer_values
from firesteel.table.planner.rel.projections import renamed
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import result_row_type, row_type, unique_names
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope, ScopeColumn, Side
from firesteel.table.planner.resolve.unresolved_tools import user_function
from firesteel.table.syntax import queries as q
from firesteel.table.syntax.unresolved import Apply, Unresolved, where

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager


Called = tuple[str | UserFunction, tuple[Rex, ...], RowType]
"""A function, its operands and the type of its rows."""


@dataclass(frozen=True)
class TableFunctions:
    """A resolver of table functions.

    Attributes:
        catalogs: Finds the functions.
        outer: The scope of the enclosing query.
    """

    catalogs: CatalogManager
    outer: Scope | None

    def correlate(
        self, left: Side, item: q.TableFunctionCall, is_outer: bool, named: q.Named | None, condition: Unresolved | None
    ) -> Side:
        """Return the join of each row with the rows that a function returns for it.

        Args:
            left: What the call may refer to.
            item: The call.
            is_outer: Whether rows are kept for which the function returns nothing.
            named: The names of the function's columns, or None.
            condition: The condition of the join, or None.

        Raises:
            ValidationException: there is no such function, or it has not as many columns as there are names.
        """
        return self._beside(left, self._called(item, Scope(left[1].columns, self.outer)), is_outer, named, condition)

    def lateral(
        self, left: Side, node: Rel, is_outer: bool, named: q.Named | None, condition: Unresolved | None
    ) -> Side:
        """Return the join of each row with the rows of a query that may refer to it; see `correlate`."""
        if named is not None:
            node, named = renamed(node, named.columns, named.name), replace(named, columns=())
        level = left[1].level
        kind = MultisetType(node.row_type, False)
        rows = SubqueryValue("ROWS", node, tuple(outer_values(node, level)), kind, level)
        return self._beside(left, ("LATERAL", (rows,), node.row_type), is_outer, named, condition)

    def _beside(
        self, left: Side, called: Called, is_outer: bool, named: q.Named | None, condition: Unresolved | None
    ) -> Side:
        (node, scope), (function, operands, kind) = left, called
        names = _names(kind, named)
        types = [t.nullable() if is_outer else t for t in kind.field_types()]
        joined = row_type(unique_names([*node.row_type.names, *names]), [*node.row_type.field_types(), *types])
        made = rel.Correlate(node, function, operands, is_outer, joined, kind)
        qualifier = () if named is None else (named.name,)
        own = [InputRef(len(node.row_type) + i, t) for i, t in enumerate(types)]
        columns = [ScopeColumn(name, qualifier, ref) for name, ref in zip(names, own, strict=True)]
        return self._filtered(made, condition, Scope([*scope.columns, *columns], self.outer))

    def _filtered(self, made: rel.Correlate, condition: Unresolved | None, both: Scope) -> Side:
        if condition is None:
            return made, both
        rex = ExpressionResolver(both, self.catalogs).resolve(condition)
        if isinstance(rex, Literal) and rex.value is True:
            return made, both
        # A filter above an outer one would drop rows for which the function has none.
        return (replace(made, condition=rex) if made.outer else rel.Filter(made, rex)), both

    def _called(self, item: q.TableFunctionCall, scope: Scope) -> Called:
        """Return the function, its operands and the type of its rows."""
        resolver, call = ExpressionResolver(scope, self.catalogs), item.call
        if not isinstance(call, Apply):
            raise ValidationException(f"SQL validation failed. {call!r} is no call of a table function")
        if call.function != "UNNEST":
            function, operands = self._table_function(call, resolver)
            return function, operands, result_row_type(function)
        operands = tuple(resolver.resolve(operand) for operand in call.operands)
        kind = _unnested(operands[0].type)
        if not item.with_ordinality:
            return "UNNEST", operands, kind
        numbered = row_type([*kind.names, "ORDINALITY"], [*kind.field_types(), IntType(False)])
        return "UNNEST WITH ORDINALITY", operands, numbered

    def _table_function(self, call: Apply, resolver: ExpressionResolver) -> tuple[UserFunction, tuple[Rex, ...]]:
        function = call.function
        if isinstance(function, str):
            found = user_function(call, self.catalogs)
            if found is None:
                raise ValidationException(
                    f"SQL validation failed. {where(call.position, str(call.function))}No match found for function "
                    f"signature {call.function}"
                )
            function = found
        rex = resolver.resolve(replace(call, function=function))
        assert isinstance(rex, UserCall)
        return function, rex.operands


def _names(kind: RowType, named: q.Named | None) -> list[str]:
    columns = named.columns if named is not None else ()
    if columns and len(columns) != len(kind):
        raise ValidationException(
            f"SQL validation failed. The table function returns {len(kind)} columns, but {len(columns)} names "
            f"{list(columns)} are given"
        )
    return list(columns) or kind.names


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
