"""Pruning of columns and of fields of rows, down to the connector.

Calcite: `ProjectJoinTransposeRule` and similar rules. Flink: `PushProjectIntoTableSourceScanRule`.

Why: `docs/decisions/0031-pruning-and-reuse-of-plans.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from firesteel.columns.column_types import DataType, RowField, RowType
from firesteel.columns.rex import Call, InputRef, Literal, Rex
from firesteel.common.cases import case
from firesteel.connectors.table_connector import INSERT_ONLY
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.field_uses import Fields, Uses, add_use, path_of, uses_of
from firesteel.table.planner.rel.node_tables import for_each_node
from firesteel.table.planner.rel.projections import with_inputs
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import refs, row_type, transform
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.traits.row_kinds import kinds_of_all

T = TypeVar("T")

Places = dict[int, int]
"""The new positions of the remaining columns, by old position."""

Source = tuple[Rel, Places]
"""A narrowed input of a node and the positions of its columns."""


def prune_columns(roots: Sequence[Rel], is_streaming: bool = True, prunes_ranks: bool = True) -> list[Rel]:
    """Return equivalent plans whose inner nodes have only the columns and fields that are read.

    Columns that only a filter or a join reads leave the plan behind it, where no savepoint relies on its operators.

    Projections determine the columns read; the nodes below are narrowed to them. A node with several consumers has the
    columns that any of them reads, and stays one node.

    Args:
        roots: The plans.
        is_streaming: Whether they run in streaming mode.
        prunes_ranks: Whether a Top-N keeps only columns that are read. One over rows that change keeps all in any case,
            as these are found by their upsert key, or by all of their columns.
    """
    nodes = inputs_first(roots)
    ranks = [node for node in nodes if isinstance(node, rel.Rank)]
    kinds = kinds_of_all(rank.input for rank in ranks) if is_streaming else {}
    whole = {
        id(rank)
        for rank in ranks
        if not (prunes_ranks and rank.is_narrowed is None and kinds.get(rank.input, INSERT_ONLY) == INSERT_ONLY)
    }

    def rule_of(node: Rel) -> tuple[_Needs, _Narrow] | None:
        return None if id(node) in whole else _RULES[type(node)]

    uses: dict[int, Uses] = {id(node): {} for node in nodes}
    for root in roots:
        # The columns of the query itself are the result, whether or not a node reads them.
        _add_all(uses[id(root)], _whole(root))
    # Each node after all that read it, so that its uses are complete when they are passed down.
    for node in reversed(nodes):
        rule = rule_of(node)
        needs = _needs_all(node, uses[id(node)]) if rule is None else rule[0](node, uses[id(node)])
        for child, needed in zip(node.inputs, needs, strict=True):
            _add_all(uses[id(child)], needed)
    narrowed: dict[int, Source] = {}
    for node in nodes:
        found = _narrowed(node, rule_of(node), uses[id(node)], [narrowed[id(child)] for child in node.inputs])
        is_last_reader = isinstance(node, rel.Filter | rel.Join) and not is_streaming
        narrowed[id(node)] = _without_unused(found, uses[id(node)]) if is_last_reader else found
    return [narrowed[id(root)][0] for root in roots]


def _narrowed(node: Rel, rule: tuple[_Needs, _Narrow] | None, uses: Uses, sources: list[Source]) -> Source:
    unchanged = all(new is old for (new, _), old in zip(sources, node.inputs, strict=True))
    if rule is None:
        return (node if unchanged else with_inputs(node, [new for new, _ in sources])), _identity(node)
    slim, places = rule[1](node, uses, sources)
    # The same node, so that plans which share it still do.
    if unchanged and slim.row_type.field_types() == node.row_type.field_types():
        return node, places
    return slim, places


def _without_unused(found: Source, uses: Uses) -> Source:
    node, places = found
    chosen = sorted(uses) or sorted(places)[:1]
    if len(chosen) == len(places):
        return found
    columns = refs(node.row_type)
    kept = [places[old] for old in chosen]
    kind = _row_type(node.row_type, kept, [columns[i].type for i in kept])
    return rel.Project(node, tuple(columns[i] for i in kept), kind), {old: new for new, old in enumerate(chosen)}


def _identity(node: Rel) -> Places:
    return {i: i for i in range(len(node.row_type))}


def _whole(node: Rel) -> Uses:
    return dict.fromkeys(range(len(node.row_type)))


def _add_all(uses: Uses, others: Uses) -> None:
    for index, fields in others.items():
        add_use(uses, index, fields)


def _needs_all(node: Rel, uses: Uses) -> list[Uses]:
    return [_whole(child) for child in node.inputs]


def _used(*parts: Uses) -> Uses:
    found: Uses = {}
    for part in parts:
        _add_all(found, part)
    return found


def _moved(rex: Rex, source: Rel, places: Places) -> Rex:
    """Return an expression over a narrowed input."""

    def change(part: Rex) -> Rex | None:
        if isinstance(part, InputRef):
            index = places[part.index]
            return InputRef(index, _like(part.type, source.row_type.fields[index].data_type))
        if isinstance(part, Call) and path_of(part) is not None:
            row, name = part.operands
            inner = _moved(row, source, places)
            assert isinstance(inner.type, RowType)
            assert isinstance(name, Literal)
            field = inner.type.fields[inner.type.names.index(name.value)]
            return Call("DOT", (inner, name), _like(part.type, field.data_type))
        return None

    return transform(rex, change)


def _like(kind: DataType, narrowed: DataType) -> DataType:
    """Return the type of a column whose input was narrowed: rows have fewer fields, other types are unchanged."""
    return narrowed.with_nullable(kind.is_nullable) if isinstance(kind, RowType) else kind


def _row_type(kind: RowType, chosen: Sequence[int], types: Sequence[DataType]) -> RowType:
    """Return the chosen columns of a row type, of which rows have the fields of other types."""
    found = [_like(kind.fields[i].data_type, new) for i, new in zip(chosen, types, strict=True)]
    return row_type([kind.names[i] for i in chosen], found)


def _chosen(uses: Uses, node: Rel) -> list[int]:
    """Return the used columns of a node in order, or its first one if there are none."""
    return sorted(uses) or list(range(len(node.row_type)))[:1]


def _by_place(places: Places) -> list[int]:
    return sorted(places, key=lambda old: places[old])


def _project_needs(node: rel.Project, uses: Uses) -> list[Uses]:
    found: Uses = {}
    for index in _chosen(uses, node):
        uses_of(node.expressions[index], found, uses.get(index))
    return [found]


def _project(node: rel.Project, uses: Uses, sources: list[Source]) -> Source:
    chosen = _chosen(uses, node)
    source, places = sources[0]
    expressions = tuple(_moved(node.expressions[i], source, places) for i in chosen)
    kind = _row_type(node.row_type, chosen, [rex.type for rex in expressions])
    return rel.Project(source, expressions, kind), {old: new for new, old in enumerate(chosen)}


def _scan(node: rel.TableScan, uses: Uses, sources: list[Source]) -> Source:
    if node.metadata or not node.columns:
        return node, _identity(node)
    kept = set(_chosen(uses, node))
    if node.source.kinds != INSERT_ONLY:  # changes are related by the primary key
        kept |= {i for i, name in enumerate(node.row_type.names) if name in node.table.primary_key}
    chosen = sorted(kept)
    types = [node.row_type.fields[i].data_type for i in chosen]
    if getattr(node.source, "reads_fields", False):
        types = [_only(kind, uses.get(i)) for i, kind in zip(chosen, types, strict=True)]
    slim = replace(
        node, columns=tuple(node.columns[i] for i in chosen), row_type=_row_type(node.row_type, chosen, types)
    )
    return slim, {old: new for new, old in enumerate(chosen)}


def _only(kind: DataType, fields: Fields) -> DataType:
    """Return a row type with the used fields, in their order; all if `fields` is None."""
    if fields is None or not isinstance(kind, RowType):
        return kind
    return RowType(
        [RowField(f.name, _only(f.data_type, fields[f.name]), f.description) for f in kind.fields if f.name in fields],
        kind.is_nullable,
    )


def _filter_needs(node: rel.Filter, uses: Uses) -> list[Uses]:
    return [_used(uses, uses_of(node.condition, {}))]


def _filter(node: rel.Filter, uses: Uses, sources: list[Source]) -> Source:
    source, places = sources[0]
    return rel.Filter(source, _moved(node.condition, source, places)), places


def _watermark_needs(node: rel.AssignWatermark, uses: Uses) -> list[Uses]:
    return [_used(uses, uses_of(node.expression, {}), {node.column: None})]


def _watermark(node: rel.AssignWatermark, uses: Uses, sources: list[Source]) -> Source:
    source, places = sources[0]
    kind = _row_type(node.row_type, _by_place(places), source.row_type.field_types())
    return rel.AssignWatermark(source, places[node.column], _moved(node.expression, source, places), kind), places


def _window_needs(node: rel.WindowTableFunction, uses: Uses) -> list[Uses]:
    width, window = len(node.input.row_type), node.window
    below = {i: fields for i, fields in uses.items() if i < width}
    return [_used(below, dict.fromkeys((window.time, *window.partition)))]


def _window_table(node: rel.WindowTableFunction, uses: Uses, sources: list[Source]) -> Source:
    width, window = len(node.input.row_type), node.window
    source, places = sources[0]
    chosen = [*_by_place(places), width, width + 1, width + 2]
    types = [*source.row_type.field_types(), *node.row_type.field_types()[width:]]
    moved = replace(window, time=places[window.time], partition=tuple(places[i] for i in window.partition))
    slim = rel.WindowTableFunction(source, moved, _row_type(node.row_type, chosen, types))
    return slim, {old: new for new, old in enumerate(chosen)}


def _join_needs(node: rel.Join, uses: Uses) -> list[Uses]:
    width = len(node.left.row_type)
    both = uses if node.condition is None else _used(uses, uses_of(node.condition, {}))
    left = {i: fields for i, fields in both.items() if i < width}
    right = {i - width: fields for i, fields in both.items() if i >= width}
    return [_used(left, dict.fromkeys(node.left_keys)), _used(right, dict.fromkeys(node.right_keys))]


def _join(node: rel.Join, uses: Uses, sources: list[Source]) -> tuple[rel.Join, Places]:
    (left, on_left), (right, on_right) = sources
    width, start = len(node.left.row_type), len(left.row_type)
    places = on_left | {width + old: start + new for old, new in on_right.items()}
    both = row_type(
        [*left.row_type.names, *right.row_type.names], [*left.row_type.field_types(), *right.row_type.field_types()]
    )
    visible = on_left if node.kind in ("SEMI", "ANTI") else places
    chosen = _by_place(visible)
    slim = replace(
        node,
        left=left,
        right=right,
        left_keys=tuple(on_left[i] for i in node.left_keys),
        right_keys=tuple(on_right[i] for i in node.right_keys),
        condition=None if node.condition is None else _moved(node.condition, rel.Values((), both), places),
        row_type=_row_type(node.row_type, chosen, both.field_types()[: len(chosen)]),
    )
    return slim, visible


def _interval_needs(node: rel.IntervalJoin, uses: Uses) -> list[Uses]:
    left, right = _join_needs(node.join, uses)
    return [_used(left, {node.left_time: None}), _used(right, {node.right_time: None})]


def _interval_join(node: rel.IntervalJoin, uses: Uses, sources: list[Source]) -> Source:
    slim, places = _join(node.join, uses, sources)
    (_, on_left), (_, on_right) = sources
    return replace(node, join=slim, left_time=on_left[node.left_time], right_time=on_right[node.right_time]), places


def _rank_needs(node: rel.Rank, uses: Uses) -> list[Uses]:
    below = {i: fields for i, fields in uses.items() if i < len(node.input.row_type)}
    return [_used(below, dict.fromkeys((*node.partition, *(by.index for by in node.order), *(node.window or ()))))]


def _rank(node: rel.Rank, uses: Uses, sources: list[Source]) -> Source:
    width = len(node.input.row_type)
    source, places = sources[0]
    chosen = [*_by_place(places), *range(width, len(node.row_type))]
    types = [*source.row_type.field_types(), *node.row_type.field_types()[width:]]
    slim = replace(
        node,
        input=source,
        partition=tuple(places[i] for i in node.partition),
        order=tuple(replace(by, index=places[by.index]) for by in node.order),
        window=None if node.window is None else (places[node.window[0]], places[node.window[1]]),
        row_type=_row_type(node.row_type, chosen, types),
        is_narrowed=source.row_type.field_types() != node.input.row_type.field_types(),
    )
    return slim, {old: new for new, old in enumerate(chosen)}


_Needs = Callable[[object, Uses], list[Uses]]
_Narrow = Callable[[object, Uses, list[Source]], Source]


def _rule(
    kind: type[T], needs: Callable[[T, Uses], list[Uses]], narrow: Callable[[T, Uses, list[Source]], Source]
) -> tuple[type, tuple[_Needs, _Narrow]]:
    return kind, (case(kind, needs)[1], case(kind, narrow)[1])


_WHOLE = (
    rel.StreamScan,  # The program makes its rows.
    rel.Values,
    # A projection below has left out what they do not read.
    rel.Aggregate,
    rel.WindowAggregate,
    rel.Expand,
    rel.SetOperation,  # It compares whole rows.
    # Their inputs could have fewer columns, if their state did not have all in savepoints.
    rel.TemporalJoin,
    rel.LookupJoin,
    rel.WindowJoin,
    rel.Correlate,
    rel.Union,
    rel.Sort,
    rel.Over,
    rel.Match,
)
"""Nodes that have all columns of their inputs."""

_RULES: dict[type, tuple[_Needs, _Narrow] | None] = for_each_node(
    "which columns of its inputs it needs",
    [
        *((kind, None) for kind in _WHOLE),
        _rule(rel.Project, _project_needs, _project),
        _rule(rel.TableScan, _needs_all, _scan),
        _rule(rel.Filter, _filter_needs, _filter),
        _rule(rel.AssignWatermark, _watermark_needs, _watermark),
        _rule(rel.WindowTableFunction, _window_needs, _window_table),
        _rule(rel.Join, _join_needs, _join),
        _rule(rel.IntervalJoin, _interval_needs, _interval_join),
        _rule(rel.Rank, _rank_needs, _rank),
    ],
)
"""The uses of the inputs of a node by those of its columns, and the node over narrowed inputs; None: it needs all."""
