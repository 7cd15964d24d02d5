"""Tables of a few rows that become readable bit by bit, so that a test can change a job in the middle of them."""

from __future__ import annotations

import pickle
from pathlib import Path

from firesteel.datastream.connectors.base import Source, SourceSplit
from tests.waiting import wait_for

PARTS = 3
"""A table becomes readable in so many parts."""


class GrownRows(Source):
    """The rows of a table in a directory, as far as `let_grow` has gone."""

    grows_to_end = True
    discovery_interval_ms = 20

    def __init__(self, directory, table):
        super().__init__()
        self._directory, self._table = Path(directory), table

    def discover_splits(self):
        count = len(self._rows())
        return [SourceSplit(self._table, _end(count, _parts(self._directory)), final_end=count)]

    def read_split(self, split_id, start, end):
        rows = self._rows()
        for part in range(1, PARTS + 1):
            if end >= _end(len(rows), part) > start:
                _was_read(self._directory, self._table, part).touch()
        return rows[start:end]

    def _rows(self):
        return pickle.loads((self._directory / self._table).read_bytes())


def _end(count, part):
    """Return how many rows of a table there are, which are not all before the last part."""
    return count * part // PARTS


def _parts(directory):
    return len(list(directory.glob("part-*")))


def _was_read(directory, table, part):
    return directory / f"read-{part}-{table}"


def grown_rows(options):
    """The factory of a table with `'connector' = 'python'`."""
    return GrownRows(options["directory"], options["table"])


def write_rows(directory, table, rows):
    """Write the rows of a table; none of them is readable."""
    (directory / table).write_bytes(pickle.dumps(rows))


def let_grow(directory, tables):
    """Let another part of all tables be readable, and wait until a job has begun to read it of the named ones."""
    part = _parts(directory) + 1
    (directory / f"part-{part}").touch()
    counts = {table: len(pickle.loads((directory / table).read_bytes())) for table in tables}
    grown = [table for table, count in counts.items() if _end(count, part) > _end(count, part - 1)]
    wanted = [_was_read(directory, table, part) for table in grown]
    wait_for(lambda: all(path.exists() for path in wanted))
