"""The entry point of table programs (module as `pyflink.table.table_environment`)."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.common.configuration import Configuration
from firesteel.common.table_errors import ValidationException
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.functions.execution_mode import RuntimeExecutionMode
from firesteel.table.catalogs.catalog_manager import CatalogManager
from firesteel.table.compiled_plan import CompiledPlan
from firesteel.table.environment.environment_catalogs import CatalogMethods
from firesteel.table.environment.environment_sources import SourceMethods
from firesteel.table.environment.environment_streams import StreamMethods
from firesteel.table.environment_settings import EnvironmentSettings
from firesteel.table.execution.statement_execution import StatementExecutor
from firesteel.table.explain_detail import DETAIL_NAMES
from firesteel.table.functions.modules import Modules
from firesteel.table.plan_reference import PlanReference
from firesteel.table.planner.parse.parser import parse, parse_all
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.translate.planner import Planner
from firesteel.table.resolved_schema import ResolvedSchema, schema_of_rows
from firesteel.table.statement_set import StatementSet
from firesteel.table.syntax import statements as s
from firesteel.table.syntax.queries import Query
from firesteel.table.table import Table
from firesteel.table.table_config import TableConfig
from firesteel.table.table_descriptor import TableDescriptor
from firesteel.table.table_parts import executor_of, rel_of
from firesteel.table.table_pipeline import TablePipeline
from firesteel.table.table_result import TableResult

__all__ = ["StreamTableEnvironment", "TableEnvironment"]


class TableEnvironment(SourceMethods, CatalogMethods):
    """The context of a table program: its catalogs and options, and the execution of its statements.

    Programs call `create` instead of the constructor.

    Args:
        env: Environment that runs the jobs; the options of `settings` are added to its configuration.
        settings: Runtime mode, options, and the names of the first catalog and database.

    Example:
        >>> from firesteel.table import EnvironmentSettings, TableEnvironment
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> orders = table_env.from_elements([("ann", 3), ("bob", 5)], ["name", "amount"])
        >>> table_env.create_temporary_view("orders", orders)
        >>> table_env.sql_query("SELECT name, SUM(amount) AS total FROM orders GROUP BY name").print_schema()
        (
          `name` STRING,
          `total` BIGINT
        )
    """

    def __init__(self, env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> None:
        self._env = env
        configuration = env.get_configuration()
        configuration.add_all(settings.get_configuration())
        self._is_streaming = settings.is_streaming_mode()
        self._config = TableConfig(configuration)
        self._catalogs = CatalogManager(
            self._config,
            self._is_streaming,
            settings.get_built_in_catalog_name(),
            settings.get_built_in_database_name(),
        )
        self._modules = Modules()
        self._start_planning()

    def _start_planning(self) -> None:
        self._planner = Planner(self._env, self._catalogs, self._config, self._is_streaming)
        self._executor = StatementExecutor(
            self._planner, self._catalogs, self._config, self._is_streaming, self._modules
        )

    def _set_streaming(self, is_streaming: bool) -> None:
        """Run later statements in this mode; catalogs, functions and modules are kept."""
        self._env.set_runtime_mode(_runtime_mode(is_streaming))
        self._is_streaming = self._catalogs.is_streaming = is_streaming
        self._start_planning()

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """Create a table environment.

        Args:
            environment_settings: Settings, or a `Configuration` with options such as `execution.runtime-mode`.
        """
        if isinstance(environment_settings, Configuration):
            environment_settings = EnvironmentSettings.new_instance().with_configuration(environment_settings).build()
        env = StreamExecutionEnvironment.get_execution_environment(environment_settings.get_configuration())
        _set_mode(env, environment_settings)
        return TableEnvironment(env, environment_settings)

    # --- queries and statements --------------------------------------------------------------------------------------

    def sql_query(self, query: str) -> Table:
        """Return the result of an SQL query as a table; nothing is executed yet.

        Args:
            query: A single SELECT, UNION, INTERSECT, EXCEPT, VALUES or ORDER BY query.

        Raises:
            SqlParserException: The text cannot be parsed.
            ValidationException: The text is not a single query, or a name is unknown.
        """
        found = parse_all(query)
        if len(found) != 1 or not isinstance(found[0], s.Query):
            raise ValidationException(
                "Unsupported SQL query! sqlQuery() only accepts a single SQL query of type SELECT, UNION, INTERSECT, "
                "EXCEPT, VALUES, and ORDER_BY."
            )
        return self._table(found[0].query)

    def execute_sql(self, stmt: str) -> TableResult:
        """Execute a statement and return its result.

        An INSERT returns as soon as its job is submitted; `TableResult.wait()` waits for its end. A query returns its
        rows as they arrive.

        Args:
            stmt: A single statement: a query, INSERT, EXPLAIN, CREATE, ALTER, DROP, USE, SHOW, DESCRIBE, ...

        Raises:
            SqlParserException: The text cannot be parsed.
            ValidationException: A name is unknown, or the statement is invalid.
            ValueError: The text has several statements.
        """
        return self._executor.execute(parse(stmt))

    def explain_sql(self, stmt: str, *extra_details: int) -> str:
        """Return the plans of a query or INSERT as text.

        Args:
            stmt: The statement.
            extra_details: Further details to include, of `ExplainDetail`.

        Raises:
            ValidationException: The statement is neither a query nor an INSERT.
        """
        details = tuple(DETAIL_NAMES[detail] for detail in extra_details)
        return self._executor.explain(parse(stmt), details)

    def create_statement_set(self) -> StatementSet:
        """Create a set of INSERT statements that run as one job."""
        return StatementSet(self)

    def get_config(self) -> TableConfig:
        """Return the options of this environment; changes apply to later statements."""
        return self._config

    def _table(self, query: Query, schema: ResolvedSchema | None = None) -> Table:
        """Resolve a query against the current catalogs and return its table."""
        node = self._planner.resolve(query)
        return Table(lambda: node, self, schema_of_rows(node.row_type) if schema is None else schema)

    def _deferred_table(self, make: Callable[[], Rel], schema: ResolvedSchema) -> Table:
        return Table(make, self, schema)

    def _pipeline(self, table: Table, target: str | TableDescriptor, overwrite: bool) -> TablePipeline:
        return TablePipeline(self, rel_of(table), self._target_path(target, rel_of(table)), overwrite)

    # --- dependencies ------------------------------------------------------------------------------------------------

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Install the packages of a requirements file where Python functions run.

        Args:
            requirements_file_path: A requirements file of pip.
            requirements_cache_dir: A directory of packages to install from, without network access.
        """
        self._env.set_python_requirements(requirements_file_path, requirements_cache_dir)

    def add_python_file(self, file_path: str) -> None:
        """Make a Python file, package or directory importable where functions run.

        Args:
            file_path: A `.py` file, a package's directory, or a zip archive.
        """
        self._env.add_python_file(file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Ship an archive, which is unpacked into the working directory of functions.

        Args:
            archive_path: A zip or tar archive.
            target_dir: The directory to unpack into; by default the name of the archive.
        """
        self._env.add_python_archive(archive_path, target_dir)

    # --- compiled plans ----------------------------------------------------------------------------------------------

    def load_plan(self, plan_reference: PlanReference[object]) -> CompiledPlan:
        """Return a compiled plan.

        Args:
            plan_reference: Its file or text, as the methods of `PlanReference` return.

        Raises:
            TableException: it is no plan, or one of Flink's.
            ValidationException: a table or function of the plan does not exist, or a table has changed.
        """
        return CompiledPlan(plan_reference.read(), self)

    def compile_plan_sql(self, stmt: str) -> CompiledPlan:
        """Return the plan of an INSERT, or of a statement set, to be stored and executed later.

        Args:
            stmt: The statement.

        Raises:
            ValidationException: it is another statement.
            TableException: the plan has something that can't be stored, such as a stream of the program.
        """
        statement = parse(stmt)
        if not isinstance(statement, s.Insert | s.StatementSetBlock):
            raise ValidationException(
                "Unsupported SQL query! compilePlanSql() only accepts a single SQL statement of type INSERT"
            )
        return CompiledPlan(executor_of(self).plans.compiled_statement(statement), self)

    def execute_plan(self, plan_reference: PlanReference[object]) -> TableResult:
        """Start the job of a compiled plan.

        Args:
            plan_reference: Its file or text, as the methods of `PlanReference` return.
        """
        return self.load_plan(plan_reference).execute()


class StreamTableEnvironment(TableEnvironment, StreamMethods):
    """A table environment that also converts between tables and DataStreams.

    Example:
        >>> from firesteel.datastream import StreamExecutionEnvironment
        >>> from firesteel.table import StreamTableEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> table_env = StreamTableEnvironment.create(env)
    """

    @staticmethod
    def create(  # type: ignore[override]  # other parameters, as in PyFlink
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """Create a table environment on top of an environment for DataStreams.

        Args:
            stream_execution_environment: The environment that executes jobs; by default one with these settings.
            environment_settings: Settings; by default those of the execution environment.

        Raises:
            ValueError: Neither argument is given.
        """
        if stream_execution_environment is None and environment_settings is None:
            raise ValueError("Either StreamExecutionEnvironment or EnvironmentSettings must be given")
        env = stream_execution_environment
        if env is None:
            assert environment_settings is not None
            env = StreamExecutionEnvironment.get_execution_environment(environment_settings.get_configuration())
        if environment_settings is None:
            environment_settings = (
                EnvironmentSettings.new_instance().with_configuration(env.get_configuration()).build()
            )
        _set_mode(env, environment_settings)
        return StreamTableEnvironment(env, environment_settings)


def _set_mode(env: StreamExecutionEnvironment, settings: EnvironmentSettings) -> None:
    env.set_runtime_mode(_runtime_mode(settings.is_streaming_mode()))


def _runtime_mode(is_streaming: bool) -> RuntimeExecutionMode:
    return RuntimeExecutionMode.STREAMING if is_streaming else RuntimeExecutionMode.BATCH
