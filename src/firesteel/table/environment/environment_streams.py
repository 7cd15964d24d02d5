"""Conversions between DataStreams and tables; part of `StreamTableEnvironment`."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from firesteel.columns.batch import Kind
from firesteel.columns.column_type_information import type_info_of
from firesteel.columns.type_information import data_type_of
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.connectors.table_connector import INSERT_ONLY
from firesteel.datastream.data_stream import DataStream
from firesteel.functions.operator_builder import add_operator, transformation_of
from firesteel.functions.operator_descriptors import ColumnsToRowsOperator
from firesteel.table.changelog_mode import ChangelogMode
from firesteel.table.environment.stream_scans import stream_table
from firesteel.table.expression import Expression
from firesteel.table.schema import Schema
from firesteel.table.syntax import queries
from firesteel.table.syntax.unresolved import Alias, Apply, Ref, TypeName
from firesteel.table.table_parts import columns_of, kinds_of_mode, rel_of, set_schema
from firesteel.table.types import RowType

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.planner.rel.rel import Rel
    from firesteel.table.planner.translate.planner import Planner
    from firesteel.table.syntax.queries import Query
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
            and not getattr(node, "primary_key", ())
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
        return self._stream_of(rel_of(table), type_info_of(rel_of(table).row_type), False)

    def to_changelog_stream(
        self, table: Table, target_schema: Schema | None = None, changelog_mode: ChangelogMode | None = None
    ) -> DataStream[Any]:
        """Convert a table to a stream of rows with row kinds.

        Args:
            table: Any table.
            target_schema: Types to which the columns are cast.
            changelog_mode: The row kinds that the stream may have. Updates always include UPDATE_BEFORE, unlike in
                Flink.

        Raises:
            TableException: The table has changes of other kinds.
        """
        node = rel_of(table)
        if target_schema is not None:
            node = self._cast_to(node, target_schema)
        allowed = ChangelogMode.all() if changelog_mode is None else changelog_mode
        found = self._planner.kinds(node)
        if not found <= kinds_of_mode(allowed) and not (found - {Kind.UPDATE_BEFORE} <= kinds_of_mode(allowed)):
            names = ", ".join(sorted(kind.name for kind in found - kinds_of_mode(allowed)))
            raise TableException(f"Table sink of toChangelogStream() doesn't support consuming {names} changes")
        if Kind.UPDATE_BEFORE in found - kinds_of_mode(allowed):
            raise NotImplementedError("to_changelog_stream() emits updates with UPDATE_BEFORE; use ChangelogMode.all()")
        return self._stream_of(node, type_info_of(node.row_type), False)

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
        return self._stream_of(rel_of(table), type_info, False)

    def to_retract_stream(self, table: Table, type_info: TypeInformation[Any]) -> DataStream[Any]:
        """Convert a table to pairs: `(True, row)` adds a row, `(False, row)` retracts one.

        Args:
            table: Any table.
            type_info: The type of the rows, with one field per column.
        """
        self._check_type(table, type_info)
        return self._stream_of(rel_of(table), Types.TUPLE([Types.BOOLEAN(), type_info]), True)

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

    def _cast_to(self, node: Any, schema: Schema) -> Any:
        names = node.row_type.names
        items = []
        for column in columns_of(schema):
            if column.name not in names or column.type is None:
                raise ValidationException(
                    f"Column '{column.name}' of the target schema is not in the query: [{', '.join(names)}]"
                )
            items.append(Alias(Apply("CAST", (Ref((column.name,)), TypeName(column.type))), (column.name,)))
        return self._planner.resolve(queries.Select(queries.Resolved(node), tuple(items)))

    def _stream_of(self, node: Rel, type_info: TypeInformation[Any], is_retract: bool) -> DataStream[Any]:
        row_type = node.row_type
        stream = self._planner.column_stream(node)
        operator = ColumnsToRowsOperator(tuple(row_type.field_types()), tuple(row_type.names), is_retract)
        transformation = add_operator(stream, "TableToDataStream", operator, type_info)
        transformation.parallelism = transformation_of(stream).parallelism  # keeps the order of changes
        transformation.parallelism_configured = True
        return DataStream(stream.get_execution_environment(), transformation)
