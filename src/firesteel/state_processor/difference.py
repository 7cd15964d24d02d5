"""The difference of two checkpoints or savepoints, by state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field

from firesteel.common.keys.canonical_keys import key_of
from firesteel.common.text_table import text_table
from firesteel.operators.state.entries import Entry
from firesteel.state_processor.savepoint_files import SavepointFiles

_SHOWN = 3

_Place = tuple[str, str, Entry]
"""(name of the state, its kind, entry)."""


@dataclass(slots=True)
class StateDifference:
    """What differs in a state of an operator.

    Attributes:
        operator_id: Id of the operator.
        operator: Name of the operator.
        name: Name of the state.
        kind: As in `StateSummary`.
        added: Number of entries that only the second savepoint has; an entry of a map state is one of its map keys.
        removed: Number of entries that only the first one has.
        changed: Number of entries with another value.
        same: Number of equal entries.
        keys: The first keys of entries that differ, each after `+`, `-` or `~`.

    Example:
        >>> StateDifference("ca88ee", "counter", "count", "value", added=1, same=3).differs
        True
    """

    operator_id: str
    operator: str
    name: str
    kind: str
    added: int = 0
    removed: int = 0
    changed: int = 0
    same: int = 0
    keys: list[str] = field(default_factory=list)

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """The numbers of added, removed, changed and equal entries."""
        return self.added, self.removed, self.changed, self.same

    @property
    def differs(self) -> bool:
        """Whether any entry differs."""
        return any(self.counts[:3])

    def count(self, sign: str, entry: Entry) -> None:
        """Count an entry; `sign` is `+` for added, `-` for removed, `~` for changed, and empty for the same."""
        match sign:
            case "+":
                self.added += 1
            case "-":
                self.removed += 1
            case "~":
                self.changed += 1
            case _:
                self.same += 1
        if sign and len(self.keys) < _SHOWN:
            self.keys.append(f"{sign}{_shown_key(self.kind, entry)}")


def _shown_key(kind: str, entry: Entry) -> str:
    if kind in ("map", "window"):
        return repr((key_of(entry[0]), *map(key_of, entry[1:])))
    return repr(key_of(entry))


@dataclass(slots=True)
class SavepointDifference:
    """What differs between two checkpoints or savepoints.

    Attributes:
        first: The path of the first one.
        second: The path of the second one.
        states: All their keyed and broadcast states, windows and timers.

    Example:
        >>> counter, count = OperatorIdentifier.for_uid("counter"), ValueStateDescriptor("count", Types.LONG())
        >>> def savepoint(path, entries):
        ...     writer = SavepointWriter.new_savepoint(max_parallelism=128)
        ...     return writer.with_keyed_state(counter, count, entries, key_type=Types.STRING()).write(path)
        >>> first = savepoint("first", [("a", 1), ("b", 2)])
        >>> second = savepoint("second", [("a", 1), ("b", 3), ("c", 4)])
        >>> [state] = compare_savepoints(first, second).states
        >>> state.added, state.removed, state.changed, state.keys
        (1, 0, 1, ["~'b'", "+'c'"])
    """

    first: str
    second: str
    states: list[StateDifference]

    def as_json(self) -> dict[str, object]:
        """Return the difference as plain data."""
        return asdict(self)

    def text(self) -> str:
        """Return a table with a row for each state that differs."""
        found = [state for state in self.states if state.differs]
        if not found:
            return f"The states of {self.first} and {self.second} are the same."
        header = ("operator", "state", "kind", "added", "removed", "changed", "same", "first keys")
        rows = [
            (state.operator, state.name, state.kind, *map("{:,}".format, state.counts), ", ".join(state.keys))
            for state in found
        ]
        return "\n".join([f"- {self.first}", f"+ {self.second}", "", *text_table([header, *rows])])


def compare_savepoints(first: str, second: str, configuration: Mapping[str, str] | None = None) -> SavepointDifference:
    """Compare the states of two checkpoints or savepoints, also of jobs with another parallelism.

    Operators are compared by their ids. Times of renewal do not count. It runs no code, as `inspect_savepoint`. The
    states of one operator of the first one are kept in memory.

    Args:
        first: The directory of a checkpoint or savepoint or the `_metadata` file in it, on any file system.
        second: Another one.
        configuration: Options of file systems.

    Raises:
        CheckpointNotFoundError: there is no checkpoint at a path.
        StateFileError: a file is missing or damaged.
    """
    both = [SavepointFiles.inert(path, configuration) for path in (first, second)]
    names = {id_: name for files in both for id_, (name, _) in files.operators.items()}
    states: list[StateDifference] = []
    for operator_id, name in names.items():
        states += _compared(operator_id, name, *both)
    return SavepointDifference(str(both[0].path), str(both[1].path), states)


def _compared(operator_id: str, name: str, first: SavepointFiles, second: SavepointFiles) -> list[StateDifference]:
    before = dict(_entries(first, operator_id))
    found: dict[tuple[str, str], StateDifference] = {}

    def count(sign: str, place: _Place) -> None:
        state, kind, entry = place
        if (state, kind) not in found:
            found[state, kind] = StateDifference(operator_id, name, state, kind)
        found[state, kind].count(sign, entry)

    for place, value in _entries(second, operator_id):
        if place not in before:
            count("+", place)
        else:
            other = before.pop(place)
            count("" if other == value or repr(other) == repr(value) else "~", place)  # NaN is not equal to itself
    for place in before:
        count("-", place)
    return [found[state] for state in sorted(found)]


def _entries(files: SavepointFiles, operator_id: str) -> Iterator[tuple[_Place, object]]:
    if operator_id in files.operators:
        for table, (entry, stored), _ in files.entries_of_operator(operator_id):
            yield (table.state, table.kind, entry), table.plain(stored)
