"""Names of the part files of file sinks that are not committed yet."""

from __future__ import annotations

import os
import re

Began = tuple[int, int, int]
"""Run, batch and try in which a writer was made."""

PENDING = re.compile(r"\..*-([0-9a-f]{32})-\d+.*\.inprogress\.(\d+)-(\d+)-(\d+)-\w+(?:\.\w+)?")
"""The name of a part file while nobody is to see it: `uid` of its writers, and when its writer was made."""


def pending_name(final: str, began: Began, writer: str) -> str:
    """Return where the part file of a name is while nobody is to see it.

    Example:
        >>> pending_name("/out/part-7-0.csv", (1, 12, 1), "a3f9")
        '/out/.part-7-0.csv.inprogress.1-12-1-a3f9'
    """
    directory, name = os.path.split(final)
    return os.path.join(directory, f".{name}.inprogress.{began[0]}-{began[1]}-{began[2]}-{writer}")


def began_of(name: str, uid: str) -> Began | None:
    """Return when the writer was made of a hidden part file of a name, if it is of the writers with that `uid`."""
    found = PENDING.fullmatch(name)
    return None if found is None or found[1] != uid else (int(found[2]), int(found[3]), int(found[4]))
