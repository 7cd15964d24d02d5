"""Expressions as text: for messages, and as the SQL that Flink stores of computed columns."""

from __future__ import annotations

import datetime
from collections.abc import Callable

from firesteel.columns.column_types import DataType, DayTimeIntervalType, YearMonthIntervalType
from firesteel.columns.type_text import quoted, text_literal, type_text
from firesteel.table.syntax.unresolved import Alias, Apply, Lit, Ordering, OverCall, Ref, Star, TypeName

_INFIX = frozenset(("+", "-", "*", "/", "%", "||", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "LIKE", "SIMILAR TO"))
_RANGES = frozenset(("BETWEEN", "NOT BETWEEN"))
_PRECEDENCE = {"OR": 1, "AND": 2, "+": 5, "-": 5, "||": 5, "*": 6, "/": 6, "%": 6}
_COMPARISON = 4
_SECONDS = {"DAY": 86400, "HOUR": 3600, "MINUTE": 60, "SECOND": 1}


def expression_text(node: object) -> str:
    """Return an unresolved expression for a message: as SQL, without quotes around names."""
    return _node_text(node, str)


def expression_sql(node: object) -> str:
    """Return an unresolved expression as SQL, with quoted names (Flink: `asSerializableString`)."""
    return _node_text(node, quoted)


def _node_text(node: object, name: Callable[[str], str]) -> str:
    if isinstance(node, Ref):
        return ".".join(map(name, node.path))
    if isinstance(node, Lit):
        return _literal(node)
    if isinstance(node, Apply):
        return _call(node, name)
    if isinstance(node, Alias):
        names = ", ".join(map(name, node.names))
        return f"{_node_text(node.expression, name)} AS {names if len(node.names) == 1 else f'({names})'}"
    if isinstance(node, Ordering):
        return f"{_node_text(node.expression, name)} {'DESC' if node.descending else 'ASC'}"
    if isinstance(node, OverCall):
        return f"{_call(node.call, name)} OVER {node.window if isinstance(node.window, str) else '(...)'}"
    if isinstance(node, Star):
        return ".".join((*map(name, node.qualifier), "*"))
    if isinstance(node, TypeName):
        return type_text(node.type) if isinstance(node.type, DataType) else str(node.type)
    return type(node).__name__


def _literal(node: Lit) -> str:
    value = node.value
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return text_literal(value)
    if isinstance(node.type, DayTimeIntervalType) and isinstance(value, datetime.timedelta):
        return _interval(value, node.type)
    if isinstance(node.type, YearMonthIntervalType) and isinstance(value, int):
        return f"INTERVAL '{value // 12}-{value % 12}' YEAR TO MONTH"
    if isinstance(value, datetime.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, datetime.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, datetime.time):
        return f"TIME '{value.isoformat()}'"
    return str(value)


def _interval(value: datetime.timedelta, kind: DayTimeIntervalType) -> str:
    unit = kind.resolution.name
    seconds = value.total_seconds()
    if unit in _SECONDS:
        return f"INTERVAL '{seconds / _SECONDS[unit]:.6g}' {unit}"
    days, rest = divmod(seconds, 86400)
    hours, rest = divmod(rest, 3600)
    minutes, seconds = divmod(rest, 60)
    return f"INTERVAL '{days:.0f} {hours:02.0f}:{minutes:02.0f}:{seconds:06.3f}' DAY TO SECOND(3)"


def _call(node: Apply, name: Callable[[str], str]) -> str:
    function = node.function if isinstance(node.function, str) else getattr(node.function, "name", "function")
    if function in _INFIX and len(node.operands) > 1:
        left, *others = node.operands
        own = _PRECEDENCE.get(function, _COMPARISON)
        first = own + (own == _COMPARISON)  # comparisons of comparisons have parentheses on both sides
        return f" {function} ".join([_within(left, first, name), *(_within(other, own + 1, name) for other in others)])
    if function in _RANGES:
        value, low, high = (_within(operand, _COMPARISON + 1, name) for operand in node.operands)
        return f"{value} {function} {low} AND {high}"
    texts = [_node_text(operand, name) for operand in node.operands]
    if function == "NEGATE":
        return f"-{texts[0]}"
    if function.startswith("IS ") and len(texts) == 1:
        return f"{_within(node.operands[0], _COMPARISON + 1, name)} {function}"
    if function in ("CAST", "TRY_CAST"):
        return f"{function}({texts[0]} AS {texts[1].removesuffix(' NOT NULL')})"
    if function == "ITEM":
        return f"{texts[0]}[{texts[1]}]"
    if function == "CASE":
        return _case(texts)
    return f"{function.upper()}({'DISTINCT ' if node.distinct else ''}{', '.join(texts)})"


def _within(operand: object, outer: int, name: Callable[[str], str]) -> str:
    text = _node_text(operand, name)
    if isinstance(operand, Apply) and operand.function in _INFIX | _RANGES:
        inner = _PRECEDENCE.get(operand.function, _COMPARISON)
        return f"({text})" if inner < outer else text
    return text


def _case(texts: list[str]) -> str:
    pairs = zip(texts[0:-1:2], texts[1:-1:2], strict=True)
    whens = "".join(f" WHEN {condition} THEN {value}" for condition, value in pairs)
    return f"CASE{whens} ELSE {texts[-1]} END"
