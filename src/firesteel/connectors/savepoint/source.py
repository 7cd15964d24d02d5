"""The keyed state of an operator as rows: a split is a subtask of the operator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from firesteel.common.typeinfo import TypeInformation
from firesteel.common.types import Row
from firesteel.functions.connector_base import Source
from firesteel.functions.source_reading import ReadingHints, SourceEnumerator, SourceReader, SourceReaderContext
from firesteel.functions.splits import CHUNK_ELEMENTS, Discovered, Known, Split, SplitRange

if TYPE_CHECKING:
    from firesteel.state_processor.keyed_rows import KeyedRows


@dataclass(frozen=True)
class SavepointSettings:
    """Settings of a `SavepointSource`.

    Attributes:
        path: The directory of a checkpoint or savepoint or the `_metadata` file in it, or of the checkpoints of a job.
        operator_id: Id of the operator.
        states: The name of the state of each field; None for the key.
        row_type: Type of the rows.
    """

    path: str
    operator_id: str
    states: tuple[str | None, ...]
    row_type: TypeInformation[Row]


class SavepointSource(Source[Row]):
    """Reads a row for each key of an operator, with the key and the values of its states. The source is bounded.

    It runs no code of the savepoint: values of PICKLED types are read if they are plain data.
    """

    reading_hints = ReadingHints(open_at_once=1)

    def __init__(self, settings: SavepointSettings) -> None:
        super().__init__()
        self.settings = settings

    @property
    def produced_type(self) -> TypeInformation[Row]:
        """The type of the rows."""
        return self.settings.row_type

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of subtasks."""
        return _Subtasks(_keyed_rows(self.settings, self.settings.path, configuration))

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        return _SubtaskReader(self.settings, context.configuration)


def _keyed_rows(settings: SavepointSettings, path: str, configuration: Mapping[str, str]) -> KeyedRows:
    from firesteel.state_processor.keyed_rows import KeyedRows  # late import: it imports all operators

    return KeyedRows(path, settings.operator_id, settings.states, configuration)


class _Subtasks(SourceEnumerator):
    def __init__(self, rows: KeyedRows) -> None:
        self._rows = rows

    def discover(self, parallelism: int, known: Known) -> Discovered:
        """Return a split for each subtask of the operator, with its files' bytes as size.

        It names the checkpoint, as the job may have a newer one when the split is read.
        """
        if not known.is_first:
            return list(known.splits.values()), set(known.keys)
        splits = [
            Split(f"{subtask}@{self._rows.path}", subtask % parallelism, 0, max(size, 1), is_whole=True)
            for subtask, size in enumerate(self._rows.sizes())
        ]
        return splits, set()


class _SubtaskReader(SourceReader):
    def __init__(self, settings: SavepointSettings, configuration: Mapping[str, str]) -> None:
        self._settings, self._configuration = settings, configuration

    def read(self, part: SplitRange) -> Iterator[list[Row]]:
        """Yield the rows of a subtask."""
        if part.start == part.end:
            return
        subtask, _, path = part.split.split_id.partition("@")
        rows = _keyed_rows(self._settings, path, self._configuration).read(int(subtask))
        while chunk := list(islice(rows, CHUNK_ELEMENTS)):
            yield chunk
