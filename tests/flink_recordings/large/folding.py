"""Writes changes as canonical lines and folds them, the same for Flink's files and for firesteel's rows."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

WHOLE = 40
"""A result of so many rows is recorded whole, a longer one by its digest and its first rows."""


class NotThereError(ValueError):
    """A line is removed more often than it is added."""


def line(value: object) -> str:
    """Return a row or a value as text; numbers have eleven digits, as sums of DOUBLE depend on the order."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float | Decimal):
        return f"{float(value) + 0.0:.11g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {line(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(line, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def folded(changes: Iterable[tuple[bool, str]]) -> list[str]:
    """Return the lines that remain, sorted. Each change tells whether its line is added or removed.

    Raises:
        NotThereError: a line is removed more often than it is added.
    """
    counts: Counter[str] = Counter()
    for is_added, text in changes:
        counts[text] += 1 if is_added else -1
    if missing := [text for text, count in counts.items() if count < 0]:
        raise NotThereError(f"removed, but not there: {missing[:3]}")
    return sorted(counts.elements())


def summary(lines: list[str]) -> dict[str, Any]:
    """Return what is recorded of a result."""
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return {"count": len(lines), "digest": digest, "first": lines if len(lines) <= WHOLE else lines[:5]}
