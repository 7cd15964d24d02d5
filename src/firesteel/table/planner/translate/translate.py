"""Translation of relational algebra to streams of column batches. Flink: `StreamExec...` and `BatchExec...` nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from firesteel.columns.batch import Kind
from firesteel.columns.kernel import KernelFactory
from firesteel.columns.settings import QuerySettings
from firesteel.common.cases import method_case
from firesteel.common.options.option import Option
from firesteel.connectors.table_connector import Batches
from firesteel.functions.operator_builder import add_operator, stream_of, transformation_of, with_partitioner
from firesteel.functions.operator_descriptors import ColumnOperator
from firesteel.graph.partitioner import BROADCAST, GLOBAL, Partitioner
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.description import describe
from firesteel.table.planner.rel.node_tables import for_each_node
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.traits.row_kinds import INSERT_ONLY, kinds_of
from firesteel.table.planner.translate import translate_joins as joins
from firesteel.table.planner.translate import translate_rows as rows
from firesteel.table.planner.translate import translate_scans as scans
from firesteel.table.planner.translate import translate_windows as windows
from firesteel.table.planner.translate.batch_memory import bounded
from firesteel.table.planner.translate.operator_names import OperatorNames
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
        names: Names the operators.
        late: The nodes whose watermarks tell which rows are late, None: all.
        without_before: The nodes that emit updates without `-U`.
        is_narrowed: Whether operators of the job keep fewer columns than in former releases.
    """

    def __init__(
        self,
        environment: StreamExecutionEnvironment,
        is_streaming: bool,
        settings: QuerySettings,
        config: TableConfig,
        names: OperatorNames,
        late: frozenset[Rel] | None,
        without_before: frozenset[Rel],
        is_narrowed: bool,
    ) -> None:
        self.environment = environment
        self.is_streaming = is_streaming
        self.settings = settings
        self.config = config
        self.names = names
        self._late = late
        self._without_before = without_before
        self._is_narrowed = is_narrowed
        self._streams: dict[int, tuple[Rel, Batches]] = {}

    def stream(self, node: Rel) -> Batches:
        """Return the DataStream of column batches of a node, which has passed the checks of plans."""
        known = self._streams.get(id(node))
        if known is not None:
            return known[1]
        made = _RULES[type(node)](self, node)
        # With the node, so that its id is not given to another one.
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
        value: T = self.config.get_configuration().get(option)
        return value

    def asks_for_late_rows(self, node: rel.AssignWatermark) -> bool:
        """Return whether the watermark of a node tells which rows are late."""
        return self._late is None or node in self._late

    def emits_before(self, node: Rel) -> bool:
        """Return whether a node that makes updates emits `-U`, the row before each."""
        return node not in self._without_before

    # --- how operators are added ---------------------------------------------------------------------------------

    def operator(
        self,
        node: Rel,
        factory: KernelFactory,
        stream: Batches,
        keys: tuple[int, ...] | None = None,
        description: str | None = None,
        number: int | None = None,
    ) -> Batches:
        """Add a one-input operator: unpartitioned (`keys` None), by key columns, or in one subtask (no keys).

        Args:
            node: The node that it is of.
            factory: Makes its kernel.
            stream: Its input.
            keys: The columns by which it is partitioned.
            description: By default that of the node.
            number: The number in its name, if another operator has the same.
        """
        partitioned = stream if keys is None else self.by_columns(stream, keys)
        if not self.is_streaming:
            factory = bounded(factory, (keys or (),))
        result = self._add(
            (description or describe(node), number), ColumnOperator(factory), partitioned, None, keys == ()
        )
        if keys is None:  # Another parallelism would change the order of related changes in a changelog.
            result.set_parallelism(transformation_of(stream).parallelism)
        return result

    def join(
        self, node: Rel, factory: KernelFactory, streams: tuple[Batches, Batches], keys: tuple[tuple[int, ...], ...]
    ) -> Batches:
        """Add an operator with two inputs, both partitioned by key columns."""
        left, right = (self.by_columns(stream, columns) for stream, columns in zip(streams, keys, strict=True))
        if not self.is_streaming:
            factory = bounded(factory, keys)
        return self._add((describe(node), None), ColumnOperator(factory, 2), left, right, keys[0] == ())

    def broadcast_join(
        self, node: Rel, factory: KernelFactory, streams: tuple[Batches, Batches], broadcast: int
    ) -> Batches:
        """Add an operator with two inputs, each of whose subtasks gets all rows of one and some of the other."""
        left, right = (
            self._exchanged(stream, BROADCAST) if place == broadcast else stream for place, stream in enumerate(streams)
        )
        return self._add((describe(node), None), ColumnOperator(factory, 2), left, right, False)

    def by_columns(self, stream: Batches, keys: tuple[int, ...]) -> Batches:
        """Partition a stream by key columns; without keys all rows go to one subtask."""
        partitioner = Partitioner("HASH", keys) if keys else GLOBAL
        return self._exchanged(stream, partitioner)

    def _exchanged(self, stream: Batches, partitioner: Partitioner) -> Batches:
        self.names.number()
        return with_partitioner(stream, partitioner)

    def _add(
        self,
        title: tuple[str, int | None],
        operator: ColumnOperator,
        stream: Batches,
        other: Batches | None,
        is_global: bool,
    ) -> Batches:
        description, number = title
        name, description = self.names.named(self.names.number() if number is None else number, description)
        operator = replace(operator, description=description, is_narrowed=self._is_narrowed)
        transformation = add_operator(stream, name, operator, None, kind=None, other=other)
        transformation.description = description
        result = stream_of(stream, transformation)
        if is_global:
            result.force_non_parallel()
        return result


_RULES: dict[type, Callable[[Translator, object], Batches]] = for_each_node(
    "how it becomes an operator",
    [
        method_case(rel.TableScan, scans.table_scan),
        method_case(rel.StreamScan, scans.stream_scan),
        method_case(rel.Values, scans.values),
        method_case(rel.AssignWatermark, scans.watermark),
        method_case(rel.Project, rows.project),
        method_case(rel.Filter, rows.filter),
        method_case(rel.Aggregate, rows.aggregate),
        method_case(rel.WindowTableFunction, windows.window_table),
        method_case(rel.WindowAggregate, windows.window_aggregate),
        method_case(rel.Expand, rows.expand),
        method_case(rel.Correlate, rows.correlate),
        method_case(rel.Over, rows.over),
        method_case(rel.Rank, rows.rank),
        method_case(rel.Sort, rows.sort),
        method_case(rel.Match, rows.match),
        method_case(rel.Union, joins.union),
        method_case(rel.Join, joins.join),
        method_case(rel.IntervalJoin, joins.interval_join),
        method_case(rel.TemporalJoin, joins.temporal_join),
        method_case(rel.WindowJoin, joins.window_join),
        method_case(rel.LookupJoin, joins.lookup_join),
        method_case(rel.SetOperation, joins.set_operation),
    ],
)
"""The translation of each node."""
