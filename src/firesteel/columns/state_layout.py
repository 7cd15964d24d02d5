"""What the keyed state of a kernel consists of, as plain texts that its versions record.

A job goes on from state of the same layout only. Names, filters and limits are no part of it, as in Flink, whose
serializers compare types.

Why: `docs/decisions/0067-state-says-what-it-keeps.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.column_types import DataType
    from firesteel.columns.kernels.calls.aggregate_calls import CallPlan

Layout: TypeAlias = tuple[str, ...]
"""A text for each part of the state."""

STATELESS: Layout = ()


def rows_layout(
    kind: str, types: Sequence[DataType], keys: Sequence[int] = (), order: Iterable[tuple[int, bool, bool]] = ()
) -> Layout:
    """Return the layout of rows.

    Args:
        kind: What is kept, and by which algorithm.
        types: The types of their columns.
        keys: The key columns.
        order: The columns by which they are ordered, whether descending, and whether NULLs come first.

    Example:
        >>> from firesteel.table import DataTypes
        >>> rows_layout("last", [DataTypes.BIGINT(), DataTypes.STRING()], [0], [(1, True, False)])
        ('last rows of (int64 KEY, string) by (1 DESC)',)
    """
    columns = [f"{_type(column)} KEY" if index in keys else _type(column) for index, column in enumerate(types)]
    sorted_by = [f"{n}{' DESC' * descends}{' NULLS FIRST' * nulls_first}" for n, descends, nulls_first in order]
    text = f"{kind} rows of ({', '.join(columns)})"
    return (f"{text} by ({', '.join(sorted_by)})" if sorted_by else text,)


def groups_layout(
    keys: Sequence[int], calls: Iterable[CallPlan], types: Sequence[DataType], retracts: bool = False
) -> Layout:
    """Return the layout of groups with a state for each call.

    Args:
        keys: The key columns.
        calls: The aggregate calls.
        types: The types of the columns of the input.
        retracts: Whether rows may be retracted, for which states keep more.
    """
    kind = "groups of changes" if retracts else "groups"
    return f"{kind} by ({_types([types[key] for key in keys])})", *(_call(call, types) for call in calls)


def _call(call: CallPlan, types: Sequence[DataType]) -> str:
    name = call.function if isinstance(call.function, str) else call.function.name
    distinct = "DISTINCT " if call.distinct else ""
    return f"{name}({distinct}{_types([types[index] for index in call.arguments])})"


def _types(types: Iterable[DataType]) -> str:
    return ", ".join(map(_type, types))


def _type(kind: DataType) -> str:
    return str(arrow_type(kind))
