"""Names of uncommitted part files of file sinks."""

from __future__ import annotations

import os
import re

Began = tuple[int, int, int]
"""Run, batch and attempt in which a writer was created."""

PENDING = re.compile(r"\..*-([0-9a-f]{32})-\d+.*\.inprogress\.(\d+)-(\d+)-(\d+)-\w+(?:\.\w+)?")
"""The hidden name of a part file, which contains the `uid` of its writer and `Began`."""


def pending_name(final: str, began: Began, writer: str) -> str:
    """Return the hidden path of a part file.

    Example:
        >>> pending_name("/out/part-7-0.csv", (1, 12, 1), "a3f9")
        '/out/.part-7-0.csv.inprogress.1-12-1-a3f9'
    """
    directory, name = os.path.split(final)
    return os.path.join(directory, f".{name}.inprogress.{began[0]}-{began[1]}-{began[2]}-{writer}")


def began_of(name: str, uid: str) -> Began | None:
    """Return when the writer of a hidden part file was created, or None if `name` is not a file of that `uid`."""
    found = PENDING.fullmatch(name)
    return None if found is None or found[1] != uid else (int(found[2]), int(found[3]), int(found[4]))
