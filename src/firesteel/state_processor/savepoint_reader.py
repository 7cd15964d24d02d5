"""Reader of the state in a checkpoint or savepoint (Flink: `state.api.SavepointReader`, since 1.15)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from firesteel.common.keys.canonical_keys import key_of
from firesteel.common.types import Row
from firesteel.errors import FiresteelError
from firesteel.graph.hashing import uid_hash
from firesteel.state_processor.savepoint_files import SavepointFiles, TableName


class StateNotFoundError(FiresteelError):
    """A savepoint does not contain an operator or state; the argument is the message."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class OperatorIdentifier:
    """Identifies an operator (Flink: `state.api.OperatorIdentifier`).

    Attributes:
        operator_id: 32 hexadecimal digits.

    Example:
        >>> OperatorIdentifier.for_uid("counter").operator_id
        '0da08f51eaa85fc298e176a139b3649a'
    """

    operator_id: str

    @classmethod
    def for_uid(cls, uid: str) -> OperatorIdentifier:
        """Return the identifier of the operator with a `uid()`.

        Args:
            uid: The text that the job passes to `uid()`.
        """
        return cls(uid_hash(uid).hex())

    @classmethod
    def for_uid_hash(cls, uid_hash: str) -> OperatorIdentifier:
        """Return the identifier of an operator without a `uid()`.

        Args:
            uid_hash: 32 hexadecimal digits, as shown by `firesteel savepoint inspect` and the REST API; not checked.
        """
        return cls(uid_hash)


class SavepointReader:
    """Reads keyed and broadcast state by name, subtask by subtask.

    State with a time to live may include expired values that were not removed yet.

    `SavepointReader.read` returns it.

    Example:
        >>> counter, count = OperatorIdentifier.for_uid("counter"), ValueStateDescriptor("count", Types.LONG())
        >>> writer = SavepointWriter.new_savepoint(max_parallelism=128)
        >>> path = writer.with_keyed_state(counter, count, [("a", 1)], key_type=Types.STRING()).write("savepoint")
        >>> list(SavepointReader.read(path).read_keyed_state(counter, "count"))
        [('a', 1)]
    """

    def __init__(self, files: SavepointFiles) -> None:
        self._files = files

    @classmethod
    def read(cls, path: str, configuration: Mapping[str, str] | None = None) -> SavepointReader:
        """Open a checkpoint or savepoint.

        Args:
            path: Its directory or the `_metadata` file in it, on any file system.
            configuration: Options of file systems, such as `s3.endpoint`.

        Raises:
            CheckpointNotFoundError: there is no checkpoint at the path.
            StateFileError: the metadata is damaged.
        """
        return cls(SavepointFiles(path, configuration))

    def read_keyed_state(self, operator: OperatorIdentifier, name: str) -> Iterator[tuple[Any, Any]]:
        """Yield `(key, value)` of a value, list, reducing or aggregating state.

        The value of an aggregating state is its accumulator.

        Args:
            operator: The operator that has the state.
            name: Name of the state, as in its descriptor.

        Raises:
            StateNotFoundError: there is no such operator, or it has no such state.
            StateFileError: a file is missing or damaged.
        """
        for row in self._rows(operator, name, "value"):
            yield row[0], row[1]

    def read_map_state(self, operator: OperatorIdentifier, name: str) -> Iterator[tuple[Any, Any, Any]]:
        """Yield `(key, key in the map, value)` of a map state; errors as in `read_keyed_state`.

        Args:
            operator: The operator.
            name: Name of the state.
        """
        yield from self._rows(operator, name, "map")

    def read_broadcast_state(self, operator: OperatorIdentifier, name: str) -> Iterator[tuple[Any, Any]]:
        """Yield `(key in the map, value)` of a broadcast state; errors as in `read_keyed_state`.

        Args:
            operator: The operator.
            name: Name of the state.
        """
        yield from self._rows(operator, name, "broadcast")

    def to_dataframe(self, session: Any, operator: OperatorIdentifier, name: str, schema: object = None) -> object:
        """Return a state as a Spark DataFrame; Spark reads the subtasks in parallel.

        Args:
            session: The SparkSession; its workers must reach the savepoint under the same path.
            operator: The operator.
            name: Name of the state.
            schema: Types of the columns `key`, `map_key` (map state only) and `value`; None lets Spark infer them.

        Raises:
            StateNotFoundError: there is no such operator, or it has no such state.
        """
        table = self._table(operator, name)
        names = {"value": ("key", "value"), "map": ("key", "map_key", "value"), "broadcast": ("map_key", "value")}
        subtasks = list(self._subtasks_of(operator, table))
        rows = session.sparkContext.parallelize(subtasks, len(subtasks)).flatMap(
            partial(_plain_rows, self._files, operator.operator_id, table)
        )
        return session.createDataFrame(rows, schema or list(names[table.kind]))

    def _rows(self, operator: OperatorIdentifier, name: str, kind: str) -> Iterator[Any]:
        table = self._table(operator, name)
        if table.kind != kind:
            text = f"state {name!r} of operator {operator.operator_id} is a {table.kind} state, expected {kind}"
            raise StateNotFoundError(text)
        for subtask in self._subtasks_of(operator, table):
            yield from rows_of(self._files, operator.operator_id, table, subtask)

    def _subtasks_of(self, operator: OperatorIdentifier, table: TableName) -> range:
        # Each subtask has the whole broadcast state.
        _, layout = self._files.operators[operator.operator_id]
        return range(1 if table.kind == "broadcast" else layout.parallelism)

    def _table(self, operator: OperatorIdentifier, name: str) -> TableName:
        found = self._files.operators.get(operator.operator_id)
        if found is None:
            known = ", ".join(f"{name!r} ({id_})" for id_, (name, _) in self._files.operators.items())
            raise StateNotFoundError(f"no operator {operator.operator_id} in {self._files.path}; found {known}")
        tables = set()
        for subtask in range(found[1].parallelism):
            for (text, _), _ in self._files.deltas(operator.operator_id, subtask):
                table = TableName(text)
                if table.state == name and table.kind != "window":
                    return table
                tables.add(table)
        others = ", ".join(sorted(f"{table.state!r} ({table.kind})" for table in tables)) or "none"
        raise StateNotFoundError(f"operator {found[0]!r} has no state {name!r}; it has {others}")


def rows_of(files: SavepointFiles, operator_id: str, table: TableName, subtask: int) -> Iterator[tuple[Any, ...]]:
    """Yield the rows of a state in one subtask: key and value, with the map key in between for map state."""
    for entry, stored in files.entries(operator_id, table, subtask):
        value = table.plain(stored)
        if table.kind == "map":
            yield key_of(entry[0]), key_of(entry[1]), value
        else:
            yield key_of(entry), value


def _plain_rows(files: SavepointFiles, operator_id: str, table: TableName, subtask: int) -> Iterator[tuple[Any, ...]]:
    for row in rows_of(files, operator_id, table, subtask):
        yield tuple(_plain(value) for value in row)


def _plain(value: object) -> Any:
    """Return a value that Spark accepts as a column: rows become tuples, or dicts if their fields are named."""
    if not isinstance(value, Row):
        return value
    return value.as_dict() if hasattr(value, "_fields") and value._fields else tuple(value)
