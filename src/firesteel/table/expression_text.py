"""Expressions as text, for messages and for names of computed columns."""

from __future__ import annotations

from typing import Any

from firesteel.table.unresolved import Alias, Apply, Lit, Ordering, OverCall, Ref, Star, TypeName

_INFIX = {"+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=", "AND", "OR", "LIKE", "SIMILAR TO"}


def expression_text(node: Any) -> str:
    """Return an unresolved expression as SQL would write it, without quotes around names."""
    if isinstance(node, Ref):
        return ".".join(node.path)
    if isinstance(node, Lit):
        return _literal(node.value)
    if isinstance(node, Apply):
        return _call(node)
    if isinstance(node, Alias):
        names = ", ".join(node.names)
        return f"{expression_text(node.expression)} AS {names if len(node.names) == 1 else f'({names})'}"
    if isinstance(node, Ordering):
        return f"{expression_text(node.expression)} {'DESC' if node.descending else 'ASC'}"
    if isinstance(node, OverCall):
        return f"{_call(node.call)} OVER {node.window if isinstance(node.window, str) else '(...)'}"
    if isinstance(node, Star):
        return ".".join((*node.qualifier, "*"))
    if isinstance(node, TypeName):
        return str(node.type)
    return type(node).__name__


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)


def _call(node: Apply) -> str:
    name = node.function if isinstance(node.function, str) else getattr(node.function, "name", "function")
    texts = [expression_text(operand) for operand in node.operands]
    if name in _INFIX and len(texts) == 2:
        return f"{texts[0]} {name} {texts[1]}"
    if name.startswith("IS ") and len(texts) == 1:
        return f"{texts[0]} {name}"
    if name in ("CAST", "TRY_CAST"):
        return f"{name}({texts[0]} AS {texts[1]})"
    return f"{name}({'DISTINCT ' if node.distinct else ''}{', '.join(texts)})"
