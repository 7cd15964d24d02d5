"""The state files of a checkpoint or savepoint, by operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from firesteel.common.encoding import state_of
from firesteel.common.files.file_systems import Files
from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.operators.state.descriptions import DESCRIBED, OF_OPERATOR, Description
from firesteel.operators.state.entries import Delta, Entry, Stored
from firesteel.operators.state.keyed_state_backend import BROADCAST, OF_MAPS, WITH_TTL
from firesteel.operators.state.list_part import ListPart, MissingPartError, continued
from firesteel.operators.state.state_table import DELETED, NAMESPACED
from firesteel.runtime.rpc import accepted_state_keys, state_key
from firesteel.task.checkpoint_metadata import CheckpointMetadata, VertexLayout, checkpoint_directory, read_metadata
from firesteel.task.restore import read_any
from firesteel.task.state_seal import StateSeal
from firesteel.task.state_types import inert_entries, state_entries
from firesteel.task.version_chains import Frame
from firesteel.task.versions import Chain, VersionFile


def seal_of(configuration: Mapping[str, str]) -> StateSeal:
    """Return the seal of the configured secret, or of `FIRESTEEL_RPC_SECRET`.

    Raises:
        InvalidOptionError: the secret cannot be used.
    """
    return StateSeal(state_key(configuration), accepted=accepted_state_keys(configuration)).allowing(configuration)


@dataclass(frozen=True, slots=True)
class TableName:
    """The parts of the name of a state table.

    Attributes:
        text: The name in state files.

    Example:
        >>> table = TableName("visits" + OF_MAPS)
        >>> table.state, table.kind
        ('visits', 'map')
    """

    text: str

    @property
    def state(self) -> str:
        """The name of the state."""
        return self.text.removesuffix(WITH_TTL).removeprefix(BROADCAST).removeprefix(NAMESPACED).removesuffix(OF_MAPS)

    @property
    def has_ttl(self) -> bool:
        """Whether values are stored with the time at which their life began."""
        return self.text.endswith(WITH_TTL)

    @property
    def kind(self) -> str:
        """The kind: `value` (including list, reducing and aggregating state), `map`, `broadcast`, or `window`."""
        if self.text.startswith(BROADCAST):
            return "broadcast"
        if self.text.startswith(NAMESPACED):
            return "window"
        return "map" if OF_MAPS in self.text else "value"

    def plain(self, stored: Stored) -> Stored:
        """Return a stored value, or list of elements, without the times of a time to live."""
        if not self.has_ttl:
            return stored
        return [element for element, _ in stored] if isinstance(stored, list) else stored[0]


class SavepointFiles:
    """Access to the files of a checkpoint or savepoint.

    Args:
        path: Its directory or the `_metadata` file in it, on any file system.
        configuration: Options of file systems, as in a job's configuration, and of the secret that verifies the files.
        load: Reads the state of users. By default it creates objects of their classes, which can run code; values of
            declared types need none.
        seal: Verifies the files; None uses that of the configuration.

    Attributes:
        path: Its directory.
        metadata: Its metadata.
        seal: Verifies the files, and signs those of a savepoint that is made of them.

    Raises:
        CheckpointNotFoundError: there is no checkpoint at the path.
        StateFileError: the metadata is damaged, or not signed with the configured secret.
    """

    def __init__(
        self,
        path: str,
        configuration: Mapping[str, str] | None = None,
        load: Callable[[bytes], Delta] = state_entries,
        seal: StateSeal | None = None,
    ) -> None:
        options = configuration or {}
        self.path = checkpoint_directory(path, Files(options))
        self._load = load
        self._temporary = temporary_directory(options)
        self.seal = seal_of(options) if seal is None else seal
        self.metadata: CheckpointMetadata = read_metadata(self.path, self.seal)
        self._descriptions: dict[str, dict[str, Description]] = {}
        self._base = self.metadata.base_of(self.path)

    @classmethod
    def inert(cls, path: str, configuration: Mapping[str, str] | None = None) -> SavepointFiles:
        """Return access that runs no code, whoever wrote the files, so that they need no signature.

        Values of other classes than Python's and Row are not created, only shown.
        """
        return cls(path, configuration, inert_entries, StateSeal(allows_unverified=True))

    @property
    def operators(self) -> dict[str, tuple[str, VertexLayout]]:
        """Name and state layout of each operator, by operator id."""
        return {id_: (name, layout) for layout in self.metadata.vertices for id_, name in layout.operators}

    def chain_of(self, layout: VertexLayout, subtask: int) -> Chain:
        """Return the files of a subtask; none if its region had not run yet."""
        return self.metadata.chains.get((layout.stage, layout.first_slot + subtask), ())

    def frames(self, chain: Chain) -> Iterator[Frame]:
        """Yield the frames of some files.

        Raises:
            StateFileError: a file is missing or damaged.
        """
        return read_any(self._base, chain, seal=self.seal, temporary=self._temporary)

    def deltas(self, operator_id: str, subtask: int) -> Iterator[tuple[Delta, int]]:
        """Yield the deltas of an operator's keyed and broadcast state, the newest first, with their sizes in bytes."""
        _, layout = self.operators[operator_id]
        for file in reversed(self.chain_of(layout, subtask)):
            yield from self._deltas_of(operator_id, layout, file)

    def _deltas_of(
        self, operator_id: str, layout: VertexLayout, file: VersionFile, only: TableName | None = None
    ) -> Iterator[tuple[Delta, int]]:
        wanted = None if only is None else (None, DESCRIBED, only.text)
        described: dict[str, Description] = {}
        for vertex_id, found, state in self.frames((file,)):
            if vertex_id == layout.vertex_id and found == operator_id:
                if wanted is not None and state_of(state) not in wanted:
                    continue
                name, entries = self._load(state)
                if name == DESCRIBED:
                    described.update(entries)
                else:
                    yield (name, entries), len(state)
        # Later files were read before.
        self._descriptions[operator_id] = described | self._descriptions.get(operator_id, {})

    def description(self, operator_id: str, table: TableName) -> Description:
        """Return the description of a state, as found in the files read so far; it is empty for earlier releases."""
        return self._descriptions.get(operator_id, {}).get(table.text, {})

    def described(self, operator_id: str) -> set[str]:
        """Return the names of the states described in the files read so far, including states without entries."""
        return {TableName(text).state for text in self._descriptions.get(operator_id, {}) if text not in OF_OPERATOR}

    def entries(self, operator_id: str, table: TableName, subtask: int) -> Iterator[tuple[Any, Any]]:
        """Yield the entries of a subtask's table with their values, in arbitrary order."""
        yield from (item for found, item, _ in self.all_entries(operator_id, subtask, table) if found == table)

    def entries_of_operator(self, operator_id: str) -> Iterator[tuple[TableName, tuple[Entry, Stored], int]]:
        """Yield the entries of all subtasks, as `all_entries`; those of broadcast states once."""
        for subtask in range(self.operators[operator_id][1].parallelism):
            for found in self.all_entries(operator_id, subtask):
                if not subtask or found[0].kind != "broadcast":  # Each subtask has the whole broadcast state.
                    yield found

    def all_entries(
        self, operator_id: str, subtask: int, only: TableName | None = None
    ) -> Iterator[tuple[TableName, tuple[Entry, Stored], int]]:
        """Yield the entries of the tables of a subtask: table, (entry, value), and approximate size in bytes.

        Args:
            operator_id: The operator.
            subtask: Its subtask.
            only: A table; others may be left out. None for all.
        """
        _, layout = self.operators[operator_id]
        chain = self.chain_of(layout, subtask)
        later: dict[tuple[str, Any], ListPart | None] = {}
        for file in reversed(chain):
            for name, entry, value, size in _values(self._deltas_of(operator_id, layout, file, only)):
                # A single file has each entry once, so that nothing need be remembered.
                if len(chain) > 1:
                    part = later.get((name, entry), _NOTHING)
                    if part is None:
                        continue
                    value = value if part is _NOTHING else continued(value, part)
                    later[name, entry] = value if value.__class__ is ListPart else None
                if value is not DELETED and value.__class__ is not ListPart:
                    yield TableName(name), (entry, value), size
        for part in later.values():
            if part is not None:
                raise MissingPartError(part.start, 0)


_NOTHING = ListPart(0, [])
"""Stands for no later value of an entry."""


def _values(deltas: Iterable[tuple[Delta, int]]) -> Iterator[tuple[str, Any, Any, int]]:
    """Yield table, entry, value and approximate size of the entries of one file; the parts of a list are together."""
    items = (
        ((name, entry), value, size // len(entries))
        for (name, entries), size in deltas
        for entry, value in entries.items()
    )
    for (name, entry), parts in groupby(items, itemgetter(0)):
        (_, value, size), *more = parts
        for _, part, part_size in more:
            value, size = continued(value, part), size + part_size
        yield name, entry, value.elements if value.__class__ is ListPart and not value.start else value, size
