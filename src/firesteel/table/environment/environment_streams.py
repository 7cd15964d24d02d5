"""Conversions between DataStreams and tables; part of `StreamTableEnvironment`."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from firesteel.columns.batch import Kind
from firesteel.columns.column_type_information import type_info_of
from firesteel.columns.type_information import data_type_of
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.common.typeinfo import RowTypeInfo, TupleTypeInfo, TypeInformation, Types
from firesteel.connectors.table_connector import INSERT_ONLY
from firesteel.datastream.data_stream import DataStream
from firesteel.functions.operator_builder import add_operator, transformation_of
from firesteel.functions.operator_descriptors import ColumnsToRowsOperator
from firesteel.table.changelog_mode import ChangelogMode
from firesteel.table.environment.stream_scans import stream_table
from firesteel.table.execution.insert_planning import fitted
from firesteel.table.expression import Expression
from firesteel.table.schema import Schema
from firesteel.table.syntax import queries
from firesteel.table.table_parts import columns_of, kinds_of_mode, primary_key_of, rel_of, set_schema
from firesteel.table.types import LocalZonedTimestampType, RowType, TimestampType

if TYPE_CHECKING:
    from firesteel.columns.column_types import DataType
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.planner.rel.rel import Rel
    from firesteel.table.planner.translate.planner import Planner
    from firesteel.table.syntax.queries import Query
    from firesteel.table.syntax.statements import ColumnDefinition
    from firesteel.table.table import Table


class StreamMethods:
    """The methods of a table environment for DataStreams."""

    _catalogs: CatalogManager
    _planner: Planner

    @abstractmethod
    def _table(self, query: Query) -> Table:
        """Return the table of a query."""

    # --- streams to tables -------------------------------------------------------------------------------------------

    def from_data_stream(self, data_stream: DataStream[Any], *fields_or_schema: Expression[Any] | Schema) -> Table:
        """Return the table of an append-only stream.

        Args:
            data_stream: A stream with a declared type; rows have one column per field, other elements a single column
                `f0`.
            fields_or_schema: Either a schema, or the columns: `col("a")`, `col("a").alias("b")`, and time attributes
                `col("rt").rowtime`, `col("pt").proctime`.

        Raises:
            ValidationException: The type has no columns, or a column does not exist.
        """
        return self._stream_table(data_stream, fields_or_schema, ChangelogMode.insert_only(), False)

    def from_changelog_stream(
        self, data_stream: DataStream[Any], schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> Table:
        """Return the table of a stream of rows with row kinds.

        Args:
            data_stream: Rows; the `RowKind` of each tells whether it inserts, updates or deletes.
            schema: Names, types, primary key and time attributes; by default derived from the type of the stream.
            changelog_mode: The row kinds that occur; `ChangelogMode.upsert()` requires a primary key.

        Raises:
            ValidationException: The stream is an upsert changelog and the schema has no primary key.
        """
        mode = ChangelogMode.all() if changelog_mode is None else changelog_mode
        return self._stream_table(data_stream, () if schema is None else (schema,), mode, True)

    def _stream_table(
        self, stream: DataStream[Any], fields: tuple[Any, ...], mode: ChangelogMode, has_kinds: bool
    ) -> Table:
        kinds = kinds_of_mode(mode)
        node, schema = stream_table(stream, fields, kinds, has_kinds, self._catalogs)
        if (
            has_kinds
            and Kind.UPDATE_AFTER in kinds
            and Kind.UPDATE_BEFORE not in kinds
            and not any(primary_key_of(field) for field in fields if isinstance(field, Schema))
        ):
            raise ValidationException(
                "The stream is an upsert changelog, which requires a primary key; declare one in the schema"
            )
        table = self._table(queries.Resolved(node))
        if schema is not None:
            set_schema(table, schema)
        return table

    # --- tables to streams -------------------------------------------------------------------------------------------

    def to_data_stream(self, table: Table) -> DataStream[Any]:
        """Convert an insert-only table to a stream of rows.

        Args:
            table: A table that is never updated; its columns become the fields of the rows.

        Raises:
            TableException: The table has updates or deletions.
        """
        self._require_insert_only(table, "toDataStream")
        node = rel_of(table)
        return self._stream_of(node, _rows_of(node.row_type), None)

    def to_changelog_stream(
        self, table: Table, target_schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> DataStream[Any]:
        """Convert a table to a stream of rows with row kinds.

        Args:
            table: Any table.
            target_schema: Names and types of the fields, to which the columns are converted in their order, as by an
                INSERT. The metadata column `rowtime` of type TIMESTAMP_LTZ(3) or TIMESTAMP(3) becomes the event time of
                the elements and no field.
            changelog_mode: The row kinds that the stream may have, by default all. With `ChangelogMode.upsert()`
                updates come without UPDATE_BEFORE if what makes them can leave it out: as in Flink, not below a filter;
                unlike in Flink, not below a join either. The primary key of `target_schema` must then be the one by
                which the table is updated.

        Raises:
            TableException: The table has changes of other kinds.
            ValidationException: The columns do not fit the schema, or several rows may have its primary key.
        """
        node, rowtime = rel_of(table), None
        if target_schema is not None:
            targets, rowtime = _columns_written(target_schema)
            node = fitted(self._planner, "*anonymous_datastream_sink*", targets, node)
        allowed = ChangelogMode.all() if changelog_mode is None else changelog_mode
        found = self._planner.kinds(node)
        if refused := found - {Kind.UPDATE_BEFORE} - kinds_of_mode(allowed):
            names = ", ".join(sorted(kind.name for kind in refused))
            raise TableException(f"Table sink of toChangelogStream() doesn't support consuming {names} changes")
        upserts_by = None
        if Kind.UPDATE_BEFORE not in kinds_of_mode(allowed):
            upserts_by = () if target_schema is None else primary_key_of(target_schema)
        return self._stream_of(node, _rows_of(node.row_type, rowtime), None, rowtime, upserts_by=upserts_by)

    def to_append_stream(self, table: Table, type_info: TypeInformation[Any]) -> DataStream[Any]:
        """Convert an insert-only table to a stream with elements of a type.

        Args:
            table: The table.
            type_info: The type of the elements, with one field per column.

        Raises:
            TableException: The table has updates or deletions.
        """
        self._require_insert_only(table, "toAppendStream")
        self._check_type(table, type_info)
        return self._stream_of(rel_of(table), type_info, type_info)

    def to_retract_stream(self, table: Table, type_info: TypeInformation[Any]) -> DataStream[Any]:
        """Convert a table to pairs: `(True, row)` adds a row, `(False, row)` retracts one.

        Args:
            table: Any table.
            type_info: The type of the rows, with one field per column.
        """
        self._check_type(table, type_info)
        return self._stream_of(rel_of(table), Types.TUPLE([Types.BOOLEAN(), type_info]), type_info, is_retract=True)

    def _require_insert_only(self, table: Table, method: str) -> None:
        found = self._planner.kinds(rel_of(table))
        if not found <= INSERT_ONLY:
            changes = "update and delete" if Kind.DELETE in found else "update"
            raise TableException(
                f"Table sink 'Unregistered_DataStream_Sink' of {method} doesn't support consuming {changes} "
                f"changes; use "
                "to_changelog_stream()"
            )

    def _check_type(self, table: Table, type_info: TypeInformation[Any]) -> None:
        wanted, found = data_type_of(type_info), rel_of(table).row_type
        count = len(wanted) if isinstance(wanted, RowType) else 1
        if count != len(found):
            raise ValidationException(
                f"Arity [{len(found)}] of result does not match the number [{count}] of requested type {type_info!r}"
            )

    def _stream_of(
        self,
        node: Rel,
        type_info: TypeInformation[Any],
        element_type: TypeInformation[Any] | None,
        rowtime: str | None = None,
        is_retract: bool = False,
        upserts_by: tuple[str, ...] | None = None,
    ) -> DataStream[Any]:
        """Return the stream of a plan; its elements are rows with the names of the columns, or of `element_type`."""
        stream = self._planner.column_stream(node, upserts_by)
        types, names = tuple(node.row_type.field_types()), tuple(node.row_type.names)
        match element_type:
            case None:
                operator = ColumnsToRowsOperator(types, names, is_retract, rowtime)
            case RowTypeInfo():
                operator = ColumnsToRowsOperator(types, tuple(element_type.get_field_names()), is_retract)
            case TupleTypeInfo():
                operator = ColumnsToRowsOperator(types, names, is_retract, element="tuple")
            case _:
                operator = ColumnsToRowsOperator(types, names, is_retract, element="value")
        transformation = add_operator(stream, "TableToDataStream", operator, type_info)
        transformation.parallelism = transformation_of(stream).parallelism  # keeps the order of changes
        transformation.parallelism_configured = True
        return DataStream(stream.get_execution_environment(), transformation)


def _columns_written(schema: Schema) -> tuple[list[tuple[str, DataType]], str | None]:
    """Return the columns of a schema that a stream gets, and the name of the one that becomes the event time."""
    rowtime: str | None = None
    written: list[tuple[str, DataType]] = []
    for column in columns_of(schema):
        if column.expression is not None or column.is_virtual:
            continue
        written.append((column.name, column.declared_type))
        if column.is_metadata:
            rowtime = _rowtime_in(column)
    return written, rowtime


def _rowtime_in(column: ColumnDefinition) -> str:
    key = column.metadata_key or column.name
    if key != "rowtime":
        raise ValidationException(
            f"Invalid metadata key '{key}' in column '{column.name}'. A stream supports the following metadata keys "
            "for writing:\nrowtime"
        )
    if not isinstance(column.declared_type, TimestampType | LocalZonedTimestampType):
        raise ValidationException(
            f"Invalid data type for metadata column '{column.name}': 'rowtime' can be TIMESTAMP_LTZ(3) or "
            f"TIMESTAMP(3), not {column.declared_type}"
        )
    return column.name


def _rows_of(row_type: RowType, rowtime: str | None = None) -> TypeInformation[Any]:
    """Return the type of the rows of a stream, without the column that becomes the event time."""
    return type_info_of(RowType([field for field in row_type.fields if field.name != rowtime]))
