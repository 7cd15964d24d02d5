"""`ExecutionEnvironment` of the DataSet API, as far as a `BatchTableEnvironment` needs it."""

from __future__ import annotations

from firesteel.common.execution_config import ExecutionConfig
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.restart_strategy import RestartStrategyConfiguration
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.functions.execution_mode import RuntimeExecutionMode
from firesteel.pyflink1.removed import note
from firesteel.pyflink1.restart_strategies import set_restart_strategy

__all__ = ["ExecutionEnvironment"]

_INSTEAD = "TableEnvironment.create(EnvironmentSettings.in_batch_mode())"


class ExecutionEnvironment:
    """An environment of bounded programs.

    Attributes:
        stream_environment: Runs its programs, in batch mode.
    """

    def __init__(self, stream_environment: StreamExecutionEnvironment) -> None:
        self.stream_environment = stream_environment

    @staticmethod
    def get_execution_environment() -> ExecutionEnvironment:
        """Return the environment that runs the program."""
        note("pyflink.dataset.ExecutionEnvironment", _INSTEAD)
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        return ExecutionEnvironment(env)

    def get_parallelism(self) -> int:
        """Return the default parallelism."""
        return self.stream_environment.get_parallelism()

    def set_parallelism(self, parallelism: int) -> None:
        """Set the default parallelism."""
        self.stream_environment.set_parallelism(parallelism)

    def get_config(self) -> ExecutionConfig:
        """Return the options of jobs."""
        return self.stream_environment.get_config()

    def set_restart_strategy(self, restart_strategy_configuration: RestartStrategyConfiguration) -> None:
        """Set the restart strategy."""
        set_restart_strategy(self.stream_environment, restart_strategy_configuration)

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run what was added to the environment, and wait for the end."""
        return self.stream_environment.execute(job_name)
