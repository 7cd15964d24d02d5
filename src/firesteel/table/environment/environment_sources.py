"""Tables of Python values, pandas, paths and descriptors; part of `TableEnvironment`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from itertools import count
from typing import TYPE_CHECKING, Any

from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_connector import ResolvedTable
from firesteel.table.catalogs.catalog_manager import CatalogManager
from firesteel.table.catalogs.catalog_objects import CatalogBaseTable
from firesteel.table.environment.pandas_conversion import pandas_scan, to_pandas
from firesteel.table.environment.spark_conversion import spark_scan, to_spark
from firesteel.table.expression import Expression
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.functions.inference import infer_schema
from firesteel.table.functions.value_checks import check_rows
from firesteel.table.planner.rel.rel import Values
from firesteel.table.planner.rel.time_attributes import without_time_attribute
from firesteel.table.resolved_schema import ResolvedSchema, schema_of_table
from firesteel.table.schema import Schema
from firesteel.table.syntax import queries
from firesteel.table.syntax.identifiers import parse_path
from firesteel.table.syntax.statements import ColumnDefinition
from firesteel.table.syntax.unresolved import Apply
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.table.table_parts import columns_of, constraint_of
from firesteel.table.types import DataType, RowField, RowType

if TYPE_CHECKING:
    import pandas
    from pyspark.sql import DataFrame, SparkSession

    from firesteel.table.planner.rel.rel import Rel
    from firesteel.table.planner.translate.planner import Planner
    from firesteel.table.syntax.queries import Query
    from firesteel.table.table import Table

_anonymous = count(1)


class SourceMethods:
    """The methods of a table environment that create tables."""

    _catalogs: CatalogManager
    _planner: Planner

    @abstractmethod
    def _table(self, query: Query, schema: ResolvedSchema | None = None) -> Table:
        """Return the table of a query, by default with the schema of its rows."""

    @abstractmethod
    def _deferred_table(self, make: Callable[[], Rel], schema: ResolvedSchema) -> Table:
        """Return a table whose query is made when it is used."""

    # --- paths and descriptors ---------------------------------------------------------------------------------------

    def from_path(self, path: str) -> Table:
        """Return a table or view of a catalog.

        Args:
            path: `name`, `database.name` or `catalog.database.name`.

        Raises:
            ValidationException: There is no table or view with this path.
        """
        parts = parse_path(path)
        found = self._catalogs.find_table(parts)
        if found is None:
            near = self._catalogs.hint_near(parts)
            raise ValidationException(f"Table `{'`.`'.join(parts)}` was not found{near or '.'}")
        if isinstance(found, ResolvedTable):
            declared = self._catalogs.get(parts)
            schema = schema_of_table(found, None if declared is None else constraint_of(declared.schema))
            return self._deferred_table(lambda: self._planner.scan(found), schema)
        return self._table(queries.TableRef(parts), found.schema)

    def from_descriptor(self, descriptor: TableDescriptor) -> Table:
        """Return the table that a descriptor defines.

        Args:
            descriptor: Connector, schema and options; the table is not registered and has no name.

        Raises:
            ValidationException: an option or column does not fit the connector.
        """
        return self.from_path(".".join(f"`{part}`" for part in self._register_anonymous(descriptor)))

    def _register_anonymous(self, descriptor: TableDescriptor, schema: Schema | None = None) -> tuple[str, ...]:
        name = f"*anonymous_{descriptor.get_options()['connector']}${next(_anonymous)}*"
        path = self._catalogs.qualify((name,))
        self._catalogs.add_anonymous(path, _table_of(descriptor, schema))
        return path

    def _target_path(self, target: str | TableDescriptor, node: Rel) -> tuple[str, ...]:
        """Return the path of the table that a query is written to."""
        if isinstance(target, TableDescriptor):
            return self._register_anonymous(target, _sink_schema(target.get_schema() or Schema(()), node.row_type))
        return parse_path(target)

    def create_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,
    ) -> None:
        """Create a table in a catalog.

        Args:
            path: The path of the table.
            descriptor: Its connector, schema and options.
            ignoreIfExists: Whether to do nothing if the table exists; otherwise that is an error.
        """
        self._catalogs.create_table(parse_path(path), _table_of(descriptor), False, bool(ignoreIfExists))

    def create_temporary_table(
        self,
        path: str,
        descriptor: TableDescriptor,
        ignoreIfExists: bool | None = False,
    ) -> None:
        """Create a table for the lifetime of this environment.

        Args:
            path: The path of the table.
            descriptor: Its connector, schema and options.
            ignoreIfExists: Whether to do nothing if a temporary table exists; otherwise that is an error.
        """
        self._catalogs.create_table(parse_path(path), _table_of(descriptor), True, bool(ignoreIfExists))

    # --- values ------------------------------------------------------------------------------------------------------

    def from_elements(
        self, elements: Iterable[Any], schema: DataType | list[str] | None = None, verify_schema: bool = True
    ) -> Table:
        """Return a table of Python values, or of expressions such as `row(1, "a")`.

        Args:
            elements: Rows as tuples, lists, dicts or `Row`.
            schema: The row type, or the names of the columns; by default the types are inferred.
            verify_schema: Whether to check the values against the schema now; otherwise those that cannot be converted
                fail when the table is used.

        Raises:
            TypeError: The values do not fit the schema, or have no common type.
            ValueError: There are no elements from which types could be inferred, or None is where the schema has NOT
                NULL.
        """
        items = list(elements)
        if items and all(isinstance(item, Expression) for item in items):
            return self._from_expressions(items, schema)
        if isinstance(schema, DataType):
            row_type = schema if isinstance(schema, RowType) else RowType([RowField("value", schema)])
            if not isinstance(schema, RowType):
                items = [(item,) for item in items]
        elif schema is None or isinstance(schema, (list, tuple)):
            row_type = infer_schema(items, schema)
        else:
            raise TypeError(f"schema should be a DataType or a list of names, found {schema!r}")
        names = row_type.field_names()
        rows = tuple(_values_of(item, names) for item in items)
        if verify_schema:
            check_rows(rows, row_type)
        return self._table(queries.Resolved(Values(rows, row_type)))

    def _from_expressions(self, items: list[Expression[Any]], schema: Any) -> Table:
        """Return the table of expressions; expressions with row types become several columns."""
        nodes = [node_of(item) for item in items]
        rows = tuple(node.operands if isinstance(node, Apply) and node.function == "ROW" else (node,) for node in nodes)
        row_type = schema if isinstance(schema, RowType) else None
        query: Any = queries.ValuesQuery(rows, row_type)
        if row_type is None:
            names = schema or [f"f{index}" for index in range(len(rows[0]))]
            query = queries.Named(query, "elements", tuple(names))
        return self._table(query)

    # --- pandas ------------------------------------------------------------------------------------------------------

    def from_pandas(self, pdf: pandas.DataFrame, schema: object = None, splits_num: int = 1) -> Table:
        """Return the table of a `pandas.DataFrame`.

        Args:
            pdf: The data.
            schema: A row type, names, or types of the columns; by default those of the data.
            splits_num: Accepted for compatibility with PyFlink; one subtask reads the data.

        Raises:
            TypeError: `pdf` is not a DataFrame.
        """
        return self._table(queries.Resolved(pandas_scan(pdf, schema)))

    # --- Spark -------------------------------------------------------------------------------------------------------

    def from_spark(self, dataframe: DataFrame) -> Table:
        """Return the table of a Spark DataFrame.

        The DataFrame is computed and fetched immediately: its rows pass through this process and must fit into its
        memory. `TimestampType` becomes TIMESTAMP_LTZ, `TimestampNTZType` TIMESTAMP. PyFlink has no such method.

        Args:
            dataframe: A `pyspark.sql.DataFrame`.

        Raises:
            TypeError: `dataframe` is not a DataFrame, or a column has a type without SQL counterpart.

        Example:
            >>> from pyspark.sql import SparkSession
            >>> spark = SparkSession.builder.master("local[1]").getOrCreate()
            >>> people = spark.createDataFrame([("Ann", 36), ("Bob", 41)], ["name", "age"])
            >>> table_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
            >>> table_env.create_temporary_view("people", table_env.from_spark(people))
            >>> names = table_env.sql_query("SELECT name FROM people WHERE age > 40")
        """
        return self._table(queries.Resolved(spark_scan(dataframe)))

    def _to_spark(self, node: Rel, spark_session: SparkSession) -> DataFrame:
        _, rows = self._planner.collect(node)
        return to_spark(rows, node.row_type, spark_session)

    def _to_pandas(self, node: Rel) -> pandas.DataFrame:
        _, rows = self._planner.collect(node)
        return to_pandas(rows, node.row_type, self._catalogs.config.time_zone)


def _sink_schema(declared: Schema, row_type: RowType) -> Schema:
    """Return the schema of a sink: the columns of the query if none are declared. Flink: `SchemaTranslator`."""
    if any(column.expression is None and not column.is_metadata for column in columns_of(declared)):
        return declared
    fields = zip(row_type.names, map(without_time_attribute, row_type.field_types()), strict=True)
    taken = {column.name for column in columns_of(declared)}
    derived = Schema(tuple(ColumnDefinition(name, kind) for name, kind in fields if name not in taken))
    return Schema.new_builder().from_schema(derived).from_schema(declared).build()


def _table_of(descriptor: TableDescriptor, schema: Schema | None = None) -> CatalogBaseTable:
    schema = schema or descriptor.get_schema() or Schema(())
    return CatalogBaseTable(
        schema, descriptor.get_options(), tuple(descriptor.get_partition_keys()), descriptor.get_comment()
    )


def _values_of(item: Any, names: list[str]) -> tuple[Any, ...]:
    """Return the values of a row in the order of its columns."""
    if isinstance(item, dict):
        return tuple(item.get(name) for name in names)
    if isinstance(item, (tuple, list)) or hasattr(item, "get_row_kind"):
        values = tuple(item)
        if len(values) > len(names):
            raise ValueError(f"Row {item!r} has {len(values)} values for the columns {names}")
        return values + (None,) * (len(names) - len(values))
    if hasattr(item, "__dict__"):
        return tuple(vars(item).get(name) for name in names)
    raise TypeError(f"A row must be a tuple, list, dict or Row, found {item!r}")
