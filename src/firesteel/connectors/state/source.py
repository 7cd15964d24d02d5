"""Sources of the state of a running job: all keys as of a checkpoint, or some keys."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from firesteel.columns.column_types import DataType
from firesteel.common.json_types import Json
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.types import Row
from firesteel.connectors.savepoint.source import SavepointSettings, SavepointSource
from firesteel.connectors.state.cells import cell_reader
from firesteel.connectors.state.client import RunningState
from firesteel.functions.connector_base import Source, SourceSplit
from firesteel.functions.source_reading import SourceEnumerator

_ALL = "keys"


class StateScan(SavepointSource):
    """Reads all keys of a state of a running job: of a checkpoint that the job takes when the query begins.

    Args:
        state: The state.
        settings: What to read of the checkpoint; the path is found when the query begins.
    """

    def __init__(self, state: RunningState, settings: SavepointSettings) -> None:
        super().__init__(settings)
        self._state = state

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of the subtasks in a new checkpoint."""
        found = replace(self.settings, path=self._state.snapshot())
        return SavepointSource(found).create_enumerator(configuration)


class StatePoints(Source[Row]):
    """Reads some keys of a state of a running job, as of the last batch that their subtasks have completed.

    Args:
        state: The state.
        keys: The keys as a program has them, and as JSON.
        is_key: For each field of the rows, whether it is the key; the other one is the value.
        value_type: The type of the value's column.
        row_type: The type of the rows.
    """

    def __init__(
        self,
        state: RunningState,
        keys: list[tuple[object, Json]],
        is_key: tuple[bool, ...],
        value_type: DataType,
        row_type: TypeInformation[Row],
    ) -> None:
        super().__init__()
        self._state, self._keys, self._is_key = state, keys, is_key
        self._value_type, self._row_type = value_type, row_type

    @property
    def produced_type(self) -> TypeInformation[Row]:
        """The type of the rows."""
        return self._row_type

    def discover_splits(self) -> list[SourceSplit]:
        """Return one split with all keys."""
        return [SourceSplit(_ALL, len(self._keys))]

    def read_split(self, split_id: str, start: int, end: int) -> Iterator[Row]:
        """Yield the rows of the keys that have a value."""
        keys = self._keys[start:end]
        read = cell_reader(self._value_type, f"the value of state {self._state.state!r}")
        values = self._state.values([shown for _, shown in keys]) if keys else []
        for (key, _), value in zip(keys, values, strict=True):
            if value is not None:
                cell = read(value)
                yield Row(*[key if is_key else cell for is_key in self._is_key])
