"""Correlated filters of a subquery pulled up to the join with the query around. Galindo-Legaria and Joshi 2001."""

from __future__ import annotations

from dataclasses import dataclass, replace

from firesteel.columns.column_types import DoubleType, FloatType
from firesteel.columns.rex import Call, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.outer_refs import is_correlated
from firesteel.table.planner.rel.projections import extended
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
    conjunction,
    conjuncts,
    input_refs,
    refs,
    remap,
    row_type,
    unique_names,
)


@dataclass(frozen=True, slots=True)
class Pulled:
    """A subquery without its correlated filters.

    Attributes:
        node: It has the columns of the subquery, and after them those that the conditions read.
        conditions: The filters, over the columns of `node` and `OuterRef`s.
    """

    node: Rel
    conditions: list[Rex]


def pull_filters(node: Rel, level: int) -> Pulled | None:
    """Return a subquery without references to the query at a level, None: they are not in filters that can be pulled.

    A filter is pulled through a node if the node gives the same rows for an outer row when it sees the rows that all
    outer rows need. A limit or a count does not, for example.
    """
    if not is_correlated(node, level):
        return Pulled(node, [])
    match node:
        case rel.Filter():
            return _filter(node, level)
        case rel.Project():
            return _project(node, level)
        case rel.Aggregate() | rel.WindowAggregate():
            return _aggregate(node, level)
        case rel.Join() if not node.keeps_times:
            return _join(node, level)
        case rel.Sort():
            return _sort(node, level)
    return None


def key_of(condition: Rex, level: int) -> tuple[Rex, Rex] | None:
    """Return the outer and the inner value that a condition equates, None: it is not such a condition.

    Floating-point numbers that are equal may be of different groups (0.0 and -0.0).
    """
    if not (isinstance(condition, Call) and condition.function == "=" and len(condition.operands) == 2):
        return None
    for outer, inner in (condition.operands, condition.operands[::-1]):
        is_apart = not input_refs(outer) and input_refs(inner) and not is_correlated(inner, level)
        if is_apart and not isinstance(inner.type, DoubleType | FloatType):
            return outer, inner
    return None


def _filter(node: rel.Filter, level: int) -> Pulled | None:
    below = pull_filters(node.input, level)
    if below is None:
        return None
    parts = conjuncts(node.condition)
    kept = conjunction([part for part in parts if not is_correlated(part, level)])
    pulled = [part for part in parts if is_correlated(part, level)]
    return Pulled(below.node if kept is None else rel.Filter(below.node, kept), below.conditions + pulled)


def _project(node: rel.Project, level: int) -> Pulled | None:
    below = pull_filters(node.input, level)
    if below is None or is_correlated(node.expressions, level):
        return None
    own, places = len(node.expressions), _read(below)
    columns = [refs(below.node.row_type)[i] for i in places]
    names = unique_names([*node.row_type.names, *(f"$cor{own + i}" for i in range(len(columns)))])
    kind = row_type(names, [*node.row_type.field_types(), *(column.type for column in columns)])
    project = rel.Project(below.node, (*node.expressions, *columns), kind)
    return Pulled(project, _moved(below, {old: own + new for new, old in enumerate(places)}))


def _aggregate(node: rel.Grouped, level: int) -> Pulled | None:
    """Group by the values that outer rows are compared with, too; without keys there is a row even for no rows."""
    has_groups = isinstance(node, rel.WindowAggregate) or (node.keys and not node.flat)
    return pull_keys(node, level) if has_groups else None


def pull_keys(node: rel.Grouped, level: int) -> Pulled | None:
    """Return an aggregate that is grouped by the inner values of its correlated equations, as its last columns."""
    below = pull_filters(node.input, level)
    if below is None:
        return None
    pairs = [pair for condition in below.conditions if (pair := key_of(condition, level)) is not None]
    # Only equations make groups: for `inner < outer` each outer row has other rows in its group.
    if len(pairs) < len(below.conditions):
        return None
    values = [inner for _, inner in pairs]
    source = extended(below.node, values, "$cor")
    width = len(below.node.row_type)
    grouped = with_keys(node, source, tuple(range(width, width + len(values))))
    own = len(node.row_type)
    columns = refs(grouped.row_type)[own:]
    equal = zip(below.conditions, pairs, columns, strict=True)
    conditions: list[Rex] = [Call("=", (outer, column), condition.type) for condition, (outer, _), column in equal]
    return Pulled(grouped, conditions)


