"""The modules that a job needs, imported once before slot processes are forked instead of once in each of them.

The imports of a table program (pyarrow, numpy) take a third of a second, and slots compete for cores when a job starts.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
from collections.abc import Iterable

FOR_WORKERS = "FIRESTEEL_PRELOADED_MODULES"
"""Environment variable with the modules that the daemon of Spark's Python workers imports, separated by spaces."""

IMPORTED_LATE = {
    "firesteel.columns.": (
        "firesteel.operators.column_runner",
        "firesteel.operators.exchange.column_split",
        "firesteel.connectors.files.column_files",
    ),
    "firesteel.connectors.files.source": ("firesteel.connectors.files.splits",),
    "firesteel.connectors.files.sink": ("firesteel.connectors.files.writer",),
}
"""What slots import when they begin with a job, by the beginning of a name that is in such jobs."""

_OWN_MODULE = re.compile(rb"firesteel(?:\.[a-z0-9_]+)+")
"""In a pickle, the byte before a name is its length, which may be that of a letter or digit."""

_MOST_BYTES = 1 << 20
"""Number of bytes searched; job graphs that are larger consist of data."""


def modules_of(job: bytes) -> frozenset[str]:
    """Return what look like the names of firesteel's own modules in a pickled job graph.

    User code stays in the slot processes: it may start threads, and depends on the job's Python environment.

    Example:
        >>> import pickle
        >>> from firesteel.common import Row
        >>> sorted(modules_of(pickle.dumps(Row)))
        ['firesteel.common.types']
    """
    found = {name.decode() for name in _OWN_MODULE.findall(job[:_MOST_BYTES])}
    late = (names for begin, names in IMPORTED_LATE.items() if any(name.startswith(begin) for name in found))
    return frozenset(found.union(*late))


def import_modules(names: Iterable[str]) -> bool:
    """Import modules; return whether one of them is new. Failures are ignored, as the job meets them again."""
    before = len(sys.modules)
    for name in names:
        if name not in sys.modules:
            with contextlib.suppress(Exception):
                importlib.import_module(name)
    if "pyarrow" in sys.modules:
        importlib.import_module("pyarrow").array([])  # The first array imports pandas, in a quarter of a second.
    return len(sys.modules) > before
