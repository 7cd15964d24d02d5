"""Translation of relational algebra to streams of column batches. Flink: `StreamExec...` and `BatchExec...` nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, TypeVar

from firesteel.columns.batch import Kind
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import KernelFactory
from firesteel.columns.kernels.aggregate import GroupAggregateFactory
from firesteel.columns.kernels.aggregate_set import CallPlan
from firesteel.columns.kernels.calc import CalcFactory, ExpandFactory, WatermarkFactory
from firesteel.columns.kernels.correlate import (
    CorrelateFactory,
    LookupJoinFactory,
    NormalizeFactory,
    SetOperationFactory,
)
from firesteel.columns.kernels.deduplicate import DeduplicateFactory
from firesteel.columns.kernels.first_rows import FirstRowFactory
from firesteel.columns.kernels.join_plan import JoinPlan
from firesteel.columns.kernels.joins import JoinFactory
from firesteel.columns.kernels.match import MatchFactory
from firesteel.columns.kernels.over import OverFactory
from firesteel.columns.kernels.over_calls import FramePlan
from firesteel.columns.kernels.rank import RankFactory
from firesteel.columns.kernels.sliced_windows import LocalWindowFactory, SlicedWindowFactory, SlicedWindowPlan
from firesteel.columns.kernels.sort import SortFactory
from firesteel.columns.kernels.time_joins import IntervalJoinFactory, TemporalJoinFactory
from firesteel.columns.kernels.updating_over import UpdatingOverFactory
from firesteel.columns.kernels.window_aggregate import WindowAggregateFactory
from firesteel.columns.kernels.window_joins import WindowJoinFactory
from firesteel.columns.kernels.window_tables import WindowTableFactory
from firesteel.columns.kernels.windows import WindowPlan
from firesteel.columns.rex import InputRef, Rex
from firesteel.columns.settings import QuerySettings
from firesteel.columns.window_clock import IN_UTC
from firesteel.common.cases import method_case
from firesteel.common.options.option import Option
from firesteel.common.options.table_options import TABLE_CDC_DUPLICATES
from firesteel.common.table_errors import TableException
from firesteel.common.time import Duration
from firesteel.connectors.table_connector import Batches, ScanRequest
from firesteel.functions.operator_builder import add_operator, stream_of, transformation_of, with_partitioner
from firesteel.functions.operator_descriptors import ColumnOperator
from firesteel.graph.partitioner import GLOBAL, Partitioner
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import deduplicates, follows_arrival, is_rowtime, sorts_all, updates_over
from firesteel.table.planner.rel.description import describe
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rules.mini_batch import mini_batch_rows
from firesteel.table.planner.rules.partition_pruning import partition_predicate
from firesteel.table.planner.rules.sliced_windows import sliced_windows
from firesteel.table.planner.rules.split_watermarks import idle_timeout_ms, watermark_strategy
from firesteel.table.planner.traits.row_kinds import ALL, INSERT_ONLY, kinds_of, normalizes
from firesteel.table.planner.translate.parallelism import scan_with_parallelism
from firesteel.table.planner.translate.values_source import values_stream
from firesteel.table.planner.translate.window_plans import window_plan, window_source
from firesteel.table.table_config import TableConfig

if TYPE_CHECKING:
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

T = TypeVar("T")


class Translator:
    """A translator of relational nodes to streams; a node that is read several times becomes one stream.

    Args:
        environment: The environment of the streams.
        is_streaming: Whether results are changelogs.
        settings: The settings for expressions.
        config: The options of the table environment.
        late: The nodes whose watermarks tell which rows are late, None: all.
    """

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        is_streaming: bool,
        settings: QuerySettings,
        config: TableConfig,
        late: frozenset[Rel] | None = None,
    ) -> None:
        self.environment = environment
        self.is_streaming = is_streaming
        self.settings = settings
        self._config = config
        self._late = late
        self._streams: dict[int, tuple[Rel, Batches]] = {}

    def stream(self, node: Rel) -> Batches:
        """Return the DataStream of column batches of a node, which has passed the checks of plans."""
        known = self._streams.get(id(node))
        if known is not None:
            return known[1]
        made = self._rules[type(node)](self, node)
        self._streams[id(node)] = (node, made)
        return made

    def kinds(self, node: Rel) -> frozenset[Kind]:
        """Return the kinds of rows that a node emits."""
        return kinds_of(node, self.is_streaming)

    def retracts(self, node: Rel) -> bool:
        """Return whether a node emits retractions."""
        return self.kinds(node) != INSERT_ONLY

    def option(self, option: Option[T]) -> T:
        """Return the value of an option of the session."""
        value: T = self._config.get_configuration().get(option)
        return value

    # --- how operators are added ---------------------------------------------------------------------------------

    def operator(
        self,
        node: Rel,
        factory: KernelFactory,
        stream: Batches,
        keys: tuple[int, ...] | None = None,
        name: str | None = None,
    ) -> Batches:
        """Add a one-input operator: unpartitioned (`keys` None), by key columns, or in one subtask (no keys)."""
        partitioned = stream if keys is None else self.by_columns(stream, keys)
        result = self._add(node, ColumnOperator(factory), partitioned, None, keys == (), name)
        if keys is None:  # Another parallelism would change the order of related changes in a changelog.
            result.set_parallelism(transformation_of(stream).parallelism)
        return result

    def join(
        self, node: Rel, factory: KernelFactory, streams: tuple[Batches, Batches], keys: tuple[tuple[int, ...], ...]
    ) -> Batches:
        """Add an operator with two inputs, both partitioned by key columns."""
        left, right = (self.by_columns(stream, columns) for stream, columns in zip(streams, keys, strict=True))
        return self._add(node, ColumnOperator(factory, 2), left, right, keys[0] == (), None)

    def by_columns(self, stream: Batches, keys: tuple[int, ...]) -> Batches:
        """Partition a stream by key columns; without keys all rows go to one subtask."""
        partitioner = Partitioner("HASH", keys) if keys else GLOBAL
        return with_partitioner(stream, partitioner)

    def _add(
        self,
        node: Rel,
        operator: ColumnOperator,
        stream: Batches,
        other: Batches | None,
        is_global: bool,
        name: str | None,
    ) -> Batches:
        transformation = add_operator(stream, name or describe(node), operator, None, kind=None, other=other)
        result = stream_of(stream, transformation)
        if is_global:
            result.force_non_parallel()
        return result

    # --- sources -------------------------------------------------------------------------------------------------

    def _scan(self, node: rel.TableScan) -> Batches:
        stored = zip(node.columns, node.row_type.field_types(), strict=False)  # rows may have fewer fields
        columns = tuple(replace(node.table.physical_columns[i], type=kind) for i, kind in stored)
        watermarks = watermark_strategy(node, self.settings, self._config)
        request = ScanRequest(columns, node.metadata, partition_predicate(node), node.condition, watermarks=watermarks)
        stream = node.source.stream(self.environment, request, describe(node))
        stream = scan_with_parallelism(self, node, stream)
        return self._normalized(node, stream, node.table.primary_key, ".".join(node.table.path))

    def _stream_scan(self, node: rel.StreamScan) -> Batches:
        return self._normalized(node, node.make(self.environment), node.primary_key, node.name)

    def _normalized(
        self, node: rel.TableScan | rel.StreamScan, stream: Batches, primary_key: tuple[str, ...], name: str
    ) -> Batches:
        """Return a full changelog of a source of upserts, or of changes that may come again."""
        may_repeat = self.kinds(node) == ALL and self.option(TABLE_CDC_DUPLICATES)
        if not self.is_streaming or not (normalizes(node) or may_repeat):
            return stream
        if not primary_key:
            raise TableException(
                f"Configuration '{TABLE_CDC_DUPLICATES.key}' is enabled which requires the changelog sources to define "
                f"a PRIMARY KEY. However, table '{name}' doesn't have a primary key."
            )
        keys = tuple(node.row_type.names.index(column) for column in primary_key)
        return self.operator(node, NormalizeFactory(keys, _types(node)), stream, keys, "ChangelogNormalize")

    def _values(self, node: rel.Values) -> Batches:
        return values_stream(self.environment, node, describe(node))

    def _watermark(self, node: rel.AssignWatermark) -> Batches:
        idle_ms, late = idle_timeout_ms(self._config), self._late is None or node in self._late
        factory = WatermarkFactory(node.column, node.expression, self.settings, idle_ms, late)
        return self.operator(node, factory, self.stream(node.input))

    # --- one input -----------------------------------------------------------------------------------------------

    def _project(self, node: rel.Project) -> Batches:
        source = node.input
        condition = None
        if isinstance(source, rel.Filter):
            condition, source = source.condition, source.input
        return self.operator(node, CalcFactory(condition, node.expressions, self.settings), self.stream(source))

    def _filter(self, node: rel.Filter) -> Batches:
        return self.operator(node, CalcFactory(node.condition, None, self.settings), self.stream(node.input))

    def _aggregate(self, node: rel.Aggregate) -> Batches:
        factory = GroupAggregateFactory(
            node.keys,
            tuple(map(_call, node.calls)),
            _types(node.input),
            _types(node),
            self.retracts(node.input),
            node.flat,
            mini_batch_rows(self._config) if self.is_streaming else 0,
            _ttl_ms(node.state_ttl),
        )
        return self.operator(node, factory, self.stream(node.input), node.keys)

    def _window_table(self, node: rel.WindowTableFunction) -> Batches:
        time_type = node.row_type.fields[-1].data_type
        factory = WindowTableFactory(self._window(node.window, node.input), _types(node.input), time_type)
        keys = node.window.partition if node.window.kind == "SESSION" else None
        return self.operator(node, factory, self.stream(node.input), keys)

    def _window_aggregate(self, node: rel.WindowAggregate) -> Batches:
        calls = tuple(map(_call, node.calls))
        sliced = None if self.retracts(node.input) else sliced_windows(node, calls, self._window)
        if sliced is not None:
            return self._sliced_windows(node, *sliced)
        factory = WindowAggregateFactory(
            node.keys,
            calls,
            None if node.window is None else self._window(node.window, node.input),
            node.window_columns,
            node.properties,
            _types(node.input),
            _types(node),
            self.retracts(node.input),
            node.flat,
            IN_UTC if node.window is not None else window_source(node, self.settings.time_zone),
        )
        return self.operator(node, factory, self.stream(node.input), node.keys)

    def _window(self, window: rel.Window, source: Rel) -> WindowPlan:
        return window_plan(window, source, self.settings.time_zone)

    def _sliced_windows(
        self, node: rel.WindowAggregate, source: Rel, expressions: tuple[Rex, ...], plan: SlicedWindowPlan
    ) -> Batches:
        """Add an aggregation by slices, which replaces the window table function and the projection below it."""
        rows = self.operator(node.input, CalcFactory(None, expressions, self.settings), self.stream(source))
        if plan.window.kind == "SESSION":
            return self._sessions(node, rows, plan)
        local = self.operator(node, LocalWindowFactory(plan), rows, name=f"Local{describe(node)}")
        return self.operator(node, SlicedWindowFactory(plan), local, tuple(range(len(plan.keys))))

    def _sessions(self, node: rel.WindowAggregate, rows: Batches, plan: SlicedWindowPlan) -> Batches:
        """Add an aggregation by sessions, and bring its columns into the order of the node's."""
        columns = dict(plan.outputs)
        times = {"start": "start", "end": "end", "time": "rowtime"}
        kinds = [columns[key] for key in plan.keys], [call.type for call in plan.calls]
        names = [name for name in times if name in columns]
        types = (*kinds[0], *kinds[1], *(columns[name] for name in names))
        properties = tuple(times[name] for name in names)
        factory = WindowAggregateFactory(plan.keys, plan.calls, plan.window, None, properties, plan.input_types, types)
        ended = self.operator(node, factory, rows, plan.keys)
        order = [*(source for source, _ in plan.outputs), *range(-len(plan.calls), 0)]
        places = [*plan.keys, *range(-len(plan.calls), 0), *names]
        found = tuple(InputRef(places.index(source), types[places.index(source)]) for source in order)
        return self.operator(node.input, CalcFactory(None, found, self.settings), ended)

    def _expand(self, node: rel.Expand) -> Batches:
        return self.operator(node, ExpandFactory(node.columns, node.sets, node.ids), self.stream(node.input))

    def _correlate(self, node: rel.Correlate) -> Batches:
        factory = CorrelateFactory(
            node.function,
            node.operands,
            node.outer,
            _types(node.input),
            tuple(node.function_type.field_types()),
            node.condition,
            self.settings,
        )
        return self.operator(node, factory, self.stream(node.input))

    def _over(self, node: rel.Over) -> Batches:
        stream, width = self.stream(node.input), len(node.input.row_type)
        make = UpdatingOverFactory if self.is_streaming and updates_over(node) else OverFactory
        types = list(_types(node.input))
        for group in node.groups:
            outputs = [*types, *(call.type for call in group.calls)]
            factory = make(
                group.partition,
                _order(group.order),
                FramePlan(group.frame.is_rows, group.frame.low, group.frame.high),
                tuple(map(_call, group.calls)),
                tuple(types),
                tuple(outputs),
                self._over_time(node, group),
            )
            stream = self.operator(node, factory, stream, group.partition)
            types = outputs
        assert len(types) >= width
        return stream

    def _over_time(self, node: rel.Over, group: rel.OverGroup) -> int | None:
        """Return the rowtime column by which a group of a stream is ordered, None if all rows are there at once."""
        first = group.order[0].index if self.is_streaming else None
        return first if first is not None and is_rowtime(node.input.row_type.fields[first].data_type) else None

    def _rank(self, node: rel.Rank) -> Batches:
        is_final = not self.retracts(node.input)
        kind = deduplicates(node) if self.is_streaming and is_final and not node.outputs_rank else None
        stream = self.stream(node.input)
        if kind is not None:
            time, keeps_last = node.order[0].index if kind == "ROWTIME" else None, node.order[0].descending
            factory: KernelFactory = DeduplicateFactory(node.partition, keeps_last, time, _types(node))
            if time is not None and not keeps_last:
                factory = FirstRowFactory(node.partition, time, _types(node))
            return self.operator(node, factory, stream, node.partition)
        windows = IN_UTC if node.window is None else window_source(node, self.settings.time_zone)
        factory = RankFactory(
            node.function,
            node.partition,
            _order(node.order),
            node.start,
            node.end,
            node.outputs_rank,
            _types(node.input),
            not is_final,
            node.window[1] if node.window is not None and self.is_streaming else None,
            windows.clock,
        )
        return self.operator(node, factory, stream, node.partition)

    def _sort(self, node: rel.Sort) -> Batches:
        stream = self.stream(node.input)
        if not self.is_streaming:
            factory: KernelFactory = SortFactory(_order(node.collations), _types(node), None, node.offset, node.fetch)
            return self.operator(node, factory, stream, ())
        if sorts_all(node):
            assert node.fetch is not None
            factory = RankFactory(
                "ROW_NUMBER",
                (),
                _order(node.collations),
                node.offset + 1,
                node.offset + node.fetch,
                False,
                _types(node),
                self.retracts(node.input),
            )
            return self.operator(node, factory, stream, ())
        if follows_arrival(node):
            return stream
        factory = SortFactory(_order(node.collations), _types(node), node.collations[0].index)
        return self.operator(node, factory, stream, ())

    def _match(self, node: rel.Match) -> Batches:
        kind = node.input.row_type.fields[node.order[0].index].data_type
        factory = MatchFactory(
            node.partition,
            _order(node.order),
            node.pattern,
            node.define,
            tuple(measure.expression for measure in node.measures),
            node.after,
            node.within,
            node.subsets,
            _types(node.input),
            _types(node),
            is_rowtime(kind) or not self.is_streaming,
            self.settings,
        )
        return self.operator(node, factory, self.stream(node.input), node.partition)

    # --- several inputs ------------------------------------------------------------------------------------------

    def _union(self, node: rel.Union) -> Batches:
        first, *others = (self.stream(child) for child in node.inputs)
        return first.union(*others) if others else first

    def _plan(self, node: rel.Join) -> JoinPlan:
        return JoinPlan(
            node.kind,
            (node.left_keys, node.right_keys),
            node.condition,
            _types(node.left),
            _types(node.right),
            self.settings,
            node.null_aware,
            self.retracts(node.left) or self.retracts(node.right),
            (_ttl_ms(node.state_ttl[0]), _ttl_ms(node.state_ttl[1])),
        )

    def _inputs(self, node: Rel) -> tuple[Batches, Batches]:
        left, right = (self.stream(child) for child in node.inputs)
        return left, right

    def _keys(self, node: rel.Join) -> tuple[tuple[int, ...], ...]:
        # NOT IN needs all rows of the right side in one subtask.
        return ((), ()) if node.null_aware else (node.left_keys, node.right_keys)

    def _join(self, node: rel.Join) -> Batches:
        return self.join(node, JoinFactory(self._plan(node)), self._inputs(node), self._keys(node))

    def _interval_join(self, node: rel.IntervalJoin) -> Batches:
        factory = IntervalJoinFactory(
            self._plan(node.join), node.left_time, node.right_time, node.low, node.high, node.is_rowtime
        )
        return self.join(node, factory, self._inputs(node), self._keys(node.join))

    def _temporal_join(self, node: rel.TemporalJoin) -> Batches:
        factory = TemporalJoinFactory(self._plan(node.join), node.left_time, node.right_time)
        return self.join(node, factory, self._inputs(node), self._keys(node.join))

    def _window_join(self, node: rel.WindowJoin) -> Batches:
        windows = window_source(node, self.settings.time_zone)
        ends = (node.left_window[1], node.right_window[1])
        factory = WindowJoinFactory(self._plan(node.join), ends, windows.clock)
        return self.join(node, factory, self._inputs(node), self._keys(replace(node.join, null_aware=False)))

    def _lookup_join(self, node: rel.LookupJoin) -> Batches:
        width = len(node.left.row_type)
        factory = LookupJoinFactory(
            node.lookup,
            node.left_keys,
            node.kind == "LEFT",
            _types(node.left),
            tuple(node.row_type.field_types()[width:]),
            node.condition,
            self.settings,
        )
        return self.operator(node, factory, self.stream(node.left))

    def _set_operation(self, node: rel.SetOperation) -> Batches:
        keys = tuple(range(len(node.row_type)))
        factory = SetOperationFactory(node.kind, node.all, _types(node))
        return self.join(node, factory, self._inputs(node), (keys, keys))

    _rules: ClassVar[dict[type, Callable[[Translator, object], Batches]]] = dict(
        [
            method_case(rel.TableScan, _scan),
            method_case(rel.StreamScan, _stream_scan),
            method_case(rel.Values, _values),
            method_case(rel.AssignWatermark, _watermark),
            method_case(rel.Project, _project),
            method_case(rel.Filter, _filter),
            method_case(rel.Aggregate, _aggregate),
            method_case(rel.WindowTableFunction, _window_table),
            method_case(rel.WindowAggregate, _window_aggregate),
            method_case(rel.Expand, _expand),
            method_case(rel.Correlate, _correlate),
            method_case(rel.Over, _over),
            method_case(rel.Rank, _rank),
            method_case(rel.Sort, _sort),
            method_case(rel.Match, _match),
            method_case(rel.Union, _union),
            method_case(rel.Join, _join),
            method_case(rel.IntervalJoin, _interval_join),
            method_case(rel.TemporalJoin, _temporal_join),
            method_case(rel.WindowJoin, _window_join),
            method_case(rel.LookupJoin, _lookup_join),
            method_case(rel.SetOperation, _set_operation),
        ]
    )


def _types(node: Rel) -> tuple[DataType, ...]:
    return tuple(node.row_type.field_types())


def _ttl_ms(text: str | None) -> int | None:
    return None if text is None else Duration.parse(text).to_millis()


def _call(call: rel.AggregateCall) -> CallPlan:
    return CallPlan(call.function, call.arguments, call.type, call.distinct, call.condition, call.order_by)


def _order(collations: tuple[rel.Collation, ...]) -> tuple[tuple[int, bool, bool], ...]:
    return tuple((c.index, c.descending, c.nulls_first) for c in collations)
