"""A query with the table that it writes to (module as `pyflink.table.table_pipeline`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.datastream.missing_execute import INSERT_EXECUTE, executed, expect
from firesteel.table.catalogs.catalog_objects import ObjectIdentifier
from firesteel.table.compiled_plan import CompiledPlan
from firesteel.table.explain_detail import DETAIL_NAMES
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.table_parts import executor_of

if TYPE_CHECKING:
    from firesteel.table.table_environment import TableEnvironment
    from firesteel.table.table_result import TableResult

__all__ = ["TablePipeline"]


class TablePipeline:
    """A query that is to be written to a table (Flink: `TablePipeline`).

    `Table.insert_into` returns it.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> _ = table_env.execute_sql("CREATE TABLE orders (id BIGINT) WITH ('connector' = 'blackhole')")
        >>> pipeline = table_env.from_elements([(1,), (2,)], ["id"]).insert_into("orders")
        >>> print(pipeline.get_sink_identifier())
        `default_catalog`.`default_database`.`orders`
    """

    def __init__(self, t_env: TableEnvironment, node: Rel, path: tuple[str, ...], overwrite: bool) -> None:
        self._t_env = t_env
        self._insert = executor_of(t_env).planned_insert(path, node, overwrite)
        expect(INSERT_EXECUTE)

    def execute(self) -> TableResult:
        """Start the job."""
        executed(INSERT_EXECUTE)
        return executor_of(self._t_env).run_inserts([self._insert])

    def explain(self, *extra_details: int) -> str:
        """Return how the query is run.

        Args:
            extra_details: Constants of `ExplainDetail` that add information.
        """
        details = tuple(DETAIL_NAMES[detail] for detail in extra_details)
        executed(INSERT_EXECUTE)
        return executor_of(self._t_env).explain_inserts([self._insert], details)

    def print_explain(self, *extra_details: int) -> None:
        """Print how the query is run.

        Args:
            extra_details: Constants of `ExplainDetail` that add information.
        """
        print(self.explain(*extra_details))

    def get_sink_identifier(self) -> ObjectIdentifier | None:
        """Return the table, None if it has no name of its own."""
        path = self._insert.table.path
        return None if path[-1].startswith("*anonymous") else ObjectIdentifier(*path)

    def compile_plan(self) -> CompiledPlan:
        """Return the plan, to be stored and executed later.

        Raises:
            TableException: it has something that can't be stored, such as a stream of the program.
        """
        executed(INSERT_EXECUTE)
        return CompiledPlan(executor_of(self._t_env).plans.compiled([self._insert]), self._t_env)
