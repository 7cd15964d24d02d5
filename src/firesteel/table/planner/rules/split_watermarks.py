"""Watermarks that a source generates per split. Flink: `PushWatermarkIntoTableSourceScanRule`.

The watermark of a subtask is then the smallest one of its splits: a partition that is behind the others has no late
rows, and one without rows holds windows back until it counts as idle.

Why: `docs/decisions/0035-watermarks-of-splits-in-sql.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.evaluate import CompiledRex, compile_rex
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.kernel import MIN_WATERMARK
from firesteel.columns.rex import Rex, UserCall
from firesteel.columns.settings import QuerySettings
from firesteel.columns.value_text import time_zone
from firesteel.common.options.table_options import TABLE_SOURCE_IDLE_TIMEOUT
from firesteel.common.time import Duration
from firesteel.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import inline, is_repeatable, walk
from firesteel.table.table_config import TableConfig


def push_watermark_into_scan(node: Rel, is_streaming: bool) -> Rel:
    """Move watermarks into a scan whose source has watermarks per split."""
    if not isinstance(node, rel.AssignWatermark):
        return node
    project = node.input if isinstance(node.input, rel.Project) else None
    scan = node.input if project is None else project.input
    if not isinstance(scan, rel.TableScan) or not getattr(scan.source, "has_watermarks_per_split", False):
        return node
    expression = node.expression if project is None else inline(node.expression, project.expressions)
    # A source's reader has no context with which the function of a user could be opened.
    if not is_repeatable(expression) or any(isinstance(part, UserCall) for part in walk(expression)):
        return node
    if project is None:
        return replace(scan, watermark=expression, row_type=node.row_type)
    return replace(project, input=replace(scan, watermark=expression), row_type=node.row_type)


def idle_timeout_ms(config: TableConfig) -> int:
    """Return after how many ms without rows a source or partition no longer holds back watermarks; 0 means never."""
    return round(config.get_configuration().get(TABLE_SOURCE_IDLE_TIMEOUT) * 1000)


def watermark_strategy(scan: rel.TableScan, settings: QuerySettings, config: TableConfig) -> WatermarkStrategy | None:
    """Return the strategy of a scan's splits, None if it has no watermarks."""
    if scan.watermark is None:
        return None
    # Of ascending timestamps, the watermark is the largest one minus 1 ms.
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    strategy = strategy.with_timestamp_assigner(BatchTimestamps(scan.watermark, settings))
    idle_ms = idle_timeout_ms(config)
    return strategy.with_idleness(Duration.of_millis(idle_ms)) if idle_ms > 0 else strategy


@dataclass(frozen=True)
class BatchTimestamps(TimestampAssigner):
    """The timestamp of a column batch: the largest watermark of its rows plus 1 ms.

    Attributes:
        expression: The watermark of a row.
        settings: The settings of the query.
    """

    expression: Rex
    settings: QuerySettings

    @cached_property
    def _watermarks(self) -> CompiledRex:
        settings = self.settings
        zone = time_zone(settings.time_zone)
        return compile_rex(self.expression, EvaluationContext(zone, True, settings.query_start_us))

    def extract_timestamp(self, value: ColumnBatch, record_timestamp: int) -> int:
        """Return the timestamp in ms, the smallest one if all watermarks are NULL."""
        latest = pc.max(self._watermarks(value).cast(pa.int64())).as_py()
        return MIN_WATERMARK if latest is None else latest // 1000 + 1

    def __reduce__(self) -> tuple[type[BatchTimestamps], tuple[Rex, QuerySettings]]:
        """Pickle without the compiled expression."""
        return BatchTimestamps, (self.expression, self.settings)
