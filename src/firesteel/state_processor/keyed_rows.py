"""The keyed state of an operator, one row per key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from firesteel.common.files.file_systems import Files
from firesteel.common.keys.canonical_keys import key_of
from firesteel.common.types import Row
from firesteel.operators.state.entries import Entry, Stored
from firesteel.state_processor.savepoint_files import SavepointFiles, TableName
from firesteel.state_processor.savepoint_reader import StateNotFoundError
from firesteel.task.checkpoint_metadata import checkpoints_in, named_directory


class KeyedRows:
    """Reads states of an operator by key; those of a subtask are in memory at a time. It runs no code of the savepoint.

    Args:
        path: The directory of a checkpoint or savepoint or the `_metadata` file in it, on any file system; or the
            directory of the checkpoints of a job, which may be running, for its newest one.
        operator_id: Id of the operator.
        states: The state in each field of the rows; None for the key.
        configuration: Options of file systems.

    Raises:
        CheckpointNotFoundError: there is no checkpoint at the path.
        StateFileError: the metadata is damaged.
        StateNotFoundError: the savepoint has no such operator.
    """

    def __init__(
        self, path: str, operator_id: str, states: Sequence[str | None], configuration: Mapping[str, str]
    ) -> None:
        newest = checkpoints_in(named_directory(path, Files(configuration)))
        where = str(newest[0]) if newest else path
        self._files = SavepointFiles.inert(where, configuration)
        self._operator_id, self._states = operator_id, list(states)
        if operator_id not in self._files.operators:
            names = ", ".join(f"{name!r} ({id_})" for id_, (name, _) in self._files.operators.items())
            raise StateNotFoundError(f"there is no operator {operator_id} in {self._files.path}; it has {names}")
        self._name, self._layout = self._files.operators[operator_id]

    @property
    def path(self) -> str:
        """The directory of the checkpoint or savepoint."""
        return str(self._files.path)

    def sizes(self) -> list[int]:
        """Return the bytes of the files of each subtask."""
        chains = (self._files.chain_of(self._layout, subtask) for subtask in range(self._layout.parallelism))
        return [sum(file.size for file in chain) for chain in chains]

    def read(self, subtask: int) -> Iterator[Row]:
        """Yield the rows of a subtask in the order in which its files have the keys; missing values are None.

        Raises:
            StateFileError: a file is missing or damaged.
            StateNotFoundError: the operator has no such state.
        """
        found: dict[Entry, dict[str, Stored]] = {}
        names: set[str] = set()
        wanted = set(self._states)
        for table, (entry, stored), _ in self._files.all_entries(self._operator_id, subtask):
            if table.kind not in ("value", "map"):
                continue
            names.add(table.state)
            values = found.setdefault(entry[0] if table.kind == "map" else entry, {})
            if table.state in wanted:
                value = table.plain(stored)
                if table.kind == "map":
                    values.setdefault(table.state, {})[key_of(entry[1])] = value
                else:
                    values[table.state] = value
        if found:
            self._check_names(names, subtask)
        for key, values in found.items():
            yield Row(*[key_of(key) if state is None else values.get(state) for state in self._states])

    def _check_names(self, names: set[str], subtask: int) -> None:
        """Check that the operator has the states; a subtask may never have asked for one of them."""
        known = names | self._files.described(self._operator_id)
        others = [other for other in range(self._layout.parallelism) if other != subtask]
        while (missing := {name for name in self._states if name is not None} - known) and others:
            known |= {TableName(name).state for (name, _), _ in self._files.deltas(self._operator_id, others.pop())}
            known |= self._files.described(self._operator_id)
        if missing:
            raise StateNotFoundError(
                f"operator {self._name!r} has no state {min(map(repr, missing))}; it has "
                f"{', '.join(sorted(map(repr, known)))}"
            )
