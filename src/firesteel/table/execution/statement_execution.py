"""Execution of statements. Flink: `TableEnvironmentImpl.executeInternal`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from firesteel.common.cases import method_case
from firesteel.common.options.pipeline_options import PIPELINE_NAME
from firesteel.common.options.table_options import TABLE_COLUMN_WIDTH, TABLE_DML_SYNC
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.common.types import Row
from firesteel.table.catalogs.catalog_objects import ObjectPath
from firesteel.table.execution.alter_execution import AlterExecutor
from firesteel.table.execution.ddl_execution import DdlExecutor
from firesteel.table.execution.executor import Executor
from firesteel.table.execution.insert_planning import InsertPlanner, PlannedInsert
from firesteel.table.execution.model_execution import ModelExecutor
from firesteel.table.execution.plan_execution import PlanExecutor
from firesteel.table.execution.print_style import PrintStyle
from firesteel.table.execution.show_execution import ShowExecutor
from firesteel.table.execution.sink_abilities import check_abilities
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.resolve.metadata_columns import with_written_metadata
from firesteel.table.syntax import queries as q
from firesteel.table.syntax import statements as s
from firesteel.table.syntax.unresolved import where
from firesteel.table.table_result import TableResult, ok, texts
from firesteel.table.types import DataTypes, RowType

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.functions.modules import Modules
    from firesteel.table.planner.translate.planner import Insert, Planner
    from firesteel.table.table_config import TableConfig


class StatementExecutor(Executor):
    """The executor of statements.

    Args:
        planner: Resolves, explains and runs queries.
        catalogs: All catalogs.
        config: Options of the environment.
        is_streaming: Whether queries run continuously.
        modules: The modules of functions.
    """

    def __init__(
        self, planner: Planner, catalogs: CatalogManager, config: TableConfig, is_streaming: bool, modules: Modules
    ) -> None:
        self._planner = planner
        self._catalogs = catalogs
        self._config = config
        self._is_streaming = is_streaming
        self._inserts = InsertPlanner(planner, catalogs, is_streaming)
        self.ddl = DdlExecutor(planner, catalogs, modules)
        self._alter = AlterExecutor(planner, catalogs)
        self.plans = PlanExecutor(planner, catalogs, config, self._inserts, self._check_inserts, self.run_inserts)
        self._models = ModelExecutor(catalogs)
        self.shows = ShowExecutor(planner, catalogs, self.ddl.modules)

    def execute(self, statement: s.Statement) -> TableResult:
        """Execute a statement.

        Raises:
            TableException: the statement is invalid or not supported.
        """
        if isinstance(statement, s.CreateTable) and statement.query is not None:
            return self._create_table_as(statement)
        executors: tuple[Executor, ...] = (self.ddl, self._alter, self._models, self.shows, self.plans, self)
        results = (executor.attempt(statement) for executor in executors)
        result = next((result for result in results if result is not None), None)
        if result is None:
            raise TableException(f"{type(statement).__name__} statements are not supported")
        return result

    # --- queries -----------------------------------------------------------------------------------------------------

    def collect(self, node: Any, exact: bool = False) -> TableResult:
        """Run a query and return its rows.

        Args:
            node: The query.
            exact: Whether timestamps keep all digits; PyFlink's `collect()` returns milliseconds.
        """
        job_client, rows = self._planner.collect(node, exact)
        style = PrintStyle.CHANGES if self._is_streaming else PrintStyle.WIDTHS_OF_TYPES
        width = self._config.get_configuration().get(TABLE_COLUMN_WIDTH)
        return TableResult(node.row_type, rows, job_client, style=style, is_query=True, most_width=width)

    def _query(self, statement: s.Query) -> TableResult:
        return self.collect(self._planner.resolve(statement.query))

    # --- inserts -----------------------------------------------------------------------------------------------------

    def plan_insert(self, statement: s.Insert) -> PlannedInsert:
        """Return an INSERT made to fit its table."""
        return self._inserts.plan_statement(statement)

    def planned_insert(self, path: tuple[str, ...], node: Rel, overwrite: bool) -> PlannedInsert:
        """Return the insert of a query that was looked up."""
        return self._inserts.plan(path, q.Resolved(node), overwrite=overwrite)

    def run_inserts(self, inserts: list[PlannedInsert]) -> TableResult:
        """Start a job for all inserts."""
        job_client = self._planner.insert(self._with_sinks(inserts), self._job_name(inserts))
        fields = []
        counts: dict[str, int] = {}
        for insert in inserts:
            name = insert.sink_name
            counts[name] = counts.get(name, 0) + 1
            unique = name if counts[name] == 1 else f"{name}_{counts[name]}"
            fields.append(DataTypes.FIELD(unique, DataTypes.BIGINT()))
        result = TableResult(RowType(fields), [Row(*[-1] * len(fields))], job_client)
        if self._config.get_configuration().get(TABLE_DML_SYNC):
            result.wait()
        return result

    def _check_inserts(self, inserts: list[PlannedInsert]) -> None:
        nodes = [insert.node for insert in inserts]
        self._planner.check(nodes, self._with_sinks(inserts), self._job_name(inserts))

    def attach_inserts(self, inserts: list[PlannedInsert]) -> None:
        """Add the inserts to the program of the execution environment."""
        self._planner.attach(self._with_sinks(inserts))

    def _with_sinks(self, inserts: list[PlannedInsert]) -> list[Insert]:
        return [self._with_sink(insert) for insert in inserts]

    def _with_sink(self, insert: PlannedInsert) -> Insert:
        sink = self._catalogs.create_sink(insert.table, insert.request)
        check_abilities(insert.table, insert.request, sink)
        node = with_written_metadata(insert.node, insert.table, sink, self._catalogs)
        return node, insert.table, sink, insert.request

    def _job_name(self, inserts: list[PlannedInsert]) -> str:
        configured = self._config.get_configuration().get(PIPELINE_NAME)
        return configured or "insert-into_" + ",".join(insert.sink_name for insert in inserts)

    def _insert(self, statement: s.Insert) -> TableResult:
        return self.run_inserts([self.plan_insert(statement)])

    def _statement_set(self, statement: s.StatementSetBlock) -> TableResult:
        return self.run_inserts([self.plan_insert(insert) for insert in statement.inserts])

    def _create_table_as(self, statement: s.CreateTable) -> TableResult:
        assert statement.query is not None
        node = self._planner.resolve(statement.query)
        if not self.ddl.create_table_as(statement, node):
            return ok()
        columns = tuple(node.row_type.names)
        return self.run_inserts([self._inserts.plan(statement.path, q.Resolved(node), columns)])

    # --- explanations ------------------------------------------------------------------------------------------------

    def explain(self, statement: s.Statement, details: tuple[str, ...]) -> str:
        """Return how a statement is run.

        Raises:
            ValidationException: it is neither a query nor an INSERT.
        """
        if isinstance(statement, s.Query):
            return self._planner.explain([self._planner.resolve(statement.query)], [], details)
        if isinstance(statement, s.Insert):
            return self.explain_inserts([self.plan_insert(statement)], details)
        if isinstance(statement, s.StatementSetBlock):
            return self.explain_inserts([self.plan_insert(insert) for insert in statement.inserts], details)
        if isinstance(statement, s.Explain):
            return self.explain(statement.statement, statement.details)
        raise ValidationException(
            f"Unsupported operation: {type(statement).__name__}; EXPLAIN takes queries, INSERTs and statement sets"
        )

    def explain_inserts(self, inserts: list[PlannedInsert], details: tuple[str, ...]) -> str:
        """Return how inserts are run."""
        nodes = [insert.node for insert in inserts]
        return self._planner.explain(nodes, self._with_sinks(inserts), details, self._job_name(inserts))

    def _explain(self, statement: s.Explain) -> TableResult:
        return texts("result", [self.explain(statement.statement, statement.details)], PrintStyle.RAW)

    # --- unsupported statements
    # -----------------------------------------------------------------------------------------

    def _set(self, statement: s.SetOption) -> TableResult:
        word = "RESET" if statement.reset else "SET"
        raise TableException(
            f"Unsupported SQL query! executeSql() does not take {word}, which is a command of the SQL client; use "
            "table_env.get_config().set(key, value)"
        )

    def _delete(self, statement: s.Delete) -> TableResult:
        raise TableException(
            f"Can't delete from table '{'.'.join(statement.path)}': its connector does not support DELETE"
        )

    def _call(self, statement: s.Call) -> TableResult:
        path = self._catalogs.qualify(statement.path)
        catalog = self._catalogs.find_catalog(path[0])
        found = f"SQL validation failed. {where(statement.position, '.'.join(statement.path))}"
        if catalog is None:
            raise ValidationException(f"{found}No match found for function signature {path[-1]}")
        try:
            catalog.get_procedure(ObjectPath(*path[1:]))
        except NotImplementedError as error:
            raise ValidationException(
                f"{found}getProcedure is not implemented for class {type(catalog).__name__}."
            ) from error
        raise TableException(f"{found}Procedures can't be called")

    def _analyze(self, statement: s.AnalyzeTable) -> TableResult:
        raise TableException("ANALYZE TABLE is not supported: statistics are not used to plan queries")

    rules: ClassVar[dict[type, Callable[[StatementExecutor, object], TableResult]]] = dict(
        [
            method_case(s.Query, _query),
            method_case(s.Insert, _insert),
            method_case(s.StatementSetBlock, _statement_set),
            method_case(s.Explain, _explain),
            method_case(s.SetOption, _set),
            method_case(s.Delete, _delete),
            method_case(s.AnalyzeTable, _analyze),
            method_case(s.Call, _call),
        ]
    )
