"""The DataSet API, as far as tables need it (as `pyflink.dataset`)."""

from firesteel.pyflink1.dataset.execution_environment import ExecutionEnvironment

__all__ = ["ExecutionEnvironment"]
