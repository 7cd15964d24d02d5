"""Rewrite rules of relational algebra: for correctness (Top-N) and speed (fewer columns, merged projections)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from firesteel.columns.column_types import BigIntType, BooleanType, IntType
from firesteel.columns.rex import Call, InputRef, Literal, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import filtered, with_inputs
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import conjuncts, inline, input_refs, is_repeatable, refs, walk
from firesteel.table.planner.rel.window_columns import window_columns
from firesteel.table.planner.rules.broadcast import broadcast_up_to
from firesteel.table.planner.rules.derived_conditions import derive_conditions
from firesteel.table.planner.rules.empty import prune_empty
from firesteel.table.planner.rules.join_kinds import interval_join, lookup_join, window_join
from firesteel.table.planner.rules.join_order import avoid_cross_products, order_by_rows
from firesteel.table.planner.rules.outer_joins import narrow_outer_join
from firesteel.table.planner.rules.partition_pruning import push_partitions_into_scan
from firesteel.table.planner.rules.prune import prune_columns
from firesteel.table.planner.rules.push_filters import (
    copy_key_conditions,
    filter_partitions,
    push_filter,
    push_join_condition,
)
from firesteel.table.planner.rules.push_semi_joins import push_semi_joins
from firesteel.table.planner.rules.reuse import share_subplans
from firesteel.table.planner.rules.scan_conditions import push_condition_into_scan
from firesteel.table.planner.rules.simplify import simplify_filter, simplify_join
from firesteel.table.planner.rules.split_watermarks import push_watermark_into_scan
from firesteel.table.planner.rules.subqueries import remove_subqueries

Rule = Callable[[Rel, bool], Rel]
"""(node, whether the plan runs in streaming mode) -> the node, rewritten where the rule applies."""

_RANKINGS = frozenset({"ROW_NUMBER", "RANK", "DENSE_RANK"})


def optimize(node: Rel, is_streaming: bool) -> Rel:
    """Apply the rewrite rules and return the optimized plan of one query; see `optimize_all`."""
    return optimize_all([node], is_streaming)[0]


def optimize_all(
    nodes: Sequence[Rel],
    is_streaming: bool,
    reuses: bool = True,
    reorders: bool = False,
    broadcast_bytes: int = -1,
    prunes_ranks: bool = True,
) -> list[Rel]:
    """Apply the rewrite rules and return the optimized plans of the queries of a job.

    Args:
        nodes: The roots of the plans.
        is_streaming: Whether the plans run in streaming mode; only then does a filter on a row number become a Top-N.
        reorders: Whether joins are ordered by statistics (`table.optimizer.join-reorder-enabled`).
        reuses: Whether equal subplans become one (`table.optimizer.reuse-sub-plan-enabled`).
        broadcast_bytes: The size of an input up to which it is broadcast (`table.optimizer.join.broadcast-threshold`).
        prunes_ranks: Whether a Top-N keeps only columns that are read (`table.optimizer.prune-top-n-enabled`).
    """
    # Subqueries first: only the joins that they become tell which columns are time attributes.
    joined = _rewrite_all(remove_subqueries(nodes, is_streaming), is_streaming, _JOIN_KINDS)
    rules = (order_by_rows if reorders else avoid_cross_products, *_RULES, push_semi_joins())
    rewritten = _rewrite_all(_rewrite_all(joined, is_streaming, _DERIVATIONS), is_streaming, rules)
    pruned = prune_columns(share_subplans(rewritten) if reuses else rewritten, is_streaming, prunes_ranks)
    # Not for streams, whose savepoints rely on the operators of their plans.
    of_batch = () if is_streaming else (merge_projects, broadcast_up_to(broadcast_bytes))
    pushed = _rewrite_all(pruned, is_streaming, (*_LAST_RULES, *of_batch))
    return share_subplans(pushed) if reuses else pushed


def _rewrite_all(nodes: Sequence[Rel], is_streaming: bool, rules: tuple[Rule, ...]) -> list[Rel]:
    memo: dict[int, tuple[Rel, Rel]] = {}
    return [_rewrite(node, is_streaming, rules, memo) for node in nodes]


def _rewrite(node: Rel, is_streaming: bool, rules: tuple[Rule, ...], memo: dict[int, tuple[Rel, Rel]]) -> Rel:
    known = memo.get(id(node))
    if known is not None:
        return known[1]
    result = node
    for rule in rules:
        # Before the inputs, so that one pass moves a filter down the whole plan; after them for what they have become.
        result = rule(result, is_streaming)
    inputs = [_rewrite(child, is_streaming, rules, memo) for child in result.inputs]
    if any(new is not old for new, old in zip(inputs, result.inputs, strict=True)):
        result = with_inputs(result, inputs)
    for rule in rules:
        result = rule(result, is_streaming)
    # With the node, as an id may be given to another node once it is gone. A shared node is rewritten once, and stays
    # shared.
    memo[id(node)] = (node, result)
    return result


def merge_projects(node: Rel, is_streaming: bool) -> Rel:
    """Merge two stacked projections, unless that would compute an expression twice."""
    while isinstance(node, rel.Project) and isinstance(node.input, rel.Project):
        inner = node.input
        if not _mergeable(node.expressions, inner.expressions):
            return node
        expressions = tuple(inline(rex, inner.expressions) for rex in node.expressions)
        node = replace(node, input=inner.input, expressions=expressions)
    return node


def filter_below_project(node: Rel, is_streaming: bool) -> Rel:
    """Push a filter below a projection, so that one operator does both.

    The projection computes its columns again, so the filter must not read any whose second value may differ.
    """
    if not (isinstance(node, rel.Filter) and isinstance(node.input, rel.Project)):
        return node
    inner = node.input
    # Above OVER the filter stays for `top_n`, which looks for it over the projection.
    if isinstance(inner.input, rel.Over) or not _mergeable((node.condition,), inner.expressions):
        return node
    if not _reads_repeatable(node.condition, inner.expressions):
        return node
    condition = inline(node.condition, inner.expressions)
    source: Rel = inner.input
    if isinstance(source, rel.Filter):
        parts = [*conjuncts(source.condition), *conjuncts(condition)]
        return replace(inner, input=filtered(source.input, parts))
    return replace(inner, input=rel.Filter(source, condition))


def _mergeable(outer: tuple[Rex, ...], inner: tuple[Rex, ...]) -> bool:
    counts = [0] * len(inner)
    for rex in outer:
        for part in walk(rex):
            if isinstance(part, InputRef):
                counts[part.index] += 1
    cheap = (InputRef, Literal)
    return all(count <= 1 or isinstance(rex, cheap) for count, rex in zip(counts, inner, strict=True))


def _reads_repeatable(condition: Rex, expressions: tuple[Rex, ...]) -> bool:
    return all(is_repeatable(expressions[index]) for index in input_refs(condition))


def top_n(node: Rel, is_streaming: bool) -> Rel:
    """Convert a filter on a row number over partitions to a Top-N. Flink: `FlinkLogicalRankRule`."""
    if not isinstance(node, rel.Filter):
        return node
    project = node.input if isinstance(node.input, rel.Project) else None
    over = project.input if project is not None else node.input
    if not isinstance(over, rel.Over) or len(over.groups) != 1 or len(over.groups[0].calls) != 1:
        return node
    group = over.groups[0]
    call = group.calls[0]
    if call.function not in _RANKINGS or not group.order:
        return node
    columns = refs(over.row_type) if project is None else project.expressions
    start, end, rest, above = _split_by_rank(node.condition, columns, len(over.input.row_type))
    if end is None:
        return node
    # `n > 5 AND n < 3`: no kernel takes such a range, and there are no rows.
    if end < start:
        return rel.Filter(node.input, Literal(False, BooleanType(False)))
    found = window_columns(over.input)
    window = found[:2] if found is not None and found[0] in group.partition and found[1] in group.partition else None
    rank = rel.Rank(
        over.input, str(call.function), group.partition, group.order, start, end, True, over.row_type, window
    )
    result = filtered(rank, rest)
    if project is not None:
        result = replace(project, input=result)
    return filtered(result, above)


def _split_by_rank(condition: Rex, columns: tuple[Rex, ...], rank: int) -> tuple[int, int | None, list[Rex], list[Rex]]:
    """Return the first and last rank that a condition allows, and its other parts: below a projection, and above it.

    Args:
        condition: A condition over the columns of the projection.
        columns: The projection.
        rank: The column with the rank, below the projection.
    """
    start, end = 1, None
    rest: list[Rex] = []
    above: list[Rex] = []
    for part in conjuncts(condition):
        below = inline(part, columns)
        bound = _rank_bound(below, rank)
        if bound is None:
            # Below the projection its columns are computed a second time.
            is_below = _reads_repeatable(part, columns)
            (rest if is_below else above).append(below if is_below else part)
            continue
        low, high = bound
        if isinstance(below, Call) and below.function == "IN":
            rest.append(below)  # it leaves out some ranks between the bounds
        start = max(start, low or 1)
        end = high if end is None else end if high is None else min(end, high)
    return start, end, rest, above


def _rank_bound(part: object, rank: int) -> tuple[int | None, int | None] | None:
    """Return the first and last rank that satisfy a condition on the rank column."""
    if isinstance(part, Call) and part.function == "IN":
        return _bound_of_list(part, rank)
    if not (isinstance(part, Call) and part.function in ("=", "<", "<=", ">", ">=")):
        return None
    a, b = (_uncast(operand) for operand in part.operands)
    operator = part.function
    if isinstance(a, Literal):
        a, b = b, a
        operator = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}.get(operator, operator)
    if not (isinstance(a, InputRef) and a.index == rank and isinstance(b, Literal) and isinstance(b.value, int)):
        return None
    number = b.value
    return {
        "=": (number, number),
        "<": (None, number - 1),
        "<=": (None, number),
        ">": (number + 1, None),
        ">=": (number, None),
    }[operator]


def _bound_of_list(part: Call, rank: int) -> tuple[int, int] | None:
    """Return the first and last rank of a list of constants."""
    column, *values = map(_uncast, part.operands)
    numbers = [one.value for one in values if isinstance(one, Literal) and isinstance(one.value, int)]
    is_rank = isinstance(column, InputRef) and column.index == rank
    return (min(numbers), max(numbers)) if is_rank and len(numbers) == len(values) else None


def _uncast(rex: Rex) -> Rex:
    # Only to types with room for all ranks: as a TINYINT, rank 256 is 0; as a BOOLEAN, all ranks are TRUE.
    if isinstance(rex, Call) and rex.function == "CAST" and isinstance(rex.type, IntType | BigIntType):
        return rex.operands[0]
    return rex


def drop_rank_number(node: Rel, is_streaming: bool) -> Rel:
    """Drop an unused rank column of a Top-N, which reduces its updates."""
    if not isinstance(node, rel.Project):
        return node
    condition = node.input.condition if isinstance(node.input, rel.Filter) else None
    rank = node.input.input if isinstance(node.input, rel.Filter) else node.input
    if not isinstance(rank, rel.Rank) or not rank.outputs_rank:
        return node
    number = len(rank.row_type) - 1
    if rank.start == rank.end == 1 and rank.function == "ROW_NUMBER":  # the rank is always 1
        one = Literal(1, rank.row_type.fields[number].data_type)
        expressions = tuple(inline(e, (*refs(rank.row_type)[:number], one)) for e in node.expressions)
        condition = None if condition is None else inline(condition, (*refs(rank.row_type)[:number], one))
        node = replace(node, expressions=expressions)
    used = {i for rex in (*node.expressions, *(() if condition is None else (condition,))) for i in input_refs(rex)}
    if number in used:
        return node
    plain = replace(rank, outputs_rank=False, row_type=rank.input.row_type)
    return replace(node, input=plain if condition is None else rel.Filter(plain, condition))


_JOIN_KINDS = (window_join, interval_join, lookup_join)
"""Rules for plans whose types are known: the others know a join by its node, and keep apart what bounds its state."""
_DERIVATIONS = (simplify_filter, simplify_join, derive_conditions, copy_key_conditions)
"""Rules that add conditions: a pass of their own, as what they add would be added again once others have moved it."""
_RULES = (
    merge_projects,
    simplify_filter,
    simplify_join,
    filter_partitions,
    top_n,
    filter_below_project,
    narrow_outer_join,
    push_filter,
    push_join_condition,
    merge_projects,
    drop_rank_number,
    push_partitions_into_scan,
    push_condition_into_scan,
    prune_empty,
)
_LAST_RULES = (push_watermark_into_scan,)
"""Rules for plans whose columns have been pruned."""
