"""Compiled plans (module as `pyflink.table.compiled_plan`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from firesteel.common.files.local_path import local_path
from firesteel.table.execution.plan_execution import write_plan
from firesteel.table.explain_detail import DETAIL_NAMES
from firesteel.table.table_parts import executor_of

if TYPE_CHECKING:
    from firesteel.table.table_environment import TableEnvironment
    from firesteel.table.table_result import TableResult

__all__ = ["CompiledPlan"]


class CompiledPlan:
    """The optimized plan of INSERTs as JSON, to be stored and executed later (Flink: `CompiledPlan`).

    `TableEnvironment.compile_plan_sql`, `TableEnvironment.load_plan` and `TablePipeline.compile_plan` return it. The
    JSON is firesteel's own and has a version. It names tables and functions: they must exist when it is executed, and
    tables must have the same columns. Tables that are in no catalog are described in it.

    Args:
        plan: The JSON.
        t_env: The environment in which it is executed.

    Raises:
        TableException: the JSON is no plan, or one of Flink's.
        ValidationException: a table or function does not exist, or a table has changed.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> for name, connector in (("orders", "datagen"), ("archive", "blackhole")):
        ...     _ = table_env.execute_sql(f"CREATE TABLE {name} (id BIGINT) WITH ('connector' = '{connector}')")
        >>> plan = table_env.compile_plan_sql("INSERT INTO archive SELECT id FROM orders WHERE id > 5")
        >>> table_env.load_plan(PlanReference.from_json_string(plan.as_json_string())).get_flink_version()
        '2.3'
    """

    def __init__(self, plan: str, t_env: TableEnvironment) -> None:
        self._plan = plan
        self._executor = executor_of(t_env)
        self._inserts = self._executor.plans.loaded(plan)

    def __str__(self) -> str:
        return self._plan

    def as_json_string(self) -> str:
        """Return the plan as JSON."""
        return self._plan

    def as_smile_bytes(self) -> bytes:
        """Raise an error: plans are JSON.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("The Smile format is not supported; use as_json_string()")

    def write_to_file(self, file: str | Path, ignore_if_exists: bool = False) -> None:
        """Write the plan to a file.

        Args:
            file: The path, or a `file:` URI.
            ignore_if_exists: Whether to do nothing if the file exists.

        Raises:
            TableException: the file exists, or can't be written.
        """
        path = local_path(str(file))
        if not (ignore_if_exists and path.exists()):
            write_plan(path, self._plan, overwrites=False)

    def get_flink_version(self) -> str:
        """Return the version of Flink whose SQL the plan has."""
        return str(json.loads(self._plan)["flinkVersion"])

    def print_json_string(self) -> None:
        """Print the plan as JSON."""
        print(self._plan)

    def execute(self) -> TableResult:
        """Start the job."""
        return self._executor.run_inserts(self._inserts)

    def explain(self, *extra_details: int) -> str:
        """Return how the plan is run.

        Args:
            extra_details: Constants of `ExplainDetail` that add information.
        """
        details = tuple(DETAIL_NAMES[detail] for detail in extra_details)
        return self._executor.explain_inserts(self._inserts, details)

    def print_explain(self, *extra_details: int) -> None:
        """Print how the plan is run.

        Args:
            extra_details: Constants of `ExplainDetail` that add information.
        """
        print(self.explain(*extra_details))
