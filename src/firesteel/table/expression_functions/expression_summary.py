"""Expressions of the Table API as text for messages. Flink: `Expression.asSummaryString`."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from firesteel.columns.column_types import DataType
from firesteel.columns.functions.definition_names import definition_name, is_written_in_capitals
from firesteel.columns.type_text import text_literal, type_text
from firesteel.table.syntax.unresolved import Alias, Apply, Lit, Ordering, OverCall, Ref, Star, TypeName

if TYPE_CHECKING:
    from firesteel.table.syntax.statements import ColumnDefinition, WatermarkDefinition

_MILLISECOND = datetime.timedelta(milliseconds=1)
_SYMBOLS = {"EXTRACT": 0, "FLOOR": 1, "CEIL": 1, "TIMESTAMPDIFF": 0}
"""The operands that are units of time."""

_TRIMS = {"BOTH": "true, true", "LEADING": "true, false", "TRAILING": "false, true"}
_NAMES: Mapping[str, str] = {
    "$SUM0": "sum0",
    "=>": "ASSIGNMENT",
    "DOT": "get",
    "INITCAP": "initCap",
    "IS JSON VALUE": "IS_JSON",
    "LISTAGG": "listAgg",
    "RANGE": "rangeTo",
    "TRY_CAST": "TRY_CAST",
    "WINDOW_END": "end",
    "WINDOW_PROCTIME": "proctime",
    "WINDOW_ROWTIME": "rowtime",
    "WINDOW_START": "start",
    "WITHOUT_COLUMNS": "withoutColumns",
    "WITH_COLUMNS": "withColumns",
}
"""Names of what is no function in SQL, or of what SQL calls by one of several names."""


def expression_summary(node: object) -> str:
    """Return an unresolved expression as calls of functions, such as `plus(a, 1)`."""
    match node:
        case Ref():
            return ".".join(node.path)
        case Lit():
            return _literal(node.value)
        case Apply():
            return _call(node)
        case Alias():
            names = (f"'{name}'" for name in node.names)
            return f"as({', '.join([expression_summary(node.expression), *names])})"
        case Ordering():
            return f"{'desc' if node.descending else 'asc'}({expression_summary(node.expression)})"
        case OverCall():
            return f"over({_call(node.call)}, {node.window if isinstance(node.window, str) else '...'})"
        case Star():
            return ".".join((*node.qualifier, "*"))
        case TypeName():
            return _type(node.type)
    return type(node).__name__


def definition_text(definition: ColumnDefinition | WatermarkDefinition) -> str:
    """Return the SQL text of a computed column or watermark, or the summary of its calls of the Table API."""
    return definition.text or expression_summary(definition.expression)


def _type(kind: object) -> str:
    return type_text(kind).removesuffix(" NOT NULL") if isinstance(kind, DataType) else str(kind)


def _literal(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case str():
            return text_literal(value)
        case datetime.timedelta():
            return str(value // _MILLISECOND)
        case (str(bound), str(unit)):
            return f"{bound}_{unit.removesuffix('S')}"
        case datetime.datetime():
            return value.isoformat()
    return str(value)


def _call(node: Apply) -> str:
    special = _SPECIAL.get(node.function) if isinstance(node.function, str) else None
    text = _plain(node) if special is None else special(node.operands)
    return f"distinct({text})" if node.distinct else text


def _plain(node: Apply) -> str:
    name = _name(node)
    texts = [expression_summary(operand) for operand in node.operands]
    symbol = _SYMBOLS.get(str(node.function))
    if symbol is not None and symbol < len(texts):
        texts[symbol] = texts[symbol].strip("'")
    return f"{name}({', '.join(texts)})"


def _name(node: Apply) -> str:
    if not isinstance(node.function, str):
        return str(getattr(node.function, "name", "function"))
    if node.named:
        return node.function
    known = _NAMES.get(node.function)
    return known or (node.function if is_written_in_capitals(node.function) else definition_name(node.function))


def _trim(operands: Sequence[object]) -> str:
    where = operands[0].value if isinstance(operands[0], Lit) else None
    return f"trim({', '.join([_TRIMS[str(where)], *map(expression_summary, operands[1:])])})"


def _cast(operands: Sequence[object]) -> str:
    value = expression_summary(operands[0])
    # `null_of(kind)` is a cast here, and a typed literal in Flink.
    return value if value == "null" else f"cast({value}, {expression_summary(operands[1])})"


def _json_option(operands: Sequence[object]) -> str:
    """Return the words of an option of a JSON function, behind the name of the option."""
    name, *words = (expression_summary(operand).strip("'") for operand in operands)
    if name == "WRAPPER":
        return f"STRING, {words[0].removeprefix('WITH ')}_ARRAY"  # after the type, which is STRING always
    return ", ".join(word.replace(" ", "_") for word in words)


def _json_value(operands: Sequence[object]) -> str:
    """Return a call of JSON_VALUE, in which each option has a default value, if only null."""
    texts = [expression_summary(operand) + (", null" if _is_bare_event(operand) else "") for operand in operands]
    return f"JSON_VALUE({', '.join(texts)})"


def _is_bare_event(option: object) -> bool:
    """Return whether an operand is ON EMPTY or ON ERROR without a default value."""
    match option:
        case Apply(function="JSON OPTION", operands=(Lit(value="EMPTY" | "ERROR"), _)):
            return True
    return False


def _first(operands: Sequence[object]) -> str:
    return expression_summary(operands[0])


def _is_json(kind: str, operands: Sequence[object]) -> str:
    return f"IS_JSON({expression_summary(operands[0])}, {kind})"


_SPECIAL: Mapping[str, Callable[[Sequence[object]], str]] = {
    "TRIM": _trim,
    "CAST": _cast,
    "ROWS": _first,
    "JSON OPTION": _json_option,
    "JSON_VALUE": _json_value,
    **{f"IS JSON {kind}": partial(_is_json, kind) for kind in ("SCALAR", "ARRAY", "OBJECT")},
}
