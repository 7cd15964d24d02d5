"""Summaries of the state in a checkpoint or savepoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

from firesteel.common.keys.canonical_keys import key_of
from firesteel.common.text_table import text_table
from firesteel.operators.state.descriptions import OF_KEYS, PICKLED, Description, shown
from firesteel.state_processor.savepoint_files import SavepointFiles, TableName

_SHOWN = 3


@dataclass(slots=True)
class StateSummary:
    """A state of an operator.

    Attributes:
        name: Name of the state.
        kind: `value`, `list`, `map`, `reducing`, `aggregating`, `broadcast`, or `window` (including timers); `value`
            stands for all but maps in files of earlier releases.
        has_ttl: Whether it has a time to live.
        entries: Number of entries.
        bytes: Approximate size in the files, in bytes.
        key_type: Declared type of the keys, or the Python class of the first one.
        value_type: Declared type of the values (of the elements of a list, of the values of a map), or the Python class
            of the first one.
        keys: The first keys.

    Example:
        >>> StateSummary("count", "value", has_ttl=True, entries=3).shown_kind
        'value with ttl'
    """

    name: str
    kind: str
    has_ttl: bool
    entries: int = 0
    bytes: int = 0
    key_type: str = ""
    value_type: str = ""
    keys: list[str] = field(default_factory=list)

    @property
    def shown_kind(self) -> str:
        """The kind, and whether the state has a time to live."""
        return f"{self.kind} with ttl" if self.has_ttl else self.kind

    def add(self, entry: Any, value: object, size: int) -> None:
        """Count an entry.

        Args:
            entry: The key, with the map key or window if the state has one.
            value: The value.
            size: Bytes in the file.
        """
        if not self.entries:
            self.value_type = type(value).__name__
        self.entries += 1
        self.bytes += size
        if len(self.keys) < _SHOWN:
            key = key_of(entry[0] if self.kind in ("map", "window") else entry)
            self.key_type = self.key_type or type(key).__name__
            if repr(key) not in self.keys:
                self.keys.append(repr(key))

    def declare(self, state: Description, keys: Description) -> None:
        """Take over what the files say about the state and about the operator's keys."""
        if state:
            self.kind = self.kind if self.kind in ("window", "broadcast") else str(state["kind"])
            self.value_type = _declared(state["value"], self.value_type)
        keys = state if self.kind == "broadcast" else keys
        if keys:
            self.key_type = _declared(keys["key"], self.key_type)


def _declared(type_text: object, found: str) -> str:
    return found if type_text == PICKLED else shown(type_text)


@dataclass(slots=True)
class OperatorSummary:
    """An operator with its state.

    Attributes:
        operator_id: Id of the operator.
        name: Name of the operator.
        vertex: Name of its vertex.
        parallelism: Number of its subtasks.
        max_parallelism: Number of key groups.
        states: Its keyed and broadcast states.

    Example:
        >>> counter, count = OperatorIdentifier.for_uid("counter"), ValueStateDescriptor("count", Types.LONG())
        >>> writer = SavepointWriter.new_savepoint(max_parallelism=128)
        >>> path = writer.with_keyed_state(counter, count, [("a", 1)], key_type=Types.STRING()).write("savepoint")
        >>> [operator] = inspect_savepoint(path).operators
        >>> operator.max_parallelism, [state.name for state in operator.states]
        (128, ['count'])
    """

    operator_id: str
    name: str
    vertex: str
    parallelism: int
    max_parallelism: int
    states: list[StateSummary]


