"""The connector `state`, which Flink has not: a keyed state of a running job, by key and as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.rex import Call, InputRef, Literal, Rex
from firesteel.common.json_types import Json
from firesteel.common.options.rest_options import REST_ADDRESS, REST_PORT
from firesteel.common.table_errors import ValidationException
from firesteel.common.values.json_values import to_json
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.key_lookup import KeyLookup, Retries, constant
from firesteel.connectors.lookup_cache import OPTIONS as LOOKUP_OPTIONS
from firesteel.connectors.lookup_cache import lookup_cache
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.savepoint.source import SavepointSettings
from firesteel.connectors.state.cells import cell_reader
from firesteel.connectors.state.client import RunningState
from firesteel.connectors.state.source import StatePoints, StateScan
from firesteel.connectors.table_connector import INSERT_ONLY, ResolvedTable, ScanRequest
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.connectors.table_rows import batches_of, row_type_of
from firesteel.graph.hashing import uid_hash

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.functions.connector_base import Source

_UID, _HASH = "uid", "uid.hash"
_TLS = "security.ssl.rest."
_MOST_KEYS = 1000
_LOST = (0, 503)
"""Statuses of look-ups that may succeed later: the JobManager is away, or the operator restarts."""

OPTIONS = {"state": OptionTable(("job", "state"), (_UID, _HASH, "rest-address", "token", *LOOKUP_OPTIONS))}


def source(table: ResolvedTable, context: ConnectorContext) -> StateOfJob:
    """Return the table of a state."""
    return StateOfJob(table, context)


class StateOfJob:
    """One row per key, with the key in the column of the primary key and the value of the state in the other one."""

    kinds: frozenset[Kind] = INSERT_ONLY
    is_bounded = True

    def __init__(self, table: ResolvedTable, context: ConnectorContext) -> None:
        self._options = OPTIONS["state"].read(table.options, "state")
        given = [key for key in (_UID, _HASH) if key in table.options]
        if len(given) != 1:
            raise ValidationException(f"Either '{_UID}' or '{_HASH}' must be set, found {given or 'none of them'}")
        self._columns = {column.name: column.type for column in table.physical_columns}
        if len(table.primary_key) != 1 or len(self._columns) != 2:
            raise ValidationException(
                "A table of state needs the key of the operator in one column, which is its PRIMARY KEY (... NOT "
                f"ENFORCED), and the value in another one, found the columns {list(self._columns)} and the key "
                f"{list(table.primary_key) or 'none'}; a key of several parts has the type ROW"
            )
        [self._key] = table.primary_key
        [self._value] = [name for name in self._columns if name != self._key]
        self._state = self._running_state(context)

    def _running_state(self, context: ConnectorContext) -> RunningState:
        values, config = self._options.values, context.config.get_configuration().to_dict()
        address = REST_ADDRESS.of(config)
        if not address.rpartition(":")[2].isdigit():
            address = f"{address}:{REST_PORT.of(config)}"
        operator = {"uid": values[_UID]} if _UID in values else {"uidHash": values[_HASH]}
        tls = {key: text for key, text in config.items() if key.startswith(_TLS)}
        place = values.get("rest-address", address), values.get("token")
        return RunningState(*place, values["job"], operator, values["state"], tls, "rest-address" not in values)

    def uses_condition(self, rex: Rex) -> bool:
        """Return whether a condition leaves some keys only, which are looked up."""
        return self._keys_of(rex) is not None

    def _keys_of(self, rex: Rex | None) -> list[object] | None:
        """Return the keys that a condition leaves; None if they cannot be told."""
        match rex:
            case Call(function="AND", operands=parts):
                return next((keys for part in parts if (keys := self._keys_of(part)) is not None), None)
            case Call(function="=" | "IN", operands=(InputRef(index=index), *constants)):
                values = [one.value for one in constants if isinstance(one, Literal) and one.value is not None]
                is_key = list(self._columns)[index] == self._key
                return values if is_key and len(values) == len(constants) <= _MOST_KEYS else None
        return None

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        row_type = row_type_of(request.columns)
        keys = self._keys_of(request.condition)
        chosen: Source[object]
        if keys is not None:
            is_key = tuple(column.name == self._key for column in request.columns)
            pairs: list[tuple[object, Json]] = [(key, to_json(key)) for key in dict.fromkeys(keys)]
            chosen = StatePoints(self._state, pairs, is_key, self._columns[self._value], row_type)
        else:
            states = tuple(None if column.name == self._key else self._state.state for column in request.columns)
            chosen = StateScan(self._state, SavepointSettings("", self._operator_id(), states, row_type))
        rows = environment.from_source(chosen, WatermarkStrategy.no_watermarks(), name)
        return batches_of(rows, request.columns)

    def _operator_id(self) -> str:
        operator = self._state.operator
        return operator["uidHash"] if "uidHash" in operator else uid_hash(operator["uid"]).hex()

    def lookup(self, keys: list[str]) -> KeyLookup:
        """Return the lookup of values by key.

        Raises:
            ValidationException: the condition has not the key, or an option is invalid.
        """
        if self._key not in keys:
            raise ValidationException(f"A lookup in a table of state needs a condition = on {self._key}")
        finder = StateFinder(self._state, tuple(self._columns), tuple(self._columns.values()), self._key, tuple(keys))
        retries = Retries(self._options.number("lookup.max-retries", 3), partial(constant, 1.0))
        return KeyLookup(finder, tuple(self._columns.values()), lookup_cache(self._options), retries, "state")


@dataclass(frozen=True)
class StateFinder:
    """Finds the rows of keys (a `RowFinder`).

    Attributes:
        state: The state.
        names: Names of the columns.
        types: Their types.
        key: The column of the key.
        given: The columns whose values the condition gives, in the order of lookups.
    """

    state: RunningState
    names: tuple[str, ...]
    types: tuple[DataType, ...]
    key: str
    given: tuple[str, ...]

    def find(self, keys: Sequence[tuple[Cell, ...]]) -> list[list[tuple[Cell, ...]]]:
        """Return the row of each key, none where it has no value or another one than the condition gives."""
        place = self.given.index(self.key)
        read = cell_reader(self.types[1 - self.names.index(self.key)], f"the value of state {self.state.state!r}")
        wanted = [to_json(key[place]) for key in keys]
        found = [None if value is None else read(value) for value in self.state.values(wanted)]
        rows = [
            tuple(key[place] if name == self.key else value for name in self.names)
            for key, value in zip(keys, found, strict=True)
        ]
        return [
            [row] if value is not None and self._fits(row, key) else []
            for row, value, key in zip(rows, found, keys, strict=True)
        ]

    def _fits(self, row: tuple[Cell, ...], key: tuple[Cell, ...]) -> bool:
        return all(row[self.names.index(name)] == value for name, value in zip(self.given, key, strict=True))

    def is_transient(self, error: Exception) -> bool:
        """Return whether the operator restarts, or no JobManager answers."""
        return getattr(error, "status", None) in _LOST

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""
