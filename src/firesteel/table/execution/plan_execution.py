"""Compiled plans: INSERTs whose plans are stored as JSON. Flink: `ExecNodeGraphInternalPlan`."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from firesteel.common.cases import method_case
from firesteel.common.files.local_path import local_path
from firesteel.common.json_types import Json
from firesteel.common.options.table_options import TABLE_FORCE_RECOMPILE
from firesteel.common.table_errors import TableException
from firesteel.connectors.table_connector import SinkRequest
from firesteel.table.execution.executor import Executor
from firesteel.table.execution.insert_planning import InsertPlanner, PlannedInsert
from firesteel.table.plans.plan_reader import PlanReader
from firesteel.table.plans.plan_writer import PlanWriter
from firesteel.table.syntax import statements as s
from firesteel.table.table_result import TableResult, ok

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.planner.translate.planner import Planner
    from firesteel.table.table_config import TableConfig

FLINK_VERSION = "2.3"
PLAN_VERSION = 1
"""The version of the JSON; a plan of another one is refused."""


class PlanExecutor(Executor):
    """The executor of statements about compiled plans.

    Args:
        planner: Optimizes queries.
        catalogs: All catalogs.
        config: Options of the environment.
        inserts: Makes plans of INSERTs.
        check: Raises the error with which INSERTs would be refused.
        run: Starts a job for INSERTs.
    """

    def __init__(
        self,
        planner: Planner,
        catalogs: CatalogManager,
        config: TableConfig,
        inserts: InsertPlanner,
        check: Callable[[list[PlannedInsert]], None],
        run: Callable[[list[PlannedInsert]], TableResult],
    ) -> None:
        self._planner = planner
        self._catalogs = catalogs
        self._config = config
        self._inserts = inserts
        self._check = check
        self._run = run

    def compiled(self, inserts: list[PlannedInsert]) -> str:
        """Return the plan of INSERTs as JSON text.

        Raises:
            FiresteelError: the INSERTs can't be run.
            TableException: the plan has something that can't be stored, such as a stream of the program.
        """
        self._check(inserts)
        plans = self._planner.optimized([insert.node for insert in inserts])
        writer = PlanWriter(self._catalogs, plans)
        sinks: list[Json] = [
            {"node": writer.id_of(plan), "table": writer.table(insert.table), "request": writer.value(insert.request)}
            for plan, insert in zip(plans, inserts, strict=True)
        ]
        plan: Json = {
            "flinkVersion": FLINK_VERSION,
            "firesteelPlan": PLAN_VERSION,
            "mode": self._mode,
            "nodes": writer.nodes(),
            "sinks": sinks,
        }
        return json.dumps(plan, indent=2, ensure_ascii=False)

    def compiled_statement(self, statement: s.Insert | s.StatementSetBlock) -> str:
        """Return the plan of an INSERT, or of a statement set, as JSON text."""
        inserts = [statement] if isinstance(statement, s.Insert) else statement.inserts
        return self.compiled([self._inserts.plan_statement(insert) for insert in inserts])

    @property
    def _mode(self) -> str:
        return "streaming" if self._catalogs.is_streaming else "batch"

    def loaded(self, text: str) -> list[PlannedInsert]:
        """Return the INSERTs of a compiled plan.

        Raises:
            TableException: it is none, it is Flink's, of another version or mode.
            ValidationException: a table or a function is missing, or a table has changed.
        """
        plan = self._checked(text)
        try:
            reader = PlanReader(self._catalogs, list(plan["nodes"]))
            return [self._insert(reader, sink) for sink in plan["sinks"]]
        except TableException:
            raise
        except (KeyError, ValueError, TypeError, AssertionError, IndexError, RecursionError) as error:
            raise TableException(f"The compiled plan is damaged: {type(error).__name__}: {error}") from error

    def _insert(self, reader: PlanReader, sink: Mapping[str, Json]) -> PlannedInsert:
        table, request, node = sink["table"], reader.value(sink["request"]), sink["node"]
        assert isinstance(table, dict)
        assert isinstance(request, SinkRequest)
        assert isinstance(node, int)
        return PlannedInsert(reader.node(node), reader.table(table), request)

    def _checked(self, text: str) -> dict[str, list[Mapping[str, Json]]]:
        try:
            plan = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise TableException(f"The compiled plan is not JSON: {error}") from error
        if not isinstance(plan, dict) or "firesteelPlan" not in plan:
            raise TableException(
                "The plan was not compiled by firesteel. Plans of Flink describe Flink's operators; compile the "
                "statement again"
            )
        if plan["firesteelPlan"] != PLAN_VERSION:
            raise TableException(
                f"The plan has version {plan['firesteelPlan']}, and this release reads version {PLAN_VERSION}"
            )
        if plan.get("mode") != self._mode:
            raise TableException(f"The plan is for {plan.get('mode')} mode, and the environment in {self._mode} mode")
        return plan

    # --- statements --------------------------------------------------------------------------------------------------

    def _compile(self, statement: s.CompilePlan) -> TableResult:
        path = local_path(statement.path)
        if not (path.exists() and statement.if_not_exists):
            write_plan(path, self.compiled_statement(statement.statement), self._overwrites())
        return self._run(self.loaded(read_plan(path))) if statement.executes else ok()

    def _overwrites(self) -> bool:
        return bool(self._config.get_configuration().get(TABLE_FORCE_RECOMPILE))

    def _execute(self, statement: s.ExecutePlan) -> TableResult:
        return self._run(self.loaded(read_plan(local_path(statement.path))))

    rules: ClassVar[dict[type, Callable[[PlanExecutor, object], TableResult]]] = dict(
        [method_case(s.CompilePlan, _compile), method_case(s.ExecutePlan, _execute)]
    )


def write_plan(path: Path, text: str, overwrites: bool) -> None:
    """Write a plan to a file.

    Raises:
        TableException: the file exists and is not to be overwritten, or can't be written.
    """
    if not path.name:
        raise TableException(f"Cannot write the compiled plan to '{path}', which is no file")
    if path.exists() and not overwrites:
        raise TableException(
            f"Cannot overwrite the plan file '{path}'. Either manually remove the file or, if you're debugging your "
            "job, set the option 'table.plan.force-recompile' to true."
        )
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")  # A plan is never seen half-written.
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise TableException(f"Cannot write the compiled plan to file '{path}'.") from error


def read_plan(path: Path) -> str:
    """Return the text of a plan in a file.

    Raises:
        TableException: the file can't be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TableException(f"Cannot read the plan file '{path}': {error}") from error
