"""Part files of formats that can only be written as a whole."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from typing import IO, Any

GROUP_RECORDS = 64 * 1024


class GatheredStream:
    """Gathers records in a file and writes another file of them when they are complete.

    Files of such formats can't be gone on from in their middle, as a part file must be that is in progress at a
    checkpoint.
    """

    def __init__(self, file: IO[bytes], suffix: str) -> None:
        self._file = file
        self._suffix = suffix

    def plain(self, value: Any) -> Any:
        """Return what is gathered of a record."""
        return value

    def write_file(self, file: IO[bytes], groups: Iterator[list[Any]]) -> None:
        """Write all that was gathered."""
        raise NotImplementedError

    def write(self, values: list[Any]) -> None:
        """Append records."""
        pickle.dump([self.plain(value) for value in values], self._file, pickle.HIGHEST_PROTOCOL)

    def finish(self) -> str:
        """Write the file beside the gathered records, so that they are there if it is to be written again."""
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
