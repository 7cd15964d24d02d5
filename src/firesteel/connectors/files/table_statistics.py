"""How many rows the files of a table have. Flink: `FileSystemTableSource.reportStatistics`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

from firesteel.connectors.formats.table_format import Format

_SAMPLED = 20
"""Number of files that are opened; the others are taken to have as many rows per byte."""


def estimated_rows(file_format: Format, paths: Iterable[Path]) -> float | None:
    """Return the number of rows of files, None: nothing tells it."""
    sizes = {path: path.stat().st_size for path in paths}
    known_rows, known_bytes = 0.0, 0
    for path in islice(sizes, _SAMPLED):
        rows = file_format.rows_in_file(path)
        if rows is None:
            return None
        known_rows += rows
        known_bytes += sizes[path]
    return known_rows * sum(sizes.values()) / known_bytes if known_bytes else 0.0
