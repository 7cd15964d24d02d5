"""The number of records in the elements of a stream, which may be column batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def hold_records(elements: Sequence[Any]) -> bool:
    """Return whether elements of one stream are column batches; all or none of them are."""
    return bool(elements) and getattr(type(elements[0]), "holds_records", False)


def record_count(elements: Sequence[Any]) -> int:
    """Return the number of records of one stream: column batches count their rows, other elements one each."""
    if hold_records(elements):
        return sum(map(len, elements))
    return len(elements)
