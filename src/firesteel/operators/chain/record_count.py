"""The number of records in the elements of a stream, which may be column batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch


def hold_records(elements: Sequence[object]) -> TypeGuard[Sequence[ColumnBatch]]:
    """Return whether elements of one stream are column batches; all or none of them are."""
    return bool(elements) and getattr(type(elements[0]), "holds_records", False)


def record_count(elements: Sequence[object]) -> int:
    """Return the number of records of one stream: column batches count their rows, other elements one each."""
    if hold_records(elements):
        return sum(map(len, elements))
    return len(elements)
