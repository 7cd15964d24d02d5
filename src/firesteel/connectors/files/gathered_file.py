"""Part files of formats that can only be written as a whole."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from typing import IO, Any

GROUP_RECORDS = 64 * 1024


class GatheredStream:
    """A part stream that collects records in a file and converts them when the part is complete.

    Such formats can't be resumed in the middle of a file, but a part in progress at a checkpoint must be.
    """

    def __init__(self, file: IO[bytes], suffix: str) -> None:
        self._file = file
        self._suffix = suffix

    def plain(self, value: object) -> Any:
        """Return the form of a record that is collected."""
        return value

    def write_file(self, file: IO[bytes], groups: Iterator[list[Any]]) -> None:
        """Write all collected records in the final format."""
        raise NotImplementedError

    def write(self, values: list[Any]) -> None:
        """Append records."""
        pickle.dump([self.plain(value) for value in values], self._file, pickle.HIGHEST_PROTOCOL)

    def finish(self) -> str:
        """Write the final file next to the collected records, which are kept in case it must be written again."""
        self._file.flush()
        path = f"{self._file.name}.{self._suffix}"
        with open(path, "wb") as file:
            self.write_file(file, _groups(self._file.name))
            file.flush()
            os.fsync(file.fileno())
        return path


def _groups(path: str) -> Iterator[list[Any]]:
    records: list[Any] = []
    with open(path, "rb") as file:
        while True:
            try:
                records += pickle.load(file)
            except EOFError:
                break
            if len(records) >= GROUP_RECORDS:
                yield records
                records = []
    if records:
        yield records
