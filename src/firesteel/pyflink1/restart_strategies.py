"""Restart strategies as objects, which became options."""

from __future__ import annotations

from firesteel.common.checks import require
from firesteel.common.configuration import Configuration
from firesteel.common.execution_config import ExecutionConfig
from firesteel.common.restart_strategy import RestartStrategyConfiguration
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.pyflink1.removed import Removed, note

_INSTEAD = "the option restart-strategy.type and its restart-strategy.*"


def set_restart_strategy(
    self: StreamExecutionEnvironment, restart_strategy_configuration: RestartStrategyConfiguration
) -> StreamExecutionEnvironment:
    """Set the restart strategy."""
    set_restart_strategy_of_config(self.get_config(), restart_strategy_configuration)
    return self


def set_restart_strategy_of_config(
    self: ExecutionConfig, restart_strategy_configuration: RestartStrategyConfiguration
) -> ExecutionConfig:
    """Set the restart strategy."""
    require(restart_strategy_configuration, RestartStrategyConfiguration, "set_restart_strategy()")
    note("set_restart_strategy()", _INSTEAD)
    self._configuration.add_all(Configuration.from_dict(restart_strategy_configuration.to_options()))
    return self


_ENVIRONMENT, _CONFIG = ("datastream.StreamExecutionEnvironment",), ("common.ExecutionConfig",)
REMOVED = (
    Removed(_ENVIRONMENT, "set_restart_strategy", set_restart_strategy, _INSTEAD),
    Removed(_CONFIG, "set_restart_strategy", set_restart_strategy_of_config, _INSTEAD),
)
