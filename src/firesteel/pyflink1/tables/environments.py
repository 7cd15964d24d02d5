"""`create` of table environments with a `TableConfig`, and `BatchTableEnvironment`."""

from __future__ import annotations

from typing import TypeVar

from firesteel.common.configuration import Configuration
from firesteel.common.options.execution_options import RUNTIME_MODE
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.functions.execution_mode import RuntimeExecutionMode
from firesteel.pyflink1.dataset import ExecutionEnvironment
from firesteel.pyflink1.removed import Removed, note
from firesteel.pyflink1.tables.table_config import CATALOG, DATABASE
from firesteel.table.environment_settings import EnvironmentSettings
from firesteel.table.table_config import TableConfig
from firesteel.table.table_environment import StreamTableEnvironment, TableEnvironment
from firesteel.table.table_parts import set_configuration

_BATCH = "TableEnvironment.create(EnvironmentSettings.in_batch_mode())"
_CONFIG = "StreamTableEnvironment.create(env) and get_config() of the result"
_create_today = StreamTableEnvironment.create


Environment = TypeVar("Environment", bound=TableEnvironment)


class BatchTableEnvironment(TableEnvironment):
    """A table environment in batch mode; `create_batch` is its `create`."""


def create_batch(
    execution_environment: ExecutionEnvironment | None = None,
    table_config: TableConfig | None = None,
    environment_settings: EnvironmentSettings | None = None,
) -> BatchTableEnvironment:
    """Create a table environment in batch mode.

    Raises:
        ValueError: the arguments contradict each other, or the settings are for streaming mode.
    """
    note("BatchTableEnvironment", _BATCH)
    _check_one_of(table_config, environment_settings)
    settings = environment_settings or _settings(table_config, EnvironmentSettings.in_batch_mode())
    if environment_settings is None:
        # Programs create a streaming environment with the same TableConfig, which has had its options since then.
        settings.get_configuration().set_string(RUNTIME_MODE.key, RuntimeExecutionMode.BATCH.name)
    if settings.is_streaming_mode():
        raise ValueError("The environment settings for BatchTableEnvironment must be set to batch mode.")
    env = (
        StreamExecutionEnvironment.get_execution_environment(settings.get_configuration())
        if execution_environment is None
        else execution_environment.stream_environment
    )
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    return _sharing(BatchTableEnvironment(env, settings), table_config)


def create(
    stream_execution_environment: StreamExecutionEnvironment | None = None,
    table_config: TableConfig | EnvironmentSettings | None = None,
    environment_settings: EnvironmentSettings | None = None,
) -> StreamTableEnvironment:
    """Create a table environment on top of an environment for DataStreams.

    Args:
        stream_execution_environment: The environment that executes jobs.
        table_config: Options as in PyFlink 1, or the settings as in PyFlink 2.
        environment_settings: Settings; by default those of the execution environment.

    Raises:
        ValueError: both options and settings are given.
    """
    if not isinstance(table_config, TableConfig):
        return _create_today(stream_execution_environment, environment_settings or table_config)
    note("StreamTableEnvironment.create() with a TableConfig", _CONFIG)
    _check_one_of(table_config, environment_settings)
    env = stream_execution_environment or StreamExecutionEnvironment.get_execution_environment()
    today = EnvironmentSettings.new_instance().with_configuration(env.get_configuration()).build()
    return _sharing(_create_today(env, _settings(table_config, today)), table_config)


def _check_one_of(table_config: TableConfig | None, settings: EnvironmentSettings | None) -> None:
    if table_config is not None and settings is not None:
        raise ValueError("The params 'table_config' and 'environment_settings' cannot be used at the same time")


def _settings(table_config: TableConfig | None, settings: EnvironmentSettings) -> EnvironmentSettings:
    """Return settings with the options of a `TableConfig`, and its names for the first catalog and database."""
    if table_config is None:
        return settings
    options = table_config.to_map()
    catalog = options.pop(CATALOG, settings.get_built_in_catalog_name())
    database = options.pop(DATABASE, settings.get_built_in_database_name())
    settings.get_configuration().add_all(Configuration.from_dict(options))
    return EnvironmentSettings(settings.get_configuration(), catalog, database)


def _sharing(environment: Environment, table_config: TableConfig | None) -> Environment:
    """Let later changes of a `TableConfig` change the environment that was created with it."""
    if table_config is not None:
        set_configuration(table_config, environment.get_config().get_configuration())
    return environment


REMOVED = (
    Removed(("table", "table.table_environment"), "BatchTableEnvironment", BatchTableEnvironment, _BATCH),
    Removed(("table.BatchTableEnvironment",), "create", staticmethod(create_batch), _BATCH, widens=True),
    Removed(("table.StreamTableEnvironment",), "create", staticmethod(create), _CONFIG, widens=True),
)
