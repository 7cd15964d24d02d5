"""Walks over expressions that are not resolved yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeGuard

from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.functions.definition_names import definition_name
from firesteel.columns.rex import UserFunction
from firesteel.table.syntax.unresolved import Alias, Apply, Ordering, OverCall, Ref, Unresolved, WindowSpec

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager

GROUP_WINDOWS = frozenset({"TUMBLE", "HOP", "SESSION"})


def parts(expression: Unresolved) -> tuple[Unresolved, ...]:
    """Return the parts of an expression, without those of subqueries."""
    if isinstance(expression, Apply):
        condition = () if expression.condition is None else (expression.condition,)
        return (*expression.operands, *condition, *expression.order_by)
    if isinstance(expression, Alias | Ordering):
        return (expression.expression,)
    if isinstance(expression, OverCall):
        window = expression.window
        spec = (*window.partition_by, *window.order_by) if isinstance(window, WindowSpec) else ()
        return (*expression.call.operands, *spec)
    return ()


def walk(expression: Unresolved) -> Iterator[Unresolved]:
    """Yield an expression and all within it."""
    yield expression
    for part in parts(expression):
        yield from walk(part)


def with_values(expression: Unresolved, values: Mapping[str, Unresolved]) -> Unresolved:
    """Return an expression in which names stand for values; subqueries keep their names."""

    def change(part: Unresolved) -> Unresolved:
        return with_values(part, values)

    def ordering(part: Ordering) -> Ordering:
        return replace(part, expression=change(part.expression))

    match expression:
        case Ref(path=(name,)):
            return values.get(name, expression)
        case Alias() | Ordering():
            return replace(expression, expression=change(expression.expression))
        case Apply():
            return replace(
                expression,
                operands=tuple(map(change, expression.operands)),
                condition=None if expression.condition is None else change(expression.condition),
                order_by=tuple(map(ordering, expression.order_by)),
            )
        case OverCall(window=WindowSpec() as window):
            spec = replace(
                window,
                partition_by=tuple(map(change, window.partition_by)),
                order_by=tuple(map(ordering, window.order_by)),
            )
            call = expression.call
            return OverCall(replace(call, operands=tuple(map(change, call.operands))), spec)
    return expression


def user_function(call: Apply, catalogs: CatalogManager | None) -> UserFunction | None:
    """Return the user's function that a call by name means, None: it means a built-in function, or none."""
    if catalogs is None or not isinstance(call.function, str):
        return None
    if not call.named:
        in_table_api = call.position is None
        return catalogs.functions.system(definition_name(call.function)) if in_table_api else None
    return catalogs.find_function(tuple(call.function.split(".")))


def is_aggregate(expression: Unresolved, catalogs: CatalogManager | None) -> TypeGuard[Apply]:
    """Return whether an expression is the call of an aggregate function."""
    if not isinstance(expression, Apply):
        return False
    function = expression.function
    if isinstance(function, str):
        user = user_function(expression, catalogs)
        if user is None:
            return find_aggregate(function) is not None
        function = user
    return hasattr(function, "is_table_aggregate")


def has_aggregate(expression: Unresolved, catalogs: CatalogManager | None) -> bool:
    """Return whether an aggregate function is called somewhere in an expression."""
    return any(is_aggregate(part, catalogs) for part in walk(expression))


def group_window(item: object) -> Apply | None:
    """Return the group window that an item of GROUP BY is, None: it is none."""
    call = item.expression if isinstance(item, Alias) else item
    if isinstance(call, Apply) and isinstance(call.function, str) and call.function.upper() in GROUP_WINDOWS:
        return call
    return None


def name_of(item: object) -> str | None:
    """Return the column name of a SELECT item, or None."""
    if isinstance(item, Alias):
        return item.names[0]
    if isinstance(item, Ref):
        return item.path[-1]
    if isinstance(item, Apply) and not item.operands and item.function in _NAMED_BY_THEMSELVES:
        return str(item.function)
    return None


_NAMED_BY_THEMSELVES = frozenset(
    {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "CURRENT_ROW_TIMESTAMP"}
)