@dataclass(slots=True)
class SavepointSummary:
    """A checkpoint or savepoint.

    Attributes:
        path: Its directory.
        is_savepoint: Whether it is a savepoint, which has files of its own.
        checkpoint_id: Its number.
        timestamp_ms: Time at which it was taken, in ms since the epoch.
        job_id: Id of the job.
        job_name: Name of the job.
        files: Number of its state files.
        bytes: Total size of its state files.
        operators: All operators, including those without keyed or broadcast state.

    Example:
        >>> counter, count = OperatorIdentifier.for_uid("counter"), ValueStateDescriptor("count", Types.LONG())
        >>> writer = SavepointWriter.new_savepoint(max_parallelism=128)
        >>> path = writer.with_keyed_state(counter, count, [("a", 1)], key_type=Types.STRING()).write("savepoint")
        >>> summary = inspect_savepoint(path)
        >>> summary.is_savepoint, summary.operators[0].states[0].keys
        (True, ["'a'"])
    """

    path: str
    is_savepoint: bool
    checkpoint_id: int
    timestamp_ms: int
    job_id: str
    job_name: str
    files: int
    bytes: int
    operators: list[OperatorSummary]

    def as_json(self) -> dict[str, Any]:
        """Return the summary as plain data."""
        return asdict(self)

    def text(self) -> str:
        """Return the summary as lines of text."""
        taken = datetime.fromtimestamp(self.timestamp_ms / 1000, UTC).isoformat(sep=" ", timespec="seconds")
        kind = "Savepoint" if self.is_savepoint else "Checkpoint"
        lines = [
            f"{kind} {self.checkpoint_id} of job {self.job_name!r} ({self.job_id}), taken {taken}",
            f"{self.path}: {self.files} files, {self.bytes:,} bytes",
        ]
        for operator in self.operators:
            size = f"parallelism {operator.parallelism}, max parallelism {operator.max_parallelism}"
            lines += ["", f"{operator.name} ({operator.operator_id}), {size}"]
            lines += _table(operator.states) if operator.states else ["  no keyed or broadcast state"]
        return "\n".join(lines)


def _table(states: list[StateSummary]) -> list[str]:
    rows = [("state", "kind", "keys", "values", "entries", "bytes", "first keys")]
    rows += [
        (s.name, s.shown_kind, s.key_type, s.value_type, f"{s.entries:,}", f"{s.bytes:,}", ", ".join(s.keys))
        for s in states
    ]
    return [f"  {line}" for line in text_table(rows)]


def inspect_savepoint(path: str, configuration: Mapping[str, str] | None = None) -> SavepointSummary:
    """Read a checkpoint or savepoint and return a summary of its state.

    It runs no code, whoever wrote the savepoint: values of other classes than Python's and Row are not created, only
    shown. So it accepts unsigned savepoints and those of other clusters.

    Args:
        path: Its directory or the `_metadata` file in it, on any file system.
        configuration: Options of file systems.

    Raises:
        CheckpointNotFoundError: there is no checkpoint at the path.
        StateFileError: a file is missing or damaged.

    Example:
        >>> counter, count = OperatorIdentifier.for_uid("counter"), ValueStateDescriptor("count", Types.LONG())
        >>> writer = SavepointWriter.new_savepoint(max_parallelism=128)
        >>> path = writer.with_keyed_state(counter, count, [("a", 1)], key_type=Types.STRING()).write("savepoint")
        >>> inspect_savepoint(path).operators[0].states[0].entries
        1
    """
    files = SavepointFiles.inert(path, configuration)
    metadata = files.metadata
    state_files = {file.path: file.size for chain in metadata.chains.values() for file in chain}
    return SavepointSummary(
        str(files.path),
        metadata.is_savepoint,
        metadata.checkpoint_id,
        metadata.timestamp_ms,
        metadata.job_id,
        metadata.job_name,
        len(state_files),
        sum(state_files.values()),
        [
            OperatorSummary(
                operator_id,
                name,
                layout.name,
                layout.parallelism,
                layout.max_parallelism,
                _states(files, operator_id),
            )
            for operator_id, (name, layout) in files.operators.items()
        ],
    )


def _states(files: SavepointFiles, operator_id: str) -> list[StateSummary]:
    found: dict[TableName, StateSummary] = {}
    for table, (entry, stored), size in files.entries_of_operator(operator_id):
        if table not in found:
            found[table] = StateSummary(table.state, table.kind, table.has_ttl)
        found[table].add(entry, table.plain(stored), size)
    for table, summary in found.items():
        summary.declare(files.description(operator_id, table), files.description(operator_id, TableName(OF_KEYS)))
    return [found[table] for table in sorted(found, key=lambda table: table.state)]
