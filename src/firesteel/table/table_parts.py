"""The door to what the classes of PyFlink's table API keep to themselves, for the modules that implement them.

The classes show PyFlink's methods alone, as editors list them; the plan behind a table, the columns of a schema and the
executor of an environment are read here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas
    from pyspark.sql import DataFrame, SparkSession

    from firesteel.columns.batch import Kind
    from firesteel.columns.column_types import RowType
    from firesteel.common.configuration import Configuration
    from firesteel.connectors.table_connector import Column
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.table import resolved_schema as resolved
    from firesteel.table.catalogs.catalog_objects import CatalogModel
    from firesteel.table.changelog_mode import ChangelogMode
    from firesteel.table.execution.insert_planning import PlannedInsert
    from firesteel.table.execution.statement_execution import StatementExecutor
    from firesteel.table.grouped_tables import GroupedTable
    from firesteel.table.planner.rel.rel import Rel
    from firesteel.table.planner.translate.planner import Planner
    from firesteel.table.schema import Schema
    from firesteel.table.syntax.queries import Query
    from firesteel.table.syntax.statements import ColumnDefinition, WatermarkDefinition
    from firesteel.table.syntax.unresolved import Alias, WindowSpec
    from firesteel.table.table import Table
    from firesteel.table.table_config import TableConfig
    from firesteel.table.table_descriptor import TableDescriptor
    from firesteel.table.table_environment import TableEnvironment
    from firesteel.table.table_pipeline import TablePipeline
    from firesteel.table.table_result import TableResult
    from firesteel.table.table_schema import TableSchema
    from firesteel.table.window import GroupWindow, OverWindow

# --- schemas ---------------------------------------------------------------------------------------------------------


def columns_of(schema: Schema) -> tuple[ColumnDefinition, ...]:
    """Return the columns of a schema."""
    return schema._columns


def watermarks_of(schema: Schema) -> tuple[WatermarkDefinition, ...]:
    """Return the watermarks of a schema."""
    return schema._watermarks


def primary_key_of(schema: Schema) -> tuple[str, ...]:
    """Return the columns of the primary key, none: there is no key."""
    return schema._primary_key


def constraint_of(schema: Schema) -> str | None:
    """Return the name of the primary key."""
    return schema._constraint_name


def input_schema_of(model: CatalogModel) -> Schema:
    """Return the columns that a model takes."""
    return model._input_schema


def output_schema_of(model: CatalogModel) -> Schema:
    """Return the columns that a model gives."""
    return model._output_schema


def comment_of(model: CatalogModel) -> str | None:
    """Return the comment of a model, None if it has none."""
    return model._comment


def unresolved_of(schema: resolved.ResolvedSchema | TableSchema) -> Schema:
    """Return a resolved schema as it may be declared."""
    return schema._unresolved()


def column_of(column: resolved.Column) -> Column:
    """Return a column of a resolved schema as connectors see it."""
    return column._column


# --- tables ----------------------------------------------------------------------------------------------------------


def rel_of(table: Table) -> Rel:
    """Return the relational node of a table."""
    return table._node


def environment_of(table: Table | GroupedTable) -> TableEnvironment:
    """Return the environment of a table."""
    return table._t_env


def set_schema(table: Table, schema: resolved.ResolvedSchema) -> None:
    """Set what `get_resolved_schema` of a table returns."""
    table._schema = schema


def with_names(table: Table, names: list[str]) -> Table:
    """Return a table with other names for its columns."""
    return table._project_names(names)


def kinds_of_mode(mode: ChangelogMode) -> frozenset[Kind]:
    """Return the kinds of rows in a changelog mode."""
    return mode._kinds


def group_window_of(window: GroupWindow) -> Alias:
    """Return the call of a group window, with its alias."""
    return window._node


def over_window_of(window: OverWindow) -> tuple[str, WindowSpec]:
    """Return the alias of an OVER window, and the window."""
    return window._name, window._spec


def insert_of(pipeline: TablePipeline) -> PlannedInsert:
    """Return the insert of a pipeline."""
    return pipeline._insert


def row_type_of(result: TableResult) -> RowType:
    """Return the columns of a result."""
    return result._row_type


def is_query(result: TableResult) -> bool:
    """Return whether a result is that of a query, whose rows are collected from a job."""
    return result._is_query


# --- environments ----------------------------------------------------------------------------------------------------


def executor_of(environment: TableEnvironment) -> StatementExecutor:
    """Return what executes the statements of an environment."""
    return environment._executor


def stream_environment_of(environment: TableEnvironment) -> StreamExecutionEnvironment:
    """Return the environment that runs the jobs of a table environment."""
    return environment._env


def set_configuration(config: TableConfig, configuration: Configuration) -> None:
    """Let a `TableConfig` read and change a configuration."""
    config._configuration = configuration


def planner_of(environment: TableEnvironment) -> Planner:
    """Return the planner of an environment."""
    return environment._planner


def table_of(environment: TableEnvironment, query: Query) -> Table:
    """Resolve a query against the current catalogs and return its table."""
    return environment._table(query)


def pipeline_of(
    environment: TableEnvironment, table: Table, target: str | TableDescriptor, overwrite: bool
) -> TablePipeline:
    """Return the pipeline that writes a table."""
    return environment._pipeline(table, target, overwrite)


def pandas_of(environment: TableEnvironment, node: Rel) -> pandas.DataFrame:
    """Run a query and return its rows."""
    return environment._to_pandas(node)


def spark_of(environment: TableEnvironment, node: Rel, session: SparkSession) -> DataFrame:
    """Run a query and return its rows in a session of Spark."""
    return environment._to_spark(node, session)


def is_streaming(environment: TableEnvironment) -> bool:
    """Return whether queries run continuously."""
    return environment._is_streaming


def set_streaming(environment: TableEnvironment, is_streaming: bool) -> None:
    """Choose between streaming and batch mode."""
    environment._set_streaming(is_streaming)
