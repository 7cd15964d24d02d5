"""Writer of savepoints (Flink: `state.api.SavepointWriter`, since 1.15)."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from firesteel.common.encoding import encoded_data, encoded_entries, state_of
from firesteel.common.encoding.program_values import program_entries
from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import AnyPath, RemotePath, size_of
from firesteel.common.keys.canonical_keys import key_keeper
from firesteel.common.keys.key_groups import key_group_assigner, operator_index
from firesteel.common.unchanged import unchanged
from firesteel.common.values.coercion import coercer
from firesteel.errors import FiresteelError
from firesteel.functions.state import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from firesteel.operators.state.descriptions import DESCRIBED, OF_KEYS, description_of, type_text
from firesteel.operators.state.entries import Delta
from firesteel.operators.state.keyed_state_backend import parts_of
from firesteel.operators.state.states import has_ttl, possible_table_names, table_name
from firesteel.state_processor.savepoint_files import SavepointFiles, TableName, seal_of
from firesteel.state_processor.savepoint_reader import OperatorIdentifier
from firesteel.task.checkpoint_metadata import (
    METADATA,
    CheckpointMetadata,
    RegionState,
    VertexLayout,
    write_savepoint_metadata,
)
from firesteel.task.state_file import checksum_of, state_file_bytes, write_state_file
from firesteel.task.state_seal import StateSeal
from firesteel.task.state_types import load_sources
from firesteel.task.version_chains import Frame
from firesteel.task.versions import Chain, VersionFile

_DEFAULT_MAX_PARALLELISM = 128

Slot = tuple[int, int]


class SavepointWriteError(FiresteelError):
    """A savepoint cannot be written; the argument is the reason."""

    def __str__(self) -> str:
        return str(self.args[0])


class SavepointWriter:
    """Modifies the keyed state of a savepoint, or creates a new one, and writes it to another directory.

    `SavepointWriter.from_existing_savepoint` and `SavepointWriter.new_savepoint` return it.

    Example:
        >>> counter, count = OperatorIdentifier.for_uid("counter"), ValueStateDescriptor("count", Types.LONG())
        >>> writer = SavepointWriter.new_savepoint(max_parallelism=128)
        >>> path = writer.with_keyed_state(counter, count, [("a", 1)], key_type=Types.STRING()).write("savepoint")
        >>> list(SavepointReader.read(path).read_keyed_state(counter, "count"))
        [('a', 1)]
    """

    def __init__(self, source: SavepointFiles | None, max_parallelism: int, files: Files, seal: StateSeal) -> None:
        self._seal = seal
        self._source = source
        self._max_parallelism = max_parallelism
        self._files = files
        self._removed: set[str] = set()
        self._replaced: dict[str, set[TableName]] = {}
        self._added: dict[Slot, dict[tuple[str, TableName], list[Frame]]] = {}
        self._rebuilt: set[str] = set()
        self._layouts: dict[str, VertexLayout] = {}
        if source is not None:
            self._layouts = {id_: layout for id_, (_, layout) in source.operators.items()}

    @classmethod
    def from_existing_savepoint(cls, path: str, configuration: Mapping[str, str] | None = None) -> SavepointWriter:
        """Return a writer that starts with the state of a checkpoint or savepoint, which is left unchanged.

        Args:
            path: Its directory or the `_metadata` file in it, on any file system.
            configuration: Options of file systems; None for none.

        Raises:
            CheckpointNotFoundError: there is no checkpoint at the path.
            StateFileError: its metadata is damaged.
        """
        source = SavepointFiles(path, configuration)
        return cls(source, _DEFAULT_MAX_PARALLELISM, Files(configuration or {}), source.seal)

    @classmethod
    def new_savepoint(
        cls, max_parallelism: int = _DEFAULT_MAX_PARALLELISM, configuration: Mapping[str, str] | None = None
    ) -> SavepointWriter:
        """Return a writer that starts without state.

        Args:
            max_parallelism: Number of key groups of all operators, which jobs adopt with the savepoint.
            configuration: Options of file systems.
        """
        return cls(None, max_parallelism, Files(configuration or {}), seal_of(configuration or {}))

    def remove_operator(self, operator: OperatorIdentifier) -> SavepointWriter:
        """Omit all state of an operator.

        Args:
            operator: An operator of the savepoint, or one that this writer added. A later `with_keyed_state` for it
                adds it again, with no other state.

        Raises:
            SavepointWriteError: there is no such operator.
        """
        if operator.operator_id not in self._layouts:
            raise SavepointWriteError(f"there is no operator {operator.operator_id} to remove")
        self._removed.add(operator.operator_id)
        self._rebuilt.discard(operator.operator_id)
        self._remove_added(lambda operator_id, _: operator_id == operator.operator_id)
        return self

    def _remove_added(self, is_removed: Callable[[str, TableName], bool]) -> None:
        for tables in self._added.values():
            for table in [table for table in tables if is_removed(*table)]:
                del tables[table]

    def with_keyed_state(
        self,
        operator: OperatorIdentifier,
        descriptor: StateDescriptor,
        entries: Iterable[tuple[Any, Any]],
        key_type: Any = None,
    ) -> SavepointWriter:
        """Set a state of an operator; it replaces an existing state of the same name.

        Args:
            operator: The operator; it is added if the savepoint does not have it.
            descriptor: The descriptor as in the job, without a time to live.
            entries: `(key, value)` pairs; the value of a map state is a dict.
            key_type: The type declared by `key_by` in the job; None if it declares none.

        Raises:
            SavepointWriteError: the state has a time to live.
        """
        if has_ttl(descriptor):
            raise SavepointWriteError(f"state {descriptor.name!r} has a time to live, which is not supported")
        name = table_name(descriptor, namespaced=False, limited=False)
        layout = self._layout_of(operator.operator_id)
        stored = _stored_form(descriptor)
        keep, key_group = key_keeper(key_type), key_group_assigner(key_type, layout.max_parallelism)
        by_slot: dict[Slot, dict[Any, Any]] = {}
        for key, value in entries:
            kept = keep(key)
            subtask = operator_index(key_group(kept), layout.parallelism, layout.max_parallelism)
            found = by_slot.setdefault((layout.stage, layout.first_slot + subtask), {})
            found.update(stored(kept, value))
        table = operator.operator_id, TableName(name)
        # Also as a map or with a time to live: a state that is in two tables is refused by the job.
        replaced = set(map(TableName, possible_table_names(descriptor, namespaced=False)))
        self._replaced.setdefault(operator.operator_id, set()).update(replaced)
        self._remove_added(lambda of, added: of == operator.operator_id and added in replaced)
        described = {
            name: description_of(descriptor),
            OF_KEYS: {"kind": "key", "key": type_text(key_type, is_key=True)},
        }
        for subtask in range(layout.parallelism):
            slot = layout.stage, layout.first_slot + subtask
            deltas: Iterator[Delta] = chain(parts_of(name, by_slot.get(slot, {}).items()), [(DESCRIBED, described)])
            frames: list[Frame] = [
                (layout.vertex_id, operator.operator_id, encoded_entries(*delta)) for delta in deltas
            ]
            self._added.setdefault(slot, {})[table] = frames
        return self

    def _layout_of(self, operator_id: str) -> VertexLayout:
        layout = self._layouts.get(operator_id)
        if layout is None:
            stage = max((known.stage for known in self._layouts.values()), default=-1) + 1
            operators = ((operator_id, operator_id),)
            layout = VertexLayout(operator_id, operator_id, stage, 0, 1, self._max_parallelism, operators)
            self._layouts[operator_id] = layout
        if operator_id in self._removed:
            self._rebuilt.add(operator_id)
        return layout

    def write(self, path: str) -> str:
        """Write the savepoint and return its path.

        Args:
            path: A directory without a savepoint, on any file system; it is created if it does not exist.

        Raises:
            SavepointWriteError: the directory contains a savepoint, or there is no state to write.
            StateFileError: a file cannot be read or written.
        """
        directory = self._files.path(self._files.resolve(path))
        if size_of(directory / METADATA) is not None:
            raise SavepointWriteError(f"there is a savepoint in {directory} already")
        slots = sorted({*self._added, *(self._source.metadata.chains if self._source is not None else ())})
        if not slots:
            raise SavepointWriteError("there is nothing to write: set a state with with_keyed_state() first")
        chains: dict[Slot, Chain] = {slot: (self._write_slot(directory, slot),) for slot in slots}
        write_savepoint_metadata(directory, self._metadata(chains), self._seal)
        return str(directory)

    def _write_slot(self, directory: AnyPath, slot: Slot) -> VersionFile:
        name = f"versions/{slot[0]}/{slot[1]}/written.full"
        frames = (encoded_data(frame) for frame in self._frames_of(slot))
        if isinstance(directory, RemotePath):
            data = state_file_bytes(list(frames), self._seal)
            (directory / name).write_bytes(data)
            size = len(data)
        else:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            size = write_state_file(directory / name, frames, seal=self._seal)
        return VersionFile(name, size, {}, checksum_of(directory / name))

    def _frames_of(self, slot: Slot) -> Iterator[Frame]:
        kept = [] if self._source is None else self._source.frames(self._source.metadata.chains.get(slot, ()))
        ends: dict[str, Frame] = {}
        for vertex_id, operator_id, state in kept:
            if operator_id is None:
                of_kept = {id_: found for id_, found in state["operators"].items() if id_ not in self._removed}
                ends[vertex_id] = vertex_id, None, {**state, "operators": of_kept}
            elif operator_id not in self._removed:
                kept_state = self._without_replaced(operator_id, state)
                if kept_state is not None:
                    yield vertex_id, operator_id, kept_state
        for frames in self._added.get(slot, {}).values():
            yield from frames
        yield from ends.values()

    def _without_replaced(self, operator_id: str, state: bytes) -> bytes | None:
        """Return a part of the kept state without what was replaced; None if nothing of it is left."""
        replaced = self._replaced.get(operator_id)
        if not replaced:
            return state
        name = state_of(state) or program_entries(state)[0]
        if name == DESCRIBED:
            _, entries = program_entries(state)
            return encoded_entries(name, {of: found for of, found in entries.items() if TableName(of) not in replaced})
        return None if TableName(name) in replaced else state

    def _metadata(self, chains: dict[Slot, Chain]) -> CheckpointMetadata:
        now_ms, dropped = time.time_ns() // 1_000_000, self._removed - self._rebuilt
        vertices = tuple(
            replace(layout, operators=tuple(found for found in layout.operators if found[0] not in dropped))
            for layout in dict.fromkeys(self._layouts.values())
        )
        if self._source is None:
            region = RegionState(0, dict(chains), encoded_data({}), encoded_data([]), None)
            return CheckpointMetadata(1, now_ms, "0" * 32, "", True, vertices, (region,))
        old = self._source.metadata
        regions = list(old.regions)
        rest = dict(chains)
        for number, state in enumerate(regions):
            if state is not None:
                own = {slot: rest.pop(slot) for slot in state.chains}
                regions[number] = replace(state, chains=own, sources=self._sources(state.sources))
        first = next(number for number, state in enumerate(regions) if state is not None)
        state = regions[first]
        assert state is not None
        regions[first] = replace(state, chains={**state.chains, **rest})
        return replace(old, timestamp_ms=now_ms, is_savepoint=True, vertices=vertices, regions=tuple(regions))

    def _sources(self, sources: bytes) -> bytes:
        kept = {id_: where for id_, where in load_sources(sources).items() if id_ not in self._removed}
        return encoded_data(kept)


def _stored_form(descriptor: Any) -> Callable[[Any, Any], dict[Any, Any]]:
    """Return the function that converts a key and its value to entries of a state table."""
    if isinstance(descriptor, MapStateDescriptor):
        keep = key_keeper(descriptor.key_type_info)
        convert = coercer(descriptor.value_type_info) or unchanged
        return lambda key, value: {(key, keep(map_key)): convert(item) for map_key, item in value.items()}
    if isinstance(descriptor, ListStateDescriptor):
        convert = coercer(descriptor.elem_type_info) or unchanged
        return lambda key, value: {key: list(map(convert, value))}
    convert = coercer(descriptor.type_info) or unchanged
    return lambda key, value: {key: convert(value)}
