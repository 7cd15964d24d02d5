"""Arguments of functions, in the types that these take."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.columns.cast_rules import can_cast_implicitly
from firesteel.columns.column_types import DataType, NullType
from firesteel.columns.rex import Call, Literal, Rex, UserFunction
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.table.syntax.unresolved import Position, where


def declared_arguments(
    function: UserFunction, arguments: tuple[Rex, ...], position: Position | None
) -> tuple[Rex, ...]:
    """Return the arguments of a user's function in the types that it declares, if it does.

    Raises:
        ValidationException: there are more or fewer, or one is not converted without CAST.
    """
    declared: Sequence[DataType] | None = getattr(function, "input_types", None)
    if declared is None:
        return arguments
    found = [argument.type for argument in arguments]
    if len(found) != len(declared) or not all(map(_is_taken, found, declared)):
        raise ValidationException(
            f"SQL validation failed. {where(position)}Invalid function call: {function.name}({_texts(found)}); "
            f"expected {function.name}({_texts(declared)})"
        )
    return tuple(map(cast, arguments, declared))


def _is_taken(found: DataType, declared: DataType) -> bool:
    return isinstance(found, NullType) or can_cast_implicitly(found, declared)


def _texts(kinds: Sequence[DataType]) -> str:
    return ", ".join(type_text(kind) for kind in kinds)


def cast(rex: Rex, kind: DataType) -> Rex:
    """Return an expression in another type; the nullability stays that of the expression."""
    wanted = kind.nullable() if rex.type.is_nullable else kind.not_null()
    if rex.type.nullable() == kind.nullable() or isinstance(kind, NullType):
        return rex
    if isinstance(rex, Literal) and rex.value is None:
        return Literal(None, kind.nullable())
    return Call("CAST", (rex,), wanted)
