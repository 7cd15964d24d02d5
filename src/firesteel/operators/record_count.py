"""How many records the elements of a stream are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def record_count(elements: Sequence[Any]) -> int:
    """Return the number of records: an element is one, but for column batches, which have `holds_records`.

    Args:
        elements: Elements of one stream: either all or none of them are column batches.
    """
    if elements and getattr(type(elements[0]), "holds_records", False):
        return sum(map(len, elements))
    return len(elements)
