"""The connector `savepoint`. Flink: `SavepointDynamicTableSourceFactory` (since 2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.common.options.state_options import STATE_BACKEND
from firesteel.common.table_errors import ValidationException
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.savepoint.source import SavepointSettings, SavepointSource
from firesteel.connectors.table_connector import INSERT_ONLY, ResolvedTable, ScanRequest
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.connectors.table_rows import batches_of, row_type_of
from firesteel.graph.hashing import uid_hash

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

_UID, _HASH = "operator.uid", "operator.uid.hash"
_KINDS = ("value", "list", "map")
_OF_JAVA = ("key-class", "value-class", "key-type-factory", "value-type-factory", "value-type-info-factory")

_UNUSED = {STATE_BACKEND.key: "all backends write the same files"}
OPTIONS = {"savepoint": OptionTable(("state.path",), (_UID, _HASH), ("fields.",), _UNUSED)}


def source(table: ResolvedTable, context: ConnectorContext) -> SavepointTable:
    """Return the source that reads the state of an operator."""
    return SavepointTable(table)


class SavepointTable:
    """One row per key, with the key in the column of the primary key and a state in each other column."""

    kinds: frozenset[Kind] = INSERT_ONLY
    is_bounded = True

    def __init__(self, table: ResolvedTable) -> None:
        self._options = OPTIONS["savepoint"].read(table.options, "savepoint")
        given = [key for key in (_UID, _HASH) if key in table.options]
        if len(given) != 1:
            raise ValidationException(f"Either '{_UID}' or '{_HASH}' must be set, found {given or 'none of them'}")
        uid = table.options.get(_UID)
        self._operator_id = table.options[_HASH] if uid is None else uid_hash(uid).hex()
        if len(table.primary_key) != 1:
            raise ValidationException(
                "A table of state needs the key of the operator in one column, which is its PRIMARY KEY (... NOT "
                f"ENFORCED), found {list(table.primary_key) or 'none'}; a key of several parts has the type ROW"
            )
        [self._key] = table.primary_key
        self._states = {column.name: self._state_of(column.name) for column in table.physical_columns}
        self._check_fields(table)

    def _state_of(self, column: str) -> str:
        return self._options.values.get(f"fields.{column}.state-name", column)

    def _check_fields(self, table: ResolvedTable) -> None:
        """Check the options of columns.

        Raises:
            ValidationException: an option is not known, has an unknown value, or names no column.
        """
        columns = {column.name: column.type for column in table.physical_columns}
        for key, value in self._options.values.items():
            if not key.startswith("fields."):
                continue
            column, _, option = key.removeprefix("fields.").rpartition(".")
            if column not in columns or column == self._key:
                raise ValidationException(f"Option '{key}' names no column with a state: {sorted(columns)}")
            if option in _OF_JAVA:
                raise ValidationException(f"Option '{key}' names a class of Java: the type is that of the column")
            if option not in ("state-name", "state-type"):
                raise ValidationException(f"Option '{key}' is not known: state-name, state-type")
            if option == "state-type" and value not in _KINDS:
                raise ValidationException(f"Option '{key}' must be one of {', '.join(_KINDS)}; found {value!r}")

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        names = tuple(None if column.name == self._key else self._states[column.name] for column in request.columns)
        row_type = row_type_of(request.columns)
        settings = SavepointSettings(self._options.text("state.path"), self._operator_id, names, row_type)
        rows = environment.from_source(SavepointSource(settings), WatermarkStrategy.no_watermarks(), name)
        return batches_of(rows, request.columns)
