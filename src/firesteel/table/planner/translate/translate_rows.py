"""Translation of nodes with one input, except windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.kernel import KernelFactory
from firesteel.columns.kernels.calc import CalcFactory, ExpandFactory
from firesteel.columns.kernels.groups.aggregate import GroupAggregateFactory
from firesteel.columns.kernels.groups.two_phase_groups import LocalGroupsFactory, MergedGroupsFactory, mergeable_calls
from firesteel.columns.kernels.joins.correlate import CorrelateFactory
from firesteel.columns.kernels.match.match import MatchFactory
from firesteel.columns.kernels.over.over import OverFactory
from firesteel.columns.kernels.over.over_calls import FramePlan
from firesteel.columns.kernels.over.updating_over import UpdatingOverFactory
from firesteel.columns.kernels.ranks.bounded_ranks import BoundedRanksFactory, LocalRanksFactory
from firesteel.columns.kernels.ranks.deduplicate import DeduplicateFactory
from firesteel.columns.kernels.ranks.first_rows import FirstRowFactory
from firesteel.columns.kernels.ranks.rank import RankFactory, RankStrategy
from firesteel.columns.kernels.sort import LimitFactory, SortFactory
from firesteel.columns.window_clock import IN_UTC
from firesteel.common.options.table_options import TABLE_AGG_PHASE
from firesteel.connectors.table_connector import Batches
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import deduplicates, follows_arrival, is_rowtime, sorts_all, updates_over
from firesteel.table.planner.rel.description import describe
from firesteel.table.planner.traits.monotonicity import only_rises, rank_strategy
from firesteel.table.planner.translate.mini_batch import mini_batch_rows
from firesteel.table.planner.translate.plan_parts import call_plan, collation_of, ttl_ms, types_of
from firesteel.table.planner.translate.window_plans import window_source

if TYPE_CHECKING:
    from firesteel.table.planner.translate.translate import Translator


def project(translator: Translator, node: rel.Project) -> Batches:
    """Compute columns, with the filter below in the same operator."""
    source = node.input
    condition = None
    if isinstance(source, rel.Filter):
        condition, source = source.condition, source.input
    return translator.operator(
        node, CalcFactory(condition, node.expressions, translator.settings), translator.stream(source)
    )


def filter(translator: Translator, node: rel.Filter) -> Batches:
    """Keep rows for which a condition is TRUE."""
    return translator.operator(
        node, CalcFactory(node.condition, None, translator.settings), translator.stream(node.input)
    )


def aggregate(translator: Translator, node: rel.Aggregate) -> Batches:
    """Keep the aggregates of each group in state, and emit their changes."""
    retracts = translator.retracts(node.input)
    skips_retractions = retracts and only_rises(node)
    factory = GroupAggregateFactory(
        node.keys,
        tuple(map(call_plan, node.calls)),
        types_of(node.input),
        types_of(node),
        retracts and not skips_retractions,
        node.flat,
        mini_batch_rows(translator.config) if translator.is_streaming else 0,
        ttl_ms(node.state_ttl),
        skips_retractions,
        translator.emits_before(node),
    )
    rows = translator.stream(node.input)
    is_two_phase = not translator.is_streaming and translator.option(TABLE_AGG_PHASE) != "ONE_PHASE"
    if is_two_phase and mergeable_calls(factory) is not None:
        partial = translator.operator(node, LocalGroupsFactory(factory), rows, description=f"Local{describe(node)}")
        return translator.operator(node, MergedGroupsFactory(factory), partial, tuple(range(len(node.keys))))
    return translator.operator(node, factory, rows, node.keys)


def expand(translator: Translator, node: rel.Expand) -> Batches:
    """Emit each row once per grouping set."""
    return translator.operator(node, ExpandFactory(node.columns, node.sets, node.ids), translator.stream(node.input))


def correlate(translator: Translator, node: rel.Correlate) -> Batches:
    """Call a table function for each row."""
    factory = CorrelateFactory(
        node.function,
        node.operands,
        node.outer,
        types_of(node.input),
        node.function_type,
        node.condition,
        translator.settings,
    )
    return translator.operator(node, factory, translator.stream(node.input))


def over(translator: Translator, node: rel.Over) -> Batches:
    """Add an operator per group of calls that share partition, order and frame."""
    stream, width = translator.stream(node.input), len(node.input.row_type)
    make = UpdatingOverFactory if translator.is_streaming and updates_over(node) else OverFactory
    types = list(types_of(node.input))
    for group in node.groups:
        outputs = [*types, *(call.type for call in group.calls)]
        factory = make(
            group.partition,
            collation_of(group.order),
            FramePlan(group.frame.is_rows, group.frame.low, group.frame.high),
            tuple(map(call_plan, group.calls)),
            tuple(types),
            tuple(outputs),
            _over_time(translator, node, group),
        )
        stream = translator.operator(node, factory, stream, group.partition)
        types = outputs
    assert len(types) >= width
    return stream


def _over_time(translator: Translator, node: rel.Over, group: rel.OverGroup) -> int | None:
    """Return the rowtime column by which a group of a stream is ordered, None if all rows are there at once."""
    first = group.order[0].index if translator.is_streaming else None
    return first if first is not None and is_rowtime(node.input.row_type.fields[first].data_type) else None


def rank(translator: Translator, node: rel.Rank) -> Batches:
    """Keep the first rows of each partition; a row number of one, by time, needs one row or none in state."""
    strategy = rank_strategy(node.input, node.partition, node.order, translator.is_streaming)
    is_final = strategy is RankStrategy.APPEND_FAST
    kind = deduplicates(node) if translator.is_streaming and is_final and not node.outputs_rank else None
    stream = translator.stream(node.input)
    if kind is not None:
        time, keeps_last = node.order[0].index if kind == "ROWTIME" else None, node.order[0].descending
        factory: KernelFactory = DeduplicateFactory(
            node.partition, keeps_last, time, types_of(node), translator.emits_before(node)
        )
        if time is not None and not keeps_last:
            factory = FirstRowFactory(node.partition, time, types_of(node))
        return translator.operator(node, factory, stream, node.partition)
    windows = IN_UTC if node.window is None else window_source(node, translator.settings.time_zone)
    plan = RankFactory(
        node.function,
        node.partition,
        collation_of(node.order),
        node.start,
        node.end,
        node.outputs_rank,
        types_of(node.input),
        strategy,
        node.window[1] if node.window is not None and translator.is_streaming else None,
        windows.clock,
        translator.emits_before(node),
    )
    if translator.is_streaming:
        return translator.operator(node, plan, stream, node.partition)
    first = translator.operator(node, LocalRanksFactory(plan), stream, description=f"Local{describe(node)}")
    return translator.operator(node, BoundedRanksFactory(plan), first, node.partition)


def sort(translator: Translator, node: rel.Sort) -> Batches:
    """Sort by time as watermarks come, or all rows: in BATCH mode, and with a limit."""
    stream = translator.stream(node.input)
    factory: KernelFactory
    if not translator.is_streaming:
        order = collation_of(node.collations)
        if node.fetch is not None:
            # Before the exchange, each subtask keeps only those that may be among the first ones.
            first = LimitFactory(order, 0, node.offset + node.fetch)
            stream = translator.operator(node, first, stream, description=f"Local{describe(node)}")
        factory = LimitFactory(order, node.offset, node.fetch)
    elif sorts_all(node):
        factory = _first_rows(translator, node)
    elif follows_arrival(node):
        return stream
    else:
        factory = SortFactory(collation_of(node.collations), types_of(node), node.collations[0].index)
    return translator.operator(node, factory, stream, ())


def _first_rows(translator: Translator, node: rel.Sort) -> RankFactory:
    assert node.fetch is not None
    start, end = node.offset + 1, node.offset + node.fetch
    strategy = rank_strategy(node.input, (), node.collations, is_streaming=True)
    return RankFactory(
        "ROW_NUMBER",
        (),
        collation_of(node.collations),
        start,
        end,
        False,
        types_of(node),
        strategy,
        emits_before=translator.emits_before(node),
    )


def match(translator: Translator, node: rel.Match) -> Batches:
    """Run the automaton of a pattern per partition."""
    kind = node.input.row_type.fields[node.order[0].index].data_type
    factory = MatchFactory(
        node.partition,
        collation_of(node.order),
        node.pattern,
        node.define,
        tuple(measure.expression for measure in node.measures),
        node.after,
        node.within,
        node.subsets,
        types_of(node.input),
        types_of(node),
        is_rowtime(kind) or not translator.is_streaming,
        translator.settings,
    )
    return translator.operator(node, factory, translator.stream(node.input), node.partition)
