"""What plans of former releases have otherwise."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.columns.column_types import NullType
from firesteel.columns.rex import Literal

_NOT_DISTINCT = Literal(False, NullType())


def as_today(name: str, made: Mapping[str, object]) -> dict[str, object]:
    """Return the attributes of a part of a plan as this release has them.

    Args:
        name: The class of the part.
        made: Its attributes, as the plan has them.
    """
    match name:
        case "AggregateCall":
            return {key: value for key, value in made.items() if key != "name"}
        case "Rank":  # Its columns were chosen when it was compiled.
            return {**made, "is_narrowed": bool(made.get("is_narrowed"))}
        case "Call" if str(made["function"]).startswith("AGGREGATE "):
            return {**made, "operands": _without_distinct(made["operands"])}
    return dict(made)


def _without_distinct(operands: object) -> tuple[object, ...]:
    """Return the operands of an aggregate of MATCH_RECOGNIZE, without whether it is DISTINCT: none ever was."""
    assert isinstance(operands, tuple)
    variable, *arguments = operands
    return variable, *(arguments[1:] if arguments[:1] == [_NOT_DISTINCT] else arguments)
