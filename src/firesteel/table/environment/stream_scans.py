"""DataStreams as tables, with columns from the type, from fields or from a schema.

Flink: `ExternalDynamicSource` and `FieldInfoUtils`.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from firesteel.columns import column_types as t
from firesteel.columns.batch import Kind
from firesteel.columns.rex import InputRef
from firesteel.columns.type_information import data_type_of
from firesteel.common.options.execution_options import RUNTIME_MODE
from firesteel.common.table_errors import ValidationException
from firesteel.common.typeinfo import Types
from firesteel.datastream.data_stream import DataStream
from firesteel.functions.execution_mode import RuntimeExecutionMode
from firesteel.functions.operator_builder import add_operator, transformation_of
from firesteel.functions.operator_descriptors import RowsToColumnsOperator
from firesteel.table.catalogs.schema_resolver import resolve_columns
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.planner.rel import rel
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.resolve_queries import ResolveContext
from firesteel.table.planner.resolve.scans import assign_watermark
from firesteel.table.planner.resolve.scope import Scope
from firesteel.table.resolved_schema import ResolvedSchema, resolved_schema
from firesteel.table.schema import Schema
from firesteel.table.syntax.statements import ColumnDefinition
from firesteel.table.syntax.unresolved import Alias, Apply, Ref
from firesteel.table.table_parts import columns_of, constraint_of, primary_key_of, watermarks_of

_logger = logging.getLogger(__name__)

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Column as TableColumn
    from firesteel.connectors.table_connector import Watermark
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.planner.rel.rel import Rel
    from firesteel.table.syntax.unresolved import Unresolved

_Column = tuple[str, t.DataType, int | str]
"""Name, type and origin of a column (see `RowsToColumns`)."""


class _Make:
    """A factory of the stream of column batches."""

    def __init__(self, stream: DataStream[Any], columns: list[_Column], has_kinds: bool) -> None:
        self._stream = stream
        self._columns = tuple((source, kind) for _, kind, source in columns)
        self._has_kinds = has_kinds

    def __call__(self, environment: StreamExecutionEnvironment) -> DataStream[Any]:
        operator = RowsToColumnsOperator(self._columns, self._has_kinds)
        transformation = add_operator(self._stream, "DataStreamToTable", operator, None)
        transformation.parallelism = transformation_of(self._stream).parallelism
        return DataStream(self._stream.get_execution_environment(), transformation)


def stream_table(
    stream: DataStream[Any],
    fields: tuple[Any, ...],
    kinds: frozenset[Kind],
    has_kinds: bool,
    catalogs: CatalogManager,
) -> tuple[Any, ResolvedSchema | None]:
    """Return the node that reads a DataStream.

    Args:
        stream: The stream.
        fields: A schema, or expressions, or nothing for all fields of the type.
        kinds: The row kinds that occur.
        has_kinds: Whether the rows have row kinds.
        catalogs: Looks up functions in the expressions of a schema.

    Returns:
        The node, and the schema if one was declared.

    Raises:
        ValidationException: The type has no columns, or a column does not exist.
    """
    stream = _with_columns(stream)
    found = _fields_of(stream)
    if len(fields) == 1 and isinstance(fields[0], Schema):
        schema = _complete(fields[0], found)
        node = _by_schema(stream, schema, found, kinds, has_kinds, catalogs)
        declared = [column.name for column in columns_of(fields[0])]
        if _has_fields(fields[0]) and declared != [column.name for column in columns_of(schema)]:
            return _projected(node, declared), None  # A projection has no watermark and no key of its own.
        columns, watermark = resolve_columns(schema, catalogs)
        return node, resolved_schema(columns, watermark, primary_key_of(schema), constraint_of(schema))
    fields_found = list(_by_expressions(found, fields)) if fields else found
    return _scan(stream, fields_found, kinds, has_kinds, ()), None


def _has_fields(schema: Schema) -> bool:
    """Return whether a schema declares physical columns."""
    return any(map(_is_physical, columns_of(schema)))


def _is_physical(column: ColumnDefinition) -> bool:
    return column.expression is None and not column.is_metadata


def _complete(schema: Schema, found: list[_Column]) -> Schema:
    """Return a schema with all fields of the stream first, which computed columns and watermarks may use.

    Declared columns give fields their types. Flink: `SchemaTranslator.createConsumingResult`.
    """
    declared = {column.name: column for column in columns_of(schema) if _is_physical(column)}
    names = [name for name, _, _ in found]
    for name in declared:
        if name not in names:
            raise ValidationException(
                f"Unable to find a field named '{name}' in the physical data type derived from the given type "
                f"information for schema declaration. Make sure that the type information is not a generic raw type. "
                f"Currently available fields are: [{', '.join(names)}]"
            )
    fields = tuple(declared.get(name, ColumnDefinition(name, kind)) for name, kind, _ in found)
    others = tuple(column for column in columns_of(schema) if not _is_physical(column))
    return Schema(fields + others, watermarks_of(schema), primary_key_of(schema), constraint_of(schema))


def _projected(node: Rel, names: list[str]) -> Rel:
    """Return the declared columns in their order."""
    positions = [node.row_type.names.index(name) for name in names]
    fields = [node.row_type.fields[position] for position in positions]
    references = tuple(InputRef(at, field.data_type) for at, field in zip(positions, fields, strict=True))
    return rel.Project(node, references, t.RowType(fields))


def _with_columns(stream: DataStream[object]) -> DataStream[object]:
    """Return the stream, as bytes if it has no declared type: Flink sees the bytes that Python has pickled."""
    if stream.get_type() != Types.PICKLED_BYTE_ARRAY():
        return stream
    _logger.warning(
        "the stream %r has no declared type, so its table has one column f0 with pickled bytes; declare the type, such "
        "as output_type=Types.ROW([...]) of a map()",
        stream.get_name(),
    )
    return stream.map(pickle.dumps, Types.PRIMITIVE_ARRAY(Types.BYTE())).name("Pickle")


def _fields_of(stream: DataStream[Any]) -> list[_Column]:
    kind = data_type_of(stream.get_type())
    if isinstance(kind, t.RowType):
        return [(f.name, f.data_type, index) for index, f in enumerate(kind.fields)]
    return [("f0", kind, "element")]


def _scan(
    stream: DataStream[Any], columns: list[_Column], kinds: frozenset[Kind], has_kinds: bool, key: tuple[str, ...]
) -> rel.StreamScan:
    row_type = t.RowType([t.RowField(name, kind) for name, kind, _ in columns])
    environment = stream.get_execution_environment()
    mode = environment.get_configuration().get(RUNTIME_MODE)
    is_bounded = mode.upper() == RuntimeExecutionMode.BATCH.name
    return rel.StreamScan(_Make(stream, columns, has_kinds), row_type, kinds, is_bounded, stream.get_name(), key)


def _by_expressions(found: list[_Column], fields: tuple[Any, ...]) -> Iterator[_Column]:
    """Yield the columns of field expressions: by name if all names exist, else by position."""
    nodes = [Ref((field,)) if isinstance(field, str) else node_of(field) for field in fields]
    known = {name: (kind, source) for name, kind, source in found}
    plain = [node for node in nodes if not _time_attribute(node)]
    by_name = all(_name_and_source(node)[1] in known for node in plain)
    for position, node in enumerate(nodes):
        attribute = _time_attribute(node)
        name, origin = _name_and_source(node)
        if attribute:
            yield name, *_TIMES[attribute]
        elif by_name:
            yield name, *known[origin]
        elif position < len(found) and not isinstance(node, Alias):
            yield name, *found[position][1:]
        else:
            raise ValidationException(f"'{origin}' is not a field of the stream; it has {list(known)}")


_TIMES: dict[str, tuple[t.DataType, int | str]] = {
    "WINDOW_ROWTIME": (t.TimestampType(3, kind=t.TimestampKind.ROWTIME), "timestamp"),
    "WINDOW_PROCTIME": (t.LocalZonedTimestampType(3, True, t.TimestampKind.PROCTIME), "proctime"),
}


def _time_attribute(node: Unresolved) -> str | None:
    inner = node.expression if isinstance(node, Alias) else node
    return inner.function if isinstance(inner, Apply) and inner.function in _TIMES else None


def _name_and_source(node: Unresolved) -> tuple[str, str]:
    """Return the name of the column and the name of the field."""
    inner = node.expression if isinstance(node, Alias) else node
    if isinstance(inner, Apply) and inner.function in _TIMES:
        inner = inner.operands[0]
        node = inner if not isinstance(node, Alias) else node
    if not isinstance(inner, Ref):
        raise ValidationException(
            f"A column of a stream must be col('name'), with alias, rowtime or proctime; found {node}"
        )
    origin = inner.path[-1]
    return (node.names[0] if isinstance(node, Alias) else origin), origin


def _by_schema(
    stream: DataStream[Any],
    schema: Schema,
    found: list[_Column],
    kinds: frozenset[Kind],
    has_kinds: bool,
    catalogs: CatalogManager,
) -> Rel:
    columns, watermark = resolve_columns(schema, catalogs)
    if not catalogs.is_streaming:
        watermark = None
    kept = watermark.column if watermark is not None and _is_source_watermark(watermark) else None
    sources = {name: source for name, _, source in found}
    stored = [_stored(column, sources, kept) for column in columns if column.kind != "COMPUTED"]
    if kept is not None and kept not in [name for name, _, _ in stored]:
        raise ValidationException(f"SOURCE_WATERMARK() of the computed column '{kept}' is not supported for streams")
    node: Rel = _scan(stream, stored, kinds, has_kinds, primary_key_of(schema))
    if len(stored) < len(columns):
        node = _with_computed(node, columns, catalogs)
    if watermark is None or kept is not None:
        return node
    return assign_watermark(node, watermark, ResolveContext(catalogs, catalogs.is_streaming))


def _is_source_watermark(watermark: Watermark) -> bool:
    return isinstance(watermark.expression, Apply) and watermark.expression.function == "SOURCE_WATERMARK"


def _stored(column: TableColumn, sources: Mapping[str, int | str], kept: str | None) -> _Column:
    """Return a column that a scan reads; only `kept`, with the watermarks of the stream, is a rowtime attribute."""
    kind = column.type if column.name == kept else t.regular(column.type)
    if column.kind == "PHYSICAL":
        return column.name, kind, sources[column.name]
    if (column.metadata_key or column.name) != "rowtime":
        raise ValidationException(
            f"Invalid metadata key '{column.metadata_key or column.name}' in column '{column.name}'. The "
            "DynamicTableSource supports the following metadata keys for reading:\nrowtime"
        )
    return column.name, kind, "timestamp"


def _with_computed(node: Rel, columns: Any, catalogs: CatalogManager) -> Rel:
    resolver = ExpressionResolver(Scope.of(node.row_type), catalogs)
    expressions = tuple(resolver.resolve(c.expression if c.kind == "COMPUTED" else Ref((c.name,))) for c in columns)
    fields = [t.RowField(c.name, e.type) for c, e in zip(columns, expressions, strict=True)]
    return rel.Project(node, expressions, t.RowType(fields))
