"""What bounds the memory of each kernel in BATCH mode."""

from __future__ import annotations

from firesteel.columns.kernel import KernelFactory
from firesteel.columns.kernels.by_parts import ByPartsFactory
from firesteel.columns.kernels.groups.aggregate import GroupAggregateFactory
from firesteel.columns.kernels.joins.interval_joins import IntervalJoinFactory
from firesteel.columns.kernels.joins.temporal_joins import TemporalJoinFactory
from firesteel.columns.kernels.joins.window_joins import WindowJoinFactory
from firesteel.columns.kernels.match.match import MatchFactory
from firesteel.columns.kernels.over.over import OverFactory
from firesteel.columns.kernels.ranks.bounded_ranks import BoundedRanksFactory
from firesteel.columns.kernels.set_operations import SetOperationFactory
from firesteel.columns.kernels.windows.sliced_windows import SlicedWindowFactory
from firesteel.columns.kernels.windows.window_aggregate import WindowAggregateFactory
from firesteel.columns.kernels.windows.window_tables import WindowTableFactory

__all__ = ["NEEDS_NO_PARTS", "bounded"]

_BY_PARTS = (
    BoundedRanksFactory,
    GroupAggregateFactory,
    IntervalJoinFactory,
    MatchFactory,
    OverFactory,
    SetOperationFactory,
    SlicedWindowFactory,
    TemporalJoinFactory,
    WindowAggregateFactory,
    WindowJoinFactory,
    WindowTableFactory,
)
NEEDS_NO_PARTS = {
    "ByPartsFactory": "keeps rows in a file itself",
    "CalcFactory": "keeps no rows",
    "CorrelateFactory": "keeps no rows",
    "DeduplicateFactory": "for streams only",
    "ExpandFactory": "keeps no rows",
    "FirstRowFactory": "for streams only",
    "JoinFactory": "keeps rows in files itself, and reads one side of a part batch by batch",
    "LengthGuardFactory": "keeps no rows",
    "LimitFactory": "keeps sorted rows in a file itself",
    "LocalGroupsFactory": "emits partial results before it has too many",
    "LocalRanksFactory": "keeps a fixed number of rows",
    "LocalWindowFactory": "emits the partial results of each batch",
    "LookupJoinFactory": "keeps no rows",
    "MergedGroupsFactory": "keeps partial results in a file itself, merged as far as memory allows",
    "NormalizeFactory": "for streams only",
    "RankFactory": "for streams only",
    "SinkGuardFactory": "keeps no rows",
    "SortFactory": "for streams only",
    "UpdatingOverFactory": "for streams only",
    "UpsertMaterializeFactory": "for streams only",
    "WatermarkFactory": "keeps no rows",
}
"""Why other kernels need not be run by parts."""


def bounded(factory: KernelFactory, keys: tuple[tuple[int, ...], ...]) -> KernelFactory:
    """Return a plan that processes bounded inputs part by part if they do not fit into memory.

    A kernel without key columns stays as it is: all of its rows must fit into memory.
    """
    return ByPartsFactory(factory, keys) if isinstance(factory, _BY_PARTS) and all(keys) else factory
