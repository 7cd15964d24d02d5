"""Several INSERTs as one job (module as `pyflink.table.statement_set`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.common.table_errors import ValidationException
from firesteel.datastream.missing_execute import INSERT_EXECUTE, STATEMENT_SET_EXECUTE, executed, expect
from firesteel.table.compiled_plan import CompiledPlan
from firesteel.table.explain_detail import DETAIL_NAMES
from firesteel.table.planner.parse.parser import parse
from firesteel.table.syntax import statements as s
from firesteel.table.table_parts import executor_of, insert_of, pipeline_of

if TYPE_CHECKING:
    from firesteel.table.execution.insert_planning import PlannedInsert
    from firesteel.table.table_descriptor import TableDescriptor
    from firesteel.table.table_environment import TableEnvironment
    from firesteel.table.table_pipeline import TablePipeline
    from firesteel.table.table_result import TableResult

__all__ = ["StatementSet"]


class StatementSet:
    """INSERTs that are planned together and run as one job (Flink: `StatementSet`).

    `TableEnvironment.create_statement_set` returns it.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> for name in ("orders", "archive"):
        ...     _ = table_env.execute_sql(f"CREATE TABLE {name} (id BIGINT) WITH ('connector' = 'blackhole')")
        >>> ids = table_env.from_elements([(1,), (2,)], ["id"])
        >>> statements = table_env.create_statement_set()
        >>> _ = statements.add(ids.insert_into("orders")).add_insert("archive", ids.filter(col("id") > 1))
        >>> "archive" in statements.explain()
        True
    """

    def __init__(self, t_env: TableEnvironment) -> None:
        self._t_env = t_env
        self._inserts: list[PlannedInsert] = []

    def add(self, table_pipeline: TablePipeline) -> StatementSet:
        """Add a query with its table.

        Args:
            table_pipeline: The result of `Table.insert_into`.
        """
        executed(INSERT_EXECUTE)  # The set takes its place.
        return self._add(insert_of(table_pipeline))

    def add_insert_sql(self, stmt: str) -> StatementSet:
        """Add an INSERT.

        Args:
            stmt: An INSERT INTO or INSERT OVERWRITE statement.

        Raises:
            ValidationException: it is another statement.
        """
        statement = parse(stmt)
        if not isinstance(statement, s.Insert):
            raise ValidationException("Only insert statement is supported now.")
        return self._add(executor_of(self._t_env).plan_insert(statement))

    def add_insert(
        self, target_path_or_descriptor: str | TableDescriptor, table: Any, overwrite: bool = False
    ) -> StatementSet:
        """Add a table and where its rows are written to.

        Args:
            target_path_or_descriptor: The path of a table in the catalog, or the description of a new one.
            table: The table whose rows are written.
            overwrite: Whether existing rows are replaced, if the connector supports it.
        """
        return self.add(pipeline_of(self._t_env, table, target_path_or_descriptor, overwrite))

    def explain(self, *extra_details: int) -> str:
        """Return how the INSERTs are run.

        Args:
            extra_details: Constants of `ExplainDetail` that add information.
        """
        details = tuple(DETAIL_NAMES[detail] for detail in extra_details)
        executed(STATEMENT_SET_EXECUTE)
        return executor_of(self._t_env).explain_inserts(self._inserts, details)

    def print_explain(self, *extra_details: int) -> None:
        """Print how the INSERTs are run.

        Args:
            extra_details: Constants of `ExplainDetail` that add information.
        """
        print(self.explain(*extra_details))

    def execute(self) -> TableResult:
        """Start the job and clear the statement set.

        Raises:
            ValidationException: there is no INSERT.
        """
        if not self._inserts:
            raise ValidationException("No statement in the statement set; add an INSERT before execute()")
        return executor_of(self._t_env).run_inserts(self._taken())

    def attach_as_datastream(self) -> None:
        """Add the INSERTs to the job of the StreamExecutionEnvironment, and clear the statement set."""
        executor_of(self._t_env).attach_inserts(self._taken())

    def compile_plan(self) -> CompiledPlan:
        """Return the plan of all INSERTs, to be stored and executed later.

        Raises:
            TableException: it has something that can't be stored, such as a stream of the program.
        """
        executed(STATEMENT_SET_EXECUTE)
        return CompiledPlan(executor_of(self._t_env).plans.compiled(self._inserts), self._t_env)

    def _add(self, insert: PlannedInsert) -> StatementSet:
        self._inserts.append(insert)
        expect(STATEMENT_SET_EXECUTE)
        return self

    def _taken(self) -> list[PlannedInsert]:
        """Return the INSERTs, which are executed with something, and clear the set."""
        executed(STATEMENT_SET_EXECUTE)
        inserts, self._inserts = self._inserts, []
        return inserts
