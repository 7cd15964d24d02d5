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
    from firesteel.columns.kernels.aggregate_calls import CallPlan

Layout: TypeAlias = tuple[str, ...]
"""A text for each part of the state."""

STATELESS: Layout = ()


def rows_layout(*sides: Sequence[DataType]) -> Layout:
    """Return the layout of rows with columns of some types, for each input that has its rows kept.

    Example:
        >>> from firesteel.table import DataTypes
        >>> rows_layout([DataTypes.BIGINT(), DataTypes.STRING()])
        ('rows of (int64, string)',)
    """
    return tuple(f"rows of ({_types(types)})" for types in sides)


def groups_layout(keys: Sequence[int], calls: Iterable[CallPlan], types: Sequence[DataType]) -> Layout:
    """Return the layout of groups with a state for each call.

    Args:
        keys: The key columns.
        calls: The aggregate calls.
        types: The types of the columns of the input.
    """
    return f"groups by ({_types([types[key] for key in keys])})", *(_call(call, types) for call in calls)


def _call(call: CallPlan, types: Sequence[DataType]) -> str:
    name = call.function if isinstance(call.function, str) else "user function"
    distinct = "DISTINCT " if call.distinct else ""
    return f"{name}({distinct}{_types([types[index] for index in call.arguments])})"


def _types(types: Iterable[DataType]) -> str:
    return ", ".join(str(arrow_type(kind)) for kind in types)
