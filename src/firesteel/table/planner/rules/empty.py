"""Removal of parts of a plan that have no rows. Calcite: `PruneEmptyRules`, `AggregateValuesRule`."""

from __future__ import annotations

from firesteel.columns.rex import Literal, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import refs

WITHOUT_ROWS = {"COUNT": 0, "$SUM0": 0, "SUM": None, "AVG": None, "MIN": None, "MAX": None}
"""Results of aggregate functions over no rows."""
_ROW_BY_ROW = (rel.Project, rel.Filter, rel.Sort, rel.Over, rel.Rank, rel.Expand, rel.WindowTableFunction)
"""Nodes that have no rows if their input has none."""


def prune_empty(node: Rel, is_streaming: bool) -> Rel:
    """Return the rows of a node whose conditions or inputs leave none."""
    if isinstance(node, rel.Filter):
        return _filter(node)
    if isinstance(node, rel.Sort) and node.fetch == 0:
        return _nothing(node)
    if isinstance(node, _ROW_BY_ROW):
        return _nothing(node) if _is_empty(node.input) else node
    if isinstance(node, rel.Join):
        return _join(node)
    if isinstance(node, rel.Aggregate) and _is_empty(node.input):
        return _aggregate(node)
    return node


def _nothing(node: Rel) -> rel.Values:
    return rel.Values((), node.row_type)


def _is_empty(node: object) -> bool:
    return isinstance(node, rel.Values) and not node.rows


def _filter(node: rel.Filter) -> Rel:
    return _nothing(node) if _is_empty(node.input) or is_never_true(node.condition) else node


def is_never_true(condition: Rex | None) -> bool:
    """Return whether a simplified condition holds for no row."""
    return isinstance(condition, Literal) and condition.value is not True


def _join(node: rel.Join) -> Rel:
    left, right = map(_is_empty, node.inputs)
    never = is_never_true(node.condition) and not node.null_aware
    if (left and node.kind in ("INNER", "LEFT", "SEMI", "ANTI")) or (right and node.kind in ("INNER", "RIGHT", "SEMI")):
        return _nothing(node)
    if never and node.kind in ("INNER", "SEMI"):
        return _nothing(node)
    if (never or right) and node.kind in ("LEFT", "ANTI"):
        return node.left if node.kind == "ANTI" else _padded(node, node.left, 0)
    if (never or left) and node.kind == "RIGHT":
        return _padded(node, node.right, len(node.left.row_type))
    return node


def _padded(node: rel.Join, rows: Rel, start: int) -> Rel:
    """Return the rows of one input of an outer join, whose columns begin at `start`, with NULL in the others."""
    own = dict(enumerate(refs(rows.row_type), start))
    types = node.row_type.field_types()
    return rel.Project(rows, tuple(own.get(i, Literal(None, kind)) for i, kind in enumerate(types)), node.row_type)


def _aggregate(node: rel.Aggregate) -> Rel:
    """Without keys there is one row, whose values are known for the functions of SQL."""
    if node.keys:
        return _nothing(node)
    if all(call.function in WITHOUT_ROWS for call in node.calls):
        return rel.Values((tuple(WITHOUT_ROWS[str(call.function)] for call in node.calls),), node.row_type)
    return node
