"""The planner, which resolves, optimizes, translates and runs queries. Flink: `PlannerBase`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.columns.column_types import RowType
from firesteel.columns.settings import QuerySettings
from firesteel.columns.values import to_python
from firesteel.common.options.python_options import PYTHON_ARROW_ROWS, PYTHON_BUNDLE_ROWS
from firesteel.common.options.table_options import (
    TABLE_BROADCAST_THRESHOLD,
    TABLE_DEFAULT_PARALLELISM,
    TABLE_JOIN_REORDER,
    TABLE_MINI_BATCH_ENABLED,
    TABLE_PRUNE_TOP_N,
    TABLE_REUSE_SOURCES,
    TABLE_REUSE_SUB_PLANS,
    TABLE_SHORT_NAMES,
)
from firesteel.common.types import Row, RowKind
from firesteel.connectors.table_connector import Batches, ResolvedTable, SinkRequest, TableSink
from firesteel.functions.closeable_iterator import CloseableIterator
from firesteel.functions.operator_builder import check, collect, transformation_of, transformations_of
from firesteel.table.planner.nesting import refused_if_too_deep
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.explain import explain_text
from firesteel.table.planner.rel.plan_advice import PlanAdvice
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.resolve.resolve_queries import QueryResolver, ResolveContext
from firesteel.table.planner.resolve.scans import scan
from firesteel.table.planner.resolve.select_hints import HintNames
from firesteel.table.planner.rules.rules import optimize, optimize_all
from firesteel.table.planner.traits.late_rows import decide_lateness
from firesteel.table.planner.traits.row_kinds import INSERT_ONLY, kinds_of
from firesteel.table.planner.traits.update_before import kinds_without, without_update_before
from firesteel.table.planner.traits.validate import validate
from firesteel.table.planner.translate.operator_names import OperatorNames
from firesteel.table.planner.translate.sinks import SinkEnd, add_sink, end_of, upserts_need_before, with_lengths
from firesteel.table.planner.translate.translate import Translator
from firesteel.table.syntax.queries import Query
from firesteel.table.table_config import TableConfig

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch
    from firesteel.common.job_client import JobClient
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.table.catalogs.catalog_manager import CatalogManager

Insert = tuple[Rel, ResolvedTable, TableSink, SinkRequest]
"""A query, its target, the sink of the connector and what the sink was made for."""

_COLLECT = "collect"
"""The name of jobs of queries."""


class Planner:
    """The planner of one table environment.

    Args:
        environment: The StreamExecutionEnvironment in which jobs are created.
        catalogs: Looks up tables and functions.
        config: The options of the table environment.
        is_streaming: Whether results are emitted as they change.
    """

    def __init__(
        self, environment: StreamExecutionEnvironment, catalogs: CatalogManager, config: TableConfig, is_streaming: bool
    ) -> None:
        self._environment = environment
        self._config = config
        self._is_streaming = is_streaming
        self._context = ResolveContext(catalogs, is_streaming)
        self._operator_numbers = count(1)

    def resolve(self, query: Query) -> Rel:
        """Resolve a query (of `firesteel.table.syntax.queries`) to its relational node.

        Raises:
            ValidationException: A name is unknown, or types do not fit.
        """
        context = replace(self._context, hint_names=HintNames(), written_names={})
        with refused_if_too_deep():
            node = QueryResolver(context).resolve(query)
        context.hint_names.check()
        return node

    def scan(self, table: ResolvedTable) -> Rel:
        """Return the node that reads a table, whose connector is made now.

        Raises:
            ValidationException: there is no such connector, or it can't read this table.
        """
        return scan(table, self._context)

    def kinds(self, node: Rel) -> frozenset[Kind]:
        """Return the kinds of rows that a query emits."""
        return kinds_of(optimize(node, self._is_streaming), self._is_streaming)

    def column_stream(self, node: Rel, upserts_by: Sequence[str] | None = None) -> Batches:
        """Return the DataStream of column batches of a query; what a program asks of its watermarks is not known.

        Args:
            node: The query.
            upserts_by: The primary key of a stream of upserts, or nothing; None if `-U` must come before each update.

        Raises:
            ValidationException: several rows may have the primary key.
        """
        plan = self.optimized([node])[0]
        needs_before = upserts_by is None or upserts_need_before(plan, upserts_by, self._is_streaming)
        return self._translator([(plan, needs_before)], None).stream(plan)

    def collect(self, node: Rel, exact: bool = False) -> tuple[JobClient | None, CloseableIterator[Row]]:
        """Run a query.

        Args:
            node: The query.
            exact: Whether timestamps keep all digits; PyFlink's `collect()` returns milliseconds.

        Returns:
            The job's client or None, and an iterator over the rows as they arrive, which must be closed.
        """
        with self._own_job() as environment:
            collect_id = self._result_stream(node).collect_async()
            self._keep_ancestors(-1)
            batches = collect(environment, collect_id, _COLLECT, None)
        rows = CloseableIterator(_collected_rows(batches, node.row_type, exact), batches.close)
        return batches.job_client, rows

    def _result_stream(self, node: Rel) -> Batches:
        """Return the DataStream whose batches `collect` returns."""
        plan = self.optimized([node])[0]
        translator = self._translator([(plan, True)], decide_lateness([plan]))
        with refused_if_too_deep():
            return with_lengths(translator, plan, translator.stream(plan), node.row_type.field_types())

    def insert(self, inserts: Sequence[Insert], job_name: str | None) -> JobClient:
        """Run inserts, each `(node, table, sink, request)`, as one job, and return its client."""
        with self._own_job() as environment:
            others = len(transformations_of(environment))
            self.attach(inserts)
            self._keep_ancestors(others)
            return environment.execute_async(job_name or "insert")

    def attach(self, inserts: Sequence[Insert]) -> None:
        """Add inserts to the program of the execution environment."""
        # Together, so that inserts which read the same table, or compute the same, share it.
        plans = self.optimized([node for node, _, _, _ in inserts])
        with refused_if_too_deep():
            ends = self._ends(plans, inserts)
            translator = self._translator([(end.node, end.needs_before) for end in ends], decide_lateness(plans))
            for end in ends:
                add_sink(translator, end)

    def _ends(self, plans: Sequence[Rel], inserts: Sequence[Insert]) -> list[SinkEnd]:
        return [
            end_of(plan, table, sink, request, self._is_streaming, self._config)
            for plan, (_, table, sink, request) in zip(plans, inserts, strict=True)
        ]

    @contextmanager
    def _own_job(self) -> Iterator[StreamExecutionEnvironment]:
        """Leave the program as it is, whatever is added to it for a job."""
        environment = self._environment
        before = list(transformations_of(environment))
        try:
            yield environment
        finally:
            transformations_of(environment)[:] = before

    def _keep_ancestors(self, first: int) -> None:
        """Leave out what the transformations from an index on do not read: other pipelines of the program."""
        transformations = transformations_of(self._environment)
        needed, waiting = set(), transformations[first:]
        while waiting:
            transformation = waiting.pop()
            if id(transformation) not in needed:
                needed.add(id(transformation))
                waiting += transformation.inputs
        transformations[:] = [t for t in transformations if id(t) in needed]

    def explain(
        self, nodes: Sequence[Rel], sinks: Sequence[Insert], details: Iterable[object], job_name: str = _COLLECT
    ) -> str:
        """Return the plans as text: the syntax tree, the optimized and the execution plan.

        Args:
            nodes: The queries.
            sinks: The inserts of the queries, as in `insert`; empty for queries alone.
            details: Names of `ExplainDetail`.
            job_name: The name of the job, for errors.

        Raises:
            FiresteelError: the queries can't be run.
        """
        plans = self.optimized(nodes)
        names = [".".join(table.path) for _, table, _, _ in sinks]
        advice = PlanAdvice(self._advises_nothing()) if "PLAN_ADVICE" in details else None
        kinds = self._kinds_of_nodes(plans, sinks) if "CHANGELOG_MODE" in details else None
        text = explain_text(list(zip(nodes, plans, strict=True)), names, kinds, advice)
        plan = self.check(nodes, sinks, job_name)
        if "JSON_EXECUTION_PLAN" in details:
            text += f"\n== Physical Execution Plan ==\n{plan}\n"
        return text

    def _kinds_of_nodes(self, plans: Sequence[Rel], sinks: Sequence[Insert]) -> dict[Rel, frozenset[Kind]]:
        """Return the kinds of rows that each node of a job's plans emits."""
        if not self._is_streaming:
            return dict.fromkeys(inputs_first(plans), INSERT_ONLY)
        if not sinks:
            return kinds_without([(plan, True) for plan in plans])
        return kinds_without([(end.node, end.needs_before) for end in self._ends(plans, sinks)])

    def _advises_nothing(self) -> bool:
        return not self._is_streaming or self._config.get_configuration().get(TABLE_MINI_BATCH_ENABLED)

    def check(self, nodes: Sequence[Rel], inserts: Sequence[Insert], job_name: str) -> str:
        """Return the operators of queries or inserts as JSON text; they pass all checks of a submission.

        Args:
            nodes: The queries.
            inserts: The inserts of the queries, as in `insert`; empty for queries alone.
            job_name: The name of the job, for errors.

        Raises:
            FiresteelError: the queries can't be run.
        """
        with self._own_job() as environment:
            # Pipelines that the program has begun are no part of what is explained, and may lack a sink yet.
            transformations_of(environment).clear()
            if inserts:
                self.attach(inserts)
            else:
                transformations_of(environment).extend([transformation_of(self._result_stream(node)) for node in nodes])
            check(environment, job_name)
            return environment.get_execution_plan()

    def optimized(self, nodes: Sequence[Rel]) -> list[Rel]:
        """Return the optimized plans of the queries of one job, which have passed all checks."""
        options = self._config.get_configuration()
        reuses = all(options.get(one) for one in (TABLE_REUSE_SUB_PLANS, TABLE_REUSE_SOURCES))
        with refused_if_too_deep():
            plans = optimize_all(
                nodes,
                self._is_streaming,
                reuses,
                options.get(TABLE_JOIN_REORDER),
                options.get(TABLE_BROADCAST_THRESHOLD),
                options.get(TABLE_PRUNE_TOP_N),
            )
            validate(plans, self._is_streaming)
            return plans

    def _translator(self, queries: Sequence[tuple[Rel, bool]], late: frozenset[Rel] | None) -> Translator:
        """Return the translator of the plans of a job.

        Args:
            queries: The plans, and whether what reads each one needs `-U`.
            late: The nodes whose watermarks tell which rows are late, None: all.
        """
        self._config.get_idle_state_retention()  # so that an invalid duration is reported here, and not by the job
        parallelism = self._config.get_configuration().get(TABLE_DEFAULT_PARALLELISM)
        if parallelism > 0:
            self._environment.set_parallelism(parallelism)
        rows = (self._config.get_configuration().get(one) for one in (PYTHON_ARROW_ROWS, PYTHON_BUNDLE_ROWS))
        settings = QuerySettings(
            self._config.get_local_timezone(), time.time_ns() // 1000, pandas_rows=min(filter(None, rows), default=0)
        )
        names = OperatorNames(self._operator_numbers, self._config.get_configuration().get(TABLE_SHORT_NAMES))
        without_before = without_update_before(queries) if self._is_streaming else frozenset[Rel]()
        nodes = inputs_first(plan for plan, _ in queries)
        is_narrowed = any(isinstance(node, rel.Rank) and node.is_narrowed for node in nodes)
        return Translator(
            self._environment, self._is_streaming, settings, self._config, names, late, without_before, is_narrowed
        )


def _collected_rows(batches: Iterable[ColumnBatch], row_type: RowType, exact: bool) -> Iterator[Row]:
    """Yield the rows of column batches as a program gets them."""
    kinds = list(RowKind)
    types = row_type.field_types()
    for batch in batches:
        columns = [to_python(c, t, collected=not exact) for c, t in zip(batch.columns, types, strict=True)]
        marks = [0] * batch.length if batch.kinds is None else batch.kinds.tolist()
        for mark, values in zip(marks, zip(*columns, strict=True), strict=True):
            row = Row(*values)
            row.set_row_kind(kinds[mark])
            yield row