def with_keys(node: rel.Grouped, source: Rel, keys: tuple[int, ...]) -> Rel:
    """Return an aggregate over another input with more keys, which are its last columns."""
    types = [source.row_type.fields[key].data_type for key in keys]
    own, before = len(node.row_type), len(node.keys)
    names, kinds = node.row_type.names, node.row_type.field_types()
    added = [f"$cor{own + i}" for i in range(len(keys))]
    kind = row_type(
        unique_names([*names[:before], *added, *names[before:]]), [*kinds[:before], *types, *kinds[before:]]
    )
    grouped = replace(node, input=source, keys=(*node.keys, *keys), row_type=kind)
    after = before + len(keys)
    return picked(grouped, [*range(before), *range(after, after + own - before), *range(before, after)])


def picked(node: Rel, indexes: list[int]) -> Rel:
    """Return the columns of a node at these indexes."""
    if indexes == list(range(len(node.row_type))):
        return node
    columns = tuple(refs(node.row_type)[i] for i in indexes)
    names = unique_names([node.row_type.names[i] for i in indexes])
    return rel.Project(node, columns, row_type(names, [column.type for column in columns]))


def _join(node: rel.Join, level: int) -> Pulled | None:
    """An inner join pulls from both inputs and its condition, others from the input all of whose rows they keep."""
    inner = node.kind == "INNER"
    if node.kind not in ("INNER", "LEFT", "SEMI", "ANTI"):
        return None
    parts = [] if node.condition is None else conjuncts(node.condition)
    # An outer join keeps left rows without a match; a condition that is pulled above it would leave them out.
    if not inner and (is_correlated(node.right, level) or is_correlated(node.condition, level)):
        return None
    left, right = pull_filters(node.left, level), pull_filters(node.right, level)
    if left is None or right is None:
        return None
    width, start = len(node.left.row_type), len(left.node.row_type)
    more = len(right.node.row_type) - len(node.right.row_type)
    kept = conjunction([part for part in parts if not is_correlated(part, level)])

    def move(index: int) -> int:
        return index if index < width else index - width + start

    joined = _with_sides(node, left.node, right.node, None if kept is None else remap(kept, move))
    own = len(node.row_type)
    order = [move(i) for i in range(own)] + list(range(width, start))
    order += range(start + len(node.right.row_type), start + len(node.right.row_type) + more)
    conditions = [
        *left.conditions,
        *(remap(part, lambda i: i + start) for part in right.conditions),
        *(remap(part, move) for part in parts if is_correlated(part, level)),
    ]
    places = {old: new for new, old in enumerate(order)}
    return Pulled(picked(joined, order), [remap(part, places.__getitem__) for part in conditions])


def _with_sides(node: rel.Join, left: Rel, right: Rel, condition: Rex | None) -> rel.Join:
    """Return a join over inputs with more columns."""
    right_types = right.row_type.field_types()
    if node.kind == "LEFT":
        right_types = [kind.nullable() for kind in right_types]
    kind = left.row_type
    if node.kind in ("INNER", "LEFT"):
        names = unique_names([*left.row_type.names, *right.row_type.names])
        kind = row_type(names, [*left.row_type.field_types(), *right_types])
    return replace(node, left=left, right=right, condition=condition, row_type=kind)


def _sort(node: rel.Sort, level: int) -> Pulled | None:
    """The order of a subquery's rows has no meaning without a limit."""
    return pull_filters(node.input, level) if node.fetch is None and not node.offset else None


def _read(below: Pulled) -> list[int]:
    return sorted({index for part in below.conditions for index in input_refs(part)})


def _moved(below: Pulled, places: dict[int, int]) -> list[Rex]:
    return [remap(part, places.__getitem__) for part in below.conditions]
