"""Expansion of `with_columns`, `without_columns` and ranges to columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.functions.udf_wrappers import UserDefinedAggregateFunctionWrapper
from firesteel.table.planner.nesting import refused_if_too_deep
from firesteel.table.syntax.unresolved import Alias, Apply, Lit, Ref, Star, Unresolved, constant, named_type

WINDOW_PROPERTIES = ("WINDOW_START", "WINDOW_END", "WINDOW_ROWTIME", "WINDOW_PROCTIME")


def select_items(fields: Iterable[Any], names: list[str]) -> tuple[Any, ...]:
    """Return the nodes of a select, with column selections expanded.

    Args:
        fields: Expressions, or names of columns.
        names: The available columns.
    """
    items: list[Any] = []
    with refused_if_too_deep():
        for field in fields:
            node = Ref((field,)) if isinstance(field, str) else node_of(field)
            items += _expanded(node, names)
        return tuple(_unique_aliases(items))


def _unique_aliases(items: list[Any]) -> Iterator[Any]:
    """Yield the items, with names as in the Table API: aggregates `EXPR$0`, casts `id-STRING`, others `_c1`."""
    generated = _generated_names(items)
    for position, item in enumerate(items):
        if isinstance(item, (Ref, Alias, Star)) or (isinstance(item, Apply) and item.function == "FLATTEN"):
            yield item
        else:
            yield Alias(item, (_name(item, generated) or f"_c{position}",))


def _name(item: Unresolved, generated: dict[Any, str]) -> str | None:
    """Return the name of an unnamed item, None if it gets one by its position."""
    if isinstance(item, Alias):
        return item.names[0]
    if isinstance(item, Ref):
        return item.path[-1]
    if isinstance(item, Apply) and item.function == "CAST":
        name = _name(item.operands[0], generated)
        return None if name is None else f"{name}-{type_text(named_type(item.operands[1]))}"
    if isinstance(item, Apply) and item.function == "DOT":
        base, field = item.operands
        name = _name(base, generated)
        return None if name is None else f"{name}${constant(field)}"
    return generated.get(_key(item))


def _generated_names(items: list[Any]) -> dict[Any, str]:
    """Return the names of aggregates and properties of windows."""
    names: dict[Any, str] = {}
    for item in items:
        for call in _calls(item):
            if is_aggregate(call) or _is_property(call):
                names.setdefault(_key(call), f"EXPR${len(names)}")
    return names


def _calls(node: Unresolved) -> Iterator[Apply]:
    if isinstance(node, Alias):
        yield from _calls(node.expression)
    elif isinstance(node, Apply):
        yield node
        if not is_aggregate(node):
            for operand in node.operands:
                yield from _calls(operand)


def is_aggregate(call: Apply) -> bool:
    """Return whether a call is that of an aggregate function."""
    if isinstance(call.function, str):
        return find_aggregate(call.function) is not None
    return isinstance(call.function, UserDefinedAggregateFunctionWrapper)


def _is_property(call: Apply) -> bool:
    return call.function in WINDOW_PROPERTIES


def _key(item: Unresolved) -> str:
    return repr(item)


def selected_names(fields: Iterable[Any], names: list[str]) -> list[str]:
    """Return the names of the columns that fields are.

    Raises:
        ValidationException: a field is no column.
    """
    found = []
    for item in select_items(fields, names):
        if not isinstance(item, Ref):
            raise ValidationException(f"Unexpected field expression {item}; expected columns")
        found.append(item.path[-1])
    return found


def _expanded(node: Unresolved, names: list[str]) -> list[Unresolved]:
    if isinstance(node, Ref) and node.path == ("*",):
        return [Star()]
    if isinstance(node, Apply) and node.function in ("WITH_COLUMNS", "WITHOUT_COLUMNS", "RANGE"):
        return [Ref((name,)) for name in _selected(node, names)]
    if isinstance(node, Apply) and any(_is_selection(operand) for operand in node.operands):
        operands = [item for operand in node.operands for item in _expanded(operand, names)]
        return [replace(node, operands=tuple(operands))]
    if isinstance(node, Alias):
        (inner,) = _expanded(node.expression, names) if not _is_selection(node.expression) else [node.expression]
        return [Alias(inner, node.names)]
    return [node]


def _is_selection(node: Unresolved) -> bool:
    return isinstance(node, Apply) and node.function in ("WITH_COLUMNS", "WITHOUT_COLUMNS", "RANGE")


def _selected(node: Apply, names: list[str]) -> list[str]:
    if node.function == "RANGE":
        start, end = (_index(operand, names) for operand in node.operands)
        if start > end:
            raise ValidationException(
                f"The start {names[start]} of a range of columns should not be behind the end {names[end]}."
            )
        return names[start : end + 1]
    chosen = [name for operand in node.operands for name in _of_operand(operand, names)]
    if node.function == "WITH_COLUMNS":
        return chosen
    return [name for name in names if name not in chosen]


def _of_operand(operand: Any, names: list[str]) -> list[str]:
    if _is_selection(operand):
        return _selected(operand, names)
    if isinstance(operand, Ref) and operand.path == ("*",):
        return names
    return [names[_index(operand, names)]]


def _index(operand: Unresolved, names: list[str]) -> int:
    if isinstance(operand, Ref) and operand.path[-1] in names:
        return names.index(operand.path[-1])
    if isinstance(operand, Lit) and isinstance(operand.value, int) and 1 <= operand.value <= len(names):
        return operand.value - 1
    shown = operand.path[-1] if isinstance(operand, Ref) else getattr(operand, "value", operand)
    raise ValidationException(f"Cannot resolve field [{shown}], input field list:[{', '.join(names)}].")
