"""Order of inner joins. Calcite: `LoptOptimizeJoinRule`.

The order is that of the query, as in Flink by default. It only changes where the query joins inputs that no equation
connects, although another order would. With `table.optimizer.join-reorder-enabled` the next input is the one that makes
the fewest rows. Joins with a condition such as RAND() < 0.5 stay where they are, as it would be drawn for other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from math import prod
from typing import TypeGuard

from firesteel.columns.rex import Call, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.equi_joins import condition_parts, inner_join
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
    conjuncts,
    inline,
    input_refs,
    is_deterministic,
    is_repeatable,
    refs,
    remap,
    row_type,
    unique_names,
)
from firesteel.table.planner.rules.cardinality import Estimates, selectivity, shared_keys

__all__ = ["avoid_cross_products", "order_by_rows"]


@dataclass(slots=True)
class _Joined:
    """Inner joins taken apart. Expressions are over the columns of all inputs, one after the other.

    Attributes:
        inputs: The inputs, in the order of the query.
        parts: The conditions.
        columns: The expressions of the result.
        crosses: How many of the joins have no equation.
    """

    inputs: list[rel.Rel]
    parts: list[Rex]
    columns: tuple[Rex, ...]
    crosses: int = 0


def avoid_cross_products(node: rel.Rel, is_streaming: bool) -> rel.Rel:
    """Join each input of a chain of inner joins with one to which an equation connects it, where there is one."""
    if not _is_plain(node):
        return node
    joined = _apart(node)
    return _in_order(node, joined, _connected_order) if joined.crosses else node


def order_by_rows(node: rel.Rel, is_streaming: bool) -> rel.Rel:
    """Join the inputs of a chain of inner joins in the order that makes few rows, each connected to those before it."""
    return _in_order(node, _apart(node), _smallest_order) if _is_plain(node) else node


def _in_order(node: rel.Rel, joined: _Joined, order_of: Callable[[_Joined], list[int]]) -> rel.Rel:
    if not all(map(is_deterministic, joined.parts)):
        return node
    order = order_of(joined)
    if order == sorted(order) and _crosses_of(joined, order) == joined.crosses:
        return node
    result, places = _together(joined, order)
    columns = tuple(remap(column, places.__getitem__) for column in joined.columns)
    return rel.Project(result, columns, node.row_type)


def _is_plain(node: rel.Rel) -> TypeGuard[rel.Join]:
    # A join made anew would lose its hint STATE_TTL.
    return isinstance(node, rel.Join) and node.kind == "INNER" and node.state_ttl == (None, None)


def _apart(node: Rel) -> _Joined:
    if _is_plain(node):
        left, right = map(_apart, node.inputs)
        width = sum(len(child.row_type) for child in left.inputs)
        both = (*left.columns, *(remap(column, lambda index: index + width) for column in right.columns))
        moved = [remap(part, lambda index: index + width) for part in right.parts]
        own = [inline(part, both) for part in condition_parts(node)]
        crosses = left.crosses + right.crosses + (not node.left_keys)
        return _Joined([*left.inputs, *right.inputs], [*left.parts, *moved, *own], both, crosses)
    if not _is_chain(node):
        return _Joined([node], [], refs(node.row_type))
    joined = _apart(node.input)
    if isinstance(node, rel.Filter):
        joined.parts += [inline(part, joined.columns) for part in conjuncts(node.condition)]
    else:
        joined.columns = tuple(inline(rex, joined.columns) for rex in node.expressions)
    return joined


def _is_chain(node: Rel) -> TypeGuard[rel.Filter | rel.Project]:
    """Return whether a node filters or projects the rows of inner joins."""
    match node:
        case rel.Project() if all(map(is_repeatable, node.expressions)):
            below = node.input
        case rel.Filter() if is_deterministic(node.condition):
            below = node.input
        case _:
            return False
    return _is_plain(below) or _is_chain(below)


def _columns(joined: _Joined) -> list[set[int]]:
    """Return the columns of each input."""
    starts = zip(_starts(joined.inputs), joined.inputs, strict=True)
    return [set(range(at, at + len(child.row_type))) for at, child in starts]


def _connected_order(joined: _Joined) -> list[int]:
    """Return the inputs in an order in which each is connected to those before it, where the conditions allow it."""
    columns, sides = _columns(joined), _sides(joined)
    order, seen, rest = [0], set(columns[0]), list(range(1, len(columns)))
    while rest:
        # Else the next one of the query: then there is no way around a cross product.
        following = next((one for one in rest if _connects(sides, seen, columns[one])), rest[0])
        rest.remove(following)
        order.append(following)
        seen |= columns[following]
    return order


def _crosses_of(joined: _Joined, order: list[int]) -> int:
    """Return how many joins have no equation in an order."""
    columns, sides = _columns(joined), _sides(joined)
    crosses, seen = 0, columns[order[0]]
    for one in order[1:]:
        crosses += not _connects(sides, seen, columns[one])
        seen = seen | columns[one]
    return crosses


def _sides(joined: _Joined) -> list[tuple[set[int], ...]]:
    """Return the columns on both sides of each equation."""
    return [tuple(map(input_refs, part.operands)) for part in joined.parts if _is_equation(part)]


def _smallest_order(joined: _Joined) -> list[int]:
    """Return the inputs in an order in which each makes the fewest rows with those before it.

    Where several make as many, the order of the query decides.
    """
    estimates = Estimates()
    inputs = [
        _Estimate(frozenset(columns), estimates.row_count(node), estimates.all_rows(node))
        for columns, node in zip(_columns(joined), joined.inputs, strict=True)
    ]
    rest = list(range(len(inputs)))

    def made(seen: _Estimate, others: Iterable[int]) -> tuple[bool, float, int]:
        """Return what the best of other inputs makes, and its number."""
        return min((*_step(joined.parts, seen, inputs[one]), one) for one in others)

    first = min(rest, key=lambda one: (made(inputs[one], (other for other in rest if other != one))[:2], one))
    order, seen = [first], inputs[first]
    while rest := [one for one in rest if one not in order]:
        _, rows, best = made(seen, rest)
        order.append(best)
        seen = _Estimate(seen.columns | inputs[best].columns, rows, max(seen.all_rows, inputs[best].all_rows))
    return order


@dataclass(frozen=True, slots=True)
class _Estimate:
    """Joined inputs: their columns, their rows, and the rows of the largest one without conditions."""

    columns: frozenset[int]
    rows: float
    all_rows: float


def _step(parts: list[Rex], seen: _Estimate, other: _Estimate) -> tuple[bool, float]:
    """Return whether the join of an input with those before it is a cross product, and how many rows it makes."""
    both = seen.columns | other.columns
    ready = [
        part for part in parts if (used := input_refs(part)) <= both and used & other.columns and used & seen.columns
    ]
    keys = [
        part
        for part in ready
        if _is_equation(part) and _connects([tuple(map(input_refs, part.operands))], seen.columns, other.columns)
    ]
    others = (selectivity(part) for part in ready if part not in keys)
    rows = seen.rows * other.rows / (shared_keys(seen.all_rows, other.all_rows) if keys else 1)
    return not keys, rows * prod(others)


def _starts(inputs: list[rel.Rel]) -> list[int]:
    starts = [0]
    for child in inputs[:-1]:
        starts.append(starts[-1] + len(child.row_type))
    return starts


def _is_equation(part: Rex) -> TypeGuard[Call]:
    return isinstance(part, Call) and part.function == "=" and is_deterministic(part)


def _connects(sides: list[tuple[set[int], ...]], seen: Set[int], columns: Set[int]) -> bool:
    return any(a and b and ((a <= seen and b <= columns) or (b <= seen and a <= columns)) for a, b in sides)


def _together(joined: _Joined, order: list[int]) -> tuple[rel.Rel, dict[int, int]]:
    """Return the joins in an order, and the new place of each column."""
    starts, places = _starts(joined.inputs), dict[int, int]()
    node: Rel | None = None
    waiting = list(joined.parts)
    for number in order:
        child = joined.inputs[number]
        width = len(places)
        places |= {starts[number] + i: width + i for i in range(len(child.row_type))}
        if node is None:
            node = child
            continue
        ready = [part for part in waiting if input_refs(part) <= places.keys()]
        waiting = [part for part in waiting if part not in ready]
        fields = [*node.row_type.fields, *child.row_type.fields]
        kind = row_type(unique_names([field.name for field in fields]), [field.data_type for field in fields])
        node = inner_join(node, child, [remap(part, places.__getitem__) for part in ready], kind)
    assert node is not None
    return node, places
