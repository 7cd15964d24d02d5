"""Translation of sources, and of what stands at them: watermarks, changelogs that are not complete."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from firesteel.columns.kernels.calc import WatermarkFactory
from firesteel.columns.kernels.normalize import NormalizeFactory
from firesteel.common.options.table_options import TABLE_CDC_DUPLICATES
from firesteel.common.table_errors import TableException
from firesteel.connectors.table_connector import Batches, ScanRequest
from firesteel.functions.operator_builder import transformation_of
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.description import describe
from firesteel.table.planner.rules.partition_pruning import partition_predicate
from firesteel.table.planner.rules.split_watermarks import idle_timeout_ms, watermark_strategy
from firesteel.table.planner.traits.row_kinds import ALL, normalizes
from firesteel.table.planner.translate.operator_names import describe_named
from firesteel.table.planner.translate.parallelism import scan_with_parallelism
from firesteel.table.planner.translate.plan_parts import types_of
from firesteel.table.planner.translate.values_source import values_stream

if TYPE_CHECKING:
    from firesteel.table.planner.translate.translate import Translator


def table_scan(translator: Translator, node: rel.TableScan) -> Batches:
    """Read a table of a catalog, with all that rules have pushed into the scan."""
    stored = zip(node.columns, node.row_type.field_types(), strict=False)  # rows may have fewer fields
    columns = tuple(replace(node.table.physical_columns[i], type=kind) for i, kind in stored)
    watermarks = watermark_strategy(node, translator.settings, translator.config)
    request = ScanRequest(columns, node.metadata, partition_predicate(node), node.condition, watermarks=watermarks)
    name, description = translator.names.named(translator.names.number(), describe(node), node.table.path[-1])
    stream = node.source.stream(translator.environment, request, name)
    describe_named(transformation_of(stream), None, name, description)
    stream = scan_with_parallelism(translator, node, stream)
    return _normalized(translator, node, stream, node.table.primary_key, ".".join(node.table.path))


def stream_scan(translator: Translator, node: rel.StreamScan) -> Batches:
    """Read a DataStream of the program."""
    return _normalized(translator, node, node.make(translator.environment), node.primary_key, node.name)


def _normalized(
    translator: Translator,
    node: rel.TableScan | rel.StreamScan,
    stream: Batches,
    primary_key: tuple[str, ...],
    name: str,
) -> Batches:
    """Return a full changelog of a source of upserts, or of changes that may come again."""
    may_repeat = translator.kinds(node) == ALL and translator.option(TABLE_CDC_DUPLICATES)
    if not translator.is_streaming or not (normalizes(node) or may_repeat):
        return stream
    if not primary_key:
        raise TableException(
            f"Configuration '{TABLE_CDC_DUPLICATES.key}' is enabled which requires the changelog sources to define "
            f"a PRIMARY KEY. However, table '{name}' doesn't have a primary key."
        )
    keys = tuple(node.row_type.names.index(column) for column in primary_key)
    return translator.operator(
        node, NormalizeFactory(keys, types_of(node), translator.emits_before(node)), stream, keys, "ChangelogNormalize"
    )


def values(translator: Translator, node: rel.Values) -> Batches:
    """Emit the rows of VALUES."""
    name, description = translator.names.named(translator.names.number(), describe(node))
    return values_stream(translator.environment, node, name).set_description(description)


def watermark(translator: Translator, node: rel.AssignWatermark) -> Batches:
    """Emit watermarks by an expression."""
    idle_ms, late = idle_timeout_ms(translator.config), translator.asks_for_late_rows(node)
    factory = WatermarkFactory(node.column, node.expression, translator.settings, idle_ms, late)
    return translator.operator(node, factory, translator.stream(node.input))
