"""The number of records in the elements of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def record_count(elements: Sequence[Any]) -> int:
    """Return the number of records: column batches (with `holds_records`) count their rows, other elements one each.

    Args:
        elements: Elements of one stream: either all or none of them are column batches.
    """
    if elements and getattr(type(elements[0]), "holds_records", False):
        return sum(map(len, elements))
    return len(elements)
