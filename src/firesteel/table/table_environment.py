"""The entry point of table programs (module as `pyflink.table.table_environment`)."""

from __future__ import annotations

from typing import Any

from firesteel.common.configuration import Configuration
from firesteel.datastream.execution_mode import RuntimeExecutionMode
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.table import statements as s
from firesteel.table.catalog_manager import CatalogManager
from firesteel.table.environment_catalogs import CatalogMethods
from firesteel.table.environment_settings import EnvironmentSettings
from firesteel.table.environment_sources import SourceMethods
from firesteel.table.environment_streams import StreamMethods
from firesteel.table.errors import ValidationException
from firesteel.table.explain_detail import DETAIL_NAMES
from firesteel.table.modules import Modules
from firesteel.table.planner.parser import parse, parse_all
from firesteel.table.planner.planner import Planner
from firesteel.table.statement_execution import StatementExecutor
from firesteel.table.statement_set import StatementSet
from firesteel.table.table import Table
from firesteel.table.table_config import TableConfig
from firesteel.table.table_pipeline import TablePipeline
from firesteel.table.table_result import TableResult

__all__ = ["StreamTableEnvironment", "TableEnvironment"]


class TableEnvironment(SourceMethods, CatalogMethods):
    """The context of a table program: its catalogs and options, and the execution of its statements.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> table_env.execute_sql("SELECT 1").print()
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
        """Run later statements in this mode; catalogs, functions and modules stay."""
        self._env.set_runtime_mode(_runtime_mode(is_streaming))
        self._is_streaming = self._catalogs.is_streaming = is_streaming
        self._start_planning()

    @staticmethod
    def create(environment_settings: EnvironmentSettings | Configuration) -> TableEnvironment:
        """Return an environment with these settings, or options."""
        if isinstance(environment_settings, Configuration):
            environment_settings = EnvironmentSettings.new_instance().with_configuration(environment_settings).build()
        env = StreamExecutionEnvironment.get_execution_environment(environment_settings.get_configuration())
        _set_mode(env, environment_settings)
        return TableEnvironment(env, environment_settings)

    # --- queries and statements --------------------------------------------------------------------------------------

    def sql_query(self, query: str) -> Table:
        """Return the table of a query in SQL.

        Raises:
            SqlParserException: the text can't be parsed.
            ValidationException: it is no query, or a name is unknown.
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

        Raises:
            SqlParserException: the text can't be parsed.
            ValidationException: a name is unknown, or the statement is invalid.
        """
        return self._executor.execute(parse(stmt))

    def explain_sql(self, stmt: str, *extra_details: int) -> str:
        """Return how a statement is run.

        Raises:
            ValidationException: it is neither a query nor an INSERT.
        """
        details = tuple(DETAIL_NAMES[detail] for detail in extra_details)
        return self._executor.explain(parse(stmt), details)

    def create_statement_set(self) -> StatementSet:
        """Return a set of INSERTs that run as one job."""
        return StatementSet(self)

    def get_config(self) -> TableConfig:
        """Return the options."""
        return self._config

    def _table(self, query: Any) -> Table:
        """Return the table of a query, which is looked up now."""
        return Table(self._planner.resolve(query), self)

    def _execute_query(self, node: Any) -> TableResult:
        return self._executor.collect(node)

    def _explain(self, nodes: list[Any], sinks: list[Any], details: tuple[str, ...]) -> str:
        return self._planner.explain(nodes, sinks, details)  # type: ignore[no-any-return]

    def _pipeline(self, table: Table, target: Any, overwrite: bool) -> TablePipeline:
        return TablePipeline(self, table._node, self._target_path(target, table._node), overwrite)

    # --- dependencies ------------------------------------------------------------------------------------------------

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Install the packages of a file where functions run."""
        self._env.set_python_requirements(requirements_file_path, requirements_cache_dir)

    def add_python_file(self, file_path: str) -> None:
        """Make a module or package known where functions run."""
        self._env.add_python_file(file_path)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive where functions run."""
        self._env.add_python_archive(archive_path, target_dir)

    # --- compiled plans ----------------------------------------------------------------------------------------------

    def load_plan(self, plan_reference: Any) -> Any:
        """Load a compiled plan; not supported."""
        raise _no_plans("load_plan")

    def compile_plan_sql(self, stmt: str) -> Any:
        """Compile a statement to a plan; not supported."""
        raise _no_plans("compile_plan_sql")

    def execute_plan(self, plan_reference: Any) -> TableResult:
        """Run a compiled plan; not supported."""
        raise _no_plans("execute_plan")


class StreamTableEnvironment(TableEnvironment, StreamMethods):
    """A table environment that converts between tables and DataStreams.

    Example:
        >>> table_env = StreamTableEnvironment.create(StreamExecutionEnvironment.get_execution_environment())
    """

    @staticmethod
    def create(  # type: ignore[override]  # other parameters, as in PyFlink
        stream_execution_environment: StreamExecutionEnvironment | None = None,
        environment_settings: EnvironmentSettings | None = None,
    ) -> StreamTableEnvironment:
        """Return an environment on top of one for DataStreams.

        Raises:
            ValueError: neither is given.
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


def _no_plans(method: str) -> NotImplementedError:
    return NotImplementedError(f"{method}() is not supported: plans are not compiled; execute the statement instead")
