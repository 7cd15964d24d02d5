"""Tables and their operations (module as `pyflink.table.table`)."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING, Any

from firesteel.columns.column_types import RowType
from firesteel.columns.type_text import type_text
from firesteel.common.notebook_table import NotebookTable, ShownAsTable
from firesteel.common.table_errors import ValidationException
from firesteel.table.environment.column_operations import ColumnOperations
from firesteel.table.explain_detail import DETAIL_NAMES
from firesteel.table.expression import Expression
from firesteel.table.expression_functions.expression_base import ExpressionBase, node_of
from firesteel.table.grouped_tables import (
    AggregatedTable,
    FlatAggregateTable,
    GroupedTable,
    GroupWindowedTable,
    OverWindowedTable,
    WindowGroupedTable,
    row_call,
)
from firesteel.table.resolved_schema import ResolvedSchema
from firesteel.table.syntax import queries
from firesteel.table.syntax.unresolved import Alias, Apply, Ordering, Ref, Star, Unresolved
from firesteel.table.table_parts import (
    executor_of,
    group_window_of,
    over_window_of,
    pandas_of,
    pipeline_of,
    planner_of,
    spark_of,
    table_of,
)
from firesteel.table.table_schema import TableSchema
from firesteel.table.window import GroupWindow, OverWindow

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas
    from pyspark.sql import DataFrame, SparkSession

    from firesteel.table.planner.rel.rel import Rel
    from firesteel.table.table_descriptor import TableDescriptor
    from firesteel.table.table_environment import TableEnvironment
    from firesteel.table.table_pipeline import TablePipeline
    from firesteel.table.table_result import TableResult

__all__ = [
    "AggregatedTable",
    "FlatAggregateTable",
    "GroupWindowedTable",
    "GroupedTable",
    "OverWindowedTable",
    "Table",
    "WindowGroupedTable",
]


_UNNAMED = itertools.count()
"""Numbers of tables that texts name."""


class Table(ColumnOperations, ShownAsTable):
    """A query that can be extended by further operations (Flink: `Table`).

    Each method resolves its names immediately and returns a new table. Nothing is executed before `execute`,
    `execute_insert`, `to_pandas` or a conversion to a stream.

    Methods of `TableEnvironment`, such as `sql_query` and `from_path`, and of other tables return it.

    Example:
        >>> from firesteel.table import EnvironmentSettings, TableEnvironment
        >>> from firesteel.table.expressions import col
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        >>> orders = table_env.from_elements([("ann", 3), ("bob", 5), ("ann", 4)], ["name", "amount"])
        >>> orders.group_by(col("name")).select(col("name"), col("amount").sum.alias("total")).print_schema()
        (
          `name` STRING,
          `total` BIGINT
        )
    """

    def __init__(self, make: Callable[[], Rel], t_env: TableEnvironment, schema: ResolvedSchema) -> None:
        self._make = make
        self._t_env = t_env
        self._name: str | None = None
        self._schema = schema

    @cached_property
    def _node(self) -> Rel:
        """The query; the connector of a table is asked for nothing before its rows are, as in Flink."""
        return self._make()

    @property
    def _query(self) -> queries.Resolved:
        return queries.Resolved(self._node)

    @property
    def _names(self) -> list[str]:
        return self._schema.get_column_names()

    def _new(self, query: queries.Query) -> Table:
        return table_of(self._t_env, query)

    def __str__(self) -> str:
        """Return the name by which SQL of the same environment reads the table (`f"SELECT * FROM {table}"`)."""
        if self._name is None:
            self._name = f"UnnamedTable${next(_UNNAMED)}"
            self._t_env.create_temporary_view(self._name, self)
        return self._name

    def __getattr__(self, name: str) -> Expression[Any]:
        if name.startswith("_") or name not in self._names:
            raise AttributeError(
                f"The current table has no column named '{name}', available columns: [{self._columns()}]"
            )
        return Expression(Ref((name,)))

    def _columns(self) -> str:
        return ", ".join(self._names)

    # --- columns and rows --------------------------------------------------------------------------------------------

    def alias(self, field: str, *fields: str) -> Table:
        """Rename the first columns.

        Args:
            field: The new name of the first column.
            fields: The new names of the columns after it.

        Raises:
            ValidationException: There are more names than columns.
        """
        names = (field, *fields)
        if len(names) > len(self._names):
            raise ValidationException("Aliasing more fields than we actually have.")
        return self._project_names([*names, *self._names[len(names) :]])

    def filter(self, predicate: object) -> Table:
        """Return the rows for which a condition is TRUE.

        Args:
            predicate: A boolean expression, such as `col("amount") > 3`.
        """
        return self._new(queries.Select(self._query, (Star(),), where=node_of(predicate)))

    def where(self, predicate: object) -> Table:
        """Return the rows for which a condition is TRUE; the same as `filter`.

        Args:
            predicate: A condition as an expression or as SQL text.
        """
        return self.filter(predicate)

    def distinct(self) -> Table:
        """Return the distinct rows. On a stream the state holds every distinct row."""
        return self._new(queries.Select(self._query, (Star(),), distinct=True))

    def order_by(self, *fields: Expression[Any]) -> Table:
        """Return the rows in order.

        In streaming mode the first field must be a time attribute in ascending order, unless `fetch` makes it a Top-N.

        Args:
            fields: Columns, with `.asc` (default) or `.desc`.
        """
        orderings = tuple(_ordering(field) for field in fields)
        return self._new(queries.OrderBy(self._query, orderings))

    def offset(self, offset: int) -> Table:
        """Skip the first rows of a sorted table.

        Args:
            offset: Number of rows, 0 or more.

        Raises:
            ValidationException: the number is negative.
        """
        return self._new(queries.Limit(self._query, _checked_offset(offset)))

    def fetch(self, fetch: int) -> Table:
        """Return only the first rows of a sorted table.

        Args:
            fetch: Number of rows, 0 or more.

        Raises:
            ValidationException: the number is negative.
        """
        return self._new(queries.Limit(self._query, 0, _checked_fetch(fetch)))

    def limit(self, fetch: int, offset: int = 0) -> Table:
        """Return a part of the rows; without `order_by`, which ones is not defined.

        Args:
            fetch: Maximum number of rows, 0 or more.
            offset: Number of rows to skip before, 0 or more.

        Raises:
            ValidationException: a number is negative.
        """
        return self._new(queries.Limit(self._query, _checked_offset(offset), _checked_fetch(fetch)))

    def map(self, func: object) -> Table:
        """Replace each row by the row that a scalar function returns for it.

        Args:
            func: A function made by `udf` whose result type is a row, or a call of it with columns. Without arguments
                the
                function gets the whole row.
        """
        call = self._row_call(func)
        return self._new(queries.Select(self._query, (Apply("FLATTEN", (call,)),)))

    def flat_map(self, func: object) -> Table:
        """Replace each row by the rows that a table function returns for it.

        Args:
            func: A function made by `udtf`, or a call of it with columns. Without arguments it gets the whole row.
        """
        call, names = self._table_call(func)
        assert isinstance(call, Apply)
        assert not isinstance(call.function, str)
        kind = call.function.result_type
        assert isinstance(kind, RowType)
        name = "flat_map"
        columns = names or tuple(kind.field_names())
        source = queries.Join(self._query, queries.Named(queries.TableFunctionCall(call), name, columns), "CROSS")
        return self._new(queries.Select(source, (Star((name,)),)))

    def _table_call(self, func: object) -> tuple[Unresolved, tuple[str, ...]]:
        """Return the call of a table function, and the names that it gives its columns."""
        call = self._row_call(func)
        return (call.expression, call.names) if isinstance(call, Alias) else (call, ())

    def _row_call(self, func: object) -> Unresolved:
        """Return the call of a function; a function without arguments gets the whole row."""
        return row_call(func, self._names)

    # --- groups and windows ------------------------------------------------------------------------------------------

    def group_by(self, *fields: Expression[Any]) -> GroupedTable:
        """Group the rows by columns; without columns all rows are one group.

        Args:
            fields: Columns, expressions, or a window's alias.
        """
        return GroupedTable(self._query, self._t_env, tuple(map(node_of, fields)))

    def window(self, window: GroupWindow) -> GroupWindowedTable:
        """Assign the rows to windows.

        Args:
            window: A window with an alias, such as `Tumble.over(lit(10).minutes).on(col("rowtime")).alias("w")`.
        """
        return GroupWindowedTable(self._query, self._t_env, group_window_of(window))

    def over_window(self, *over_windows: OverWindow) -> OverWindowedTable:
        """Define windows over the rows around each row, for calls with `over` in the select that follows.

        Args:
            over_windows: At least one window with an alias, made by `Over`.

        Raises:
            ValidationException: No window is given.
        """
        if not over_windows:
            raise ValidationException("over_window needs at least one window")
        return OverWindowedTable(self._query, self._t_env, tuple(map(over_window_of, over_windows)))

    def aggregate(self, func: object) -> AggregatedTable:
        """Aggregate all rows with a function that may return several columns.

        Args:
            func: A call of a function made by `udaf` whose result type is a row.
        """
        return self.group_by().aggregate(func)

    def flat_aggregate(self, func: object) -> FlatAggregateTable:
        """Aggregate all rows with a function that may return several rows.

        Args:
            func: A call of a function made by `udtaf`.
        """
        return self.group_by().flat_aggregate(func)

    # --- joins and sets ----------------------------------------------------------------------------------------------

    def join(self, right: Table, join_predicate: object = None) -> Table:
        """Join two tables (inner join). Without a condition the result is the cross product.

        Args:
            right: The other table; its column names must differ from those of this table.
            join_predicate: A boolean expression over the columns of both tables.

        Raises:
            ValidationException: Both tables have a column of the same name.
        """
        return self._join(right, "INNER", join_predicate)

    def left_outer_join(self, right: Table, join_predicate: object = None) -> Table:
        """Join two tables and keep left rows without a match, padded with NULL.

        Args:
            right: The other table; no column may have the name of one of this table's.
            join_predicate: The condition over the columns of both.
        """
        return self._join(right, "LEFT", join_predicate)

    def right_outer_join(self, right: Table, join_predicate: object) -> Table:
        """Join two tables and keep right rows without a match, padded with NULL.

        Args:
            right: The other table; no column may have the name of one of this table's.
            join_predicate: The condition over the columns of both.
        """
        return self._join(right, "RIGHT", join_predicate)

    def full_outer_join(self, right: Table, join_predicate: object) -> Table:
        """Join two tables and keep rows of both sides without a match, padded with NULL.

        Args:
            right: The other table; no column may have the name of one of this table's.
            join_predicate: The condition over the columns of both.
        """
        return self._join(right, "FULL", join_predicate)

    def _join(self, right: Table, kind: str, condition: object) -> Table:
        common = [name for name in self._names if name in right._names]
        if common:
            raise ValidationException(f"join relations with ambiguous names: [{', '.join(common)}]")
        node = None if condition is None else node_of(condition)
        kind = "CROSS" if node is None and kind == "INNER" else kind
        source = queries.Join(self._query, right._query, kind, node)
        return self._new(queries.Select(source, (Star(),)))

    def join_lateral(self, table_function_call: object, join_predicate: object = None) -> Table:
        """Join each row with the rows that a table function returns for it.

        Args:
            table_function_call: A call of a function made by `udtf`, with an alias that names its columns.
            join_predicate: A further condition.
        """
        return self._lateral(table_function_call, "INNER", join_predicate)

    def left_outer_join_lateral(self, table_function_call: object, join_predicate: object = None) -> Table:
        """Join each row with the rows of a table function, and keep rows without results, padded with NULL.

        Args:
            table_function_call: A call of a table function; name its columns by `alias`.
            join_predicate: A condition on both sides; None joins all rows of the function.
        """
        return self._lateral(table_function_call, "LEFT", join_predicate)

    def _lateral(self, call: object, kind: str, condition: object) -> Table:
        node, names = self._table_call(call)
        function: queries.Query = queries.TableFunctionCall(node)
        if names:
            function = queries.Named(function, f"{names[0]}_of_function", names)
        on = None if condition is None else node_of(condition)
        kind = "CROSS" if kind == "INNER" and on is None else kind
        return self._new(queries.Select(queries.Join(self._query, function, kind, on), (Star(),)))

    def minus(self, right: Table) -> Table:
        """Return the distinct rows that the other table does not contain.

        Args:
            right: A table with columns of the same types; their names may differ.
        """
        return self._set_operation("EXCEPT", False, right)

    def minus_all(self, right: Table) -> Table:
        """Return each row as often as it occurs more often in this table than in another one.

        Args:
            right: A table with the same number of columns, of compatible types.
        """
        return self._set_operation("EXCEPT", True, right)

    def union(self, right: Table) -> Table:
        """Return the distinct rows of both tables.

        Args:
            right: A table with columns of the same types; their names may differ.
        """
        return self._set_operation("UNION", False, right)

    def union_all(self, right: Table) -> Table:
        """Return the rows of both tables, including duplicates.

        Args:
            right: A table with columns of the same types; their names may differ.
        """
        return self._set_operation("UNION", True, right)

    def intersect(self, right: Table) -> Table:
        """Return the distinct rows that both tables contain.

        Args:
            right: A table with columns of the same types; their names may differ.
        """
        return self._set_operation("INTERSECT", False, right)

    def intersect_all(self, right: Table) -> Table:
        """Return the rows that both tables contain, as often as both contain them.

        Args:
            right: A table with the same number of columns, of compatible types.
        """
        return self._set_operation("INTERSECT", True, right)

    def _set_operation(self, kind: str, keeps_all: bool, right: Table) -> Table:
        return self._new(queries.SetOperation(kind, keeps_all, self._query, right._query))

    # --- changelogs --------------------------------------------------------------------------------------------------

    def to_changelog(self, *arguments: Expression[Any]) -> Table:
        """Raise an error: use `StreamTableEnvironment.to_changelog_stream`.

        Args:
            arguments: Only named for compatibility.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "Table.to_changelog() is not supported; use StreamTableEnvironment.to_changelog_stream()"
        )

    def from_changelog(self, *arguments: Expression[Any]) -> Table:
        """Raise an error: use `StreamTableEnvironment.from_changelog_stream`.

        Args:
            arguments: Only named for compatibility.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "Table.from_changelog() is not supported; use StreamTableEnvironment.from_changelog_stream()"
        )

    # --- schema, results ---------------------------------------------------------------------------------------------

    def get_schema(self) -> TableSchema:
        """Return names and types of the columns."""
        return TableSchema(resolved=self._schema)

    def get_resolved_schema(self) -> ResolvedSchema:
        """Return the columns with their types."""
        return self._schema

    def print_schema(self) -> None:
        """Print the schema as a tree."""
        print(self._schema)

    def _notebook_table(self) -> NotebookTable:
        columns = [
            (column.get_name(), type_text(column.get_data_type()))
            for column in self.get_resolved_schema().get_columns()
        ]
        return NotebookTable(["column", "type"], columns, "Not executed: execute().print(), or limit(20).to_pandas()")

    def to_pandas(self) -> pandas.DataFrame:
        """Run the query and return its final rows as a `pandas.DataFrame`; the query must be bounded."""
        return pandas_of(self._t_env, self._node)

    def to_spark(self, spark_session: SparkSession) -> DataFrame:
        """Run the query and return its final rows as a Spark DataFrame.

        The query must be bounded. Its rows pass through this process and must fit into its memory. PyFlink has no such
        method.

        Args:
            spark_session: The `pyspark.sql.SparkSession` that creates the DataFrame.

        Raises:
            TableException: Spark has no type for a column, such as TIME or an interval.
        """
        return spark_of(self._t_env, self._node, spark_session)

    def execute_insert(self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False) -> TableResult:
        """Submit a job that writes the rows of the query to a table.

        Args:
            table_path_or_descriptor: The path of the table, or a descriptor of an anonymous table.
            overwrite: Whether to replace existing rows; only in batch mode, and only for files on a local file system.

        Returns:
            The result, whose `wait()` waits for the end of the job.
        """
        return self.insert_into(table_path_or_descriptor, overwrite).execute()

    def insert_into(self, table_path_or_descriptor: str | TableDescriptor, overwrite: bool = False) -> TablePipeline:
        """Return a pipeline that writes the rows of the query to a table, for example for a `StatementSet`.

        Args:
            table_path_or_descriptor: The path of the table, or a descriptor of an anonymous table.
            overwrite: Whether to replace existing rows.
        """
        return pipeline_of(self._t_env, self, table_path_or_descriptor, overwrite)

    def execute(self) -> TableResult:
        """Submit a job that runs the query, and return its result."""
        return executor_of(self._t_env).collect(self._node)

    def explain(self, *extra_details: int) -> str:
        """Return the plans of the query as text.

        Args:
            extra_details: Further details to include, of `ExplainDetail`.
        """
        return planner_of(self._t_env).explain(
            [self._node], [], tuple(DETAIL_NAMES[detail] for detail in extra_details)
        )

    def print_explain(self, *extra_details: int) -> None:
        """Print the plans of the query.

        Args:
            extra_details: Constants of `ExplainDetail` that add information.
        """
        print(self.explain(*extra_details))


def _ordering(field: Expression[Any] | str) -> Ordering:
    node = node_of(field) if isinstance(field, ExpressionBase) else Ref((field,))
    return node if isinstance(node, Ordering) else Ordering(node)


def _checked_offset(offset: int) -> int:
    if offset < 0:
        raise ValidationException("Offset should be greater or equal 0")
    return offset


def _checked_fetch(fetch: int) -> int:
    if fetch < 0:
        raise ValidationException("FETCH count must be equal or larger than 0.")
    return fetch
