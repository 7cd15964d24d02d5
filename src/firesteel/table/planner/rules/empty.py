"""Removal of parts of a plan that have no rows. Calcite: `PruneEmptyRules`, `AggregateValuesRule`."""

from __future__ import annotations

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.evaluate import CompiledRex
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.rex import Call, Literal, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import conjunction, conjuncts, walk

_TESTS = {f"IS {negation}{value}" for negation in ("", "NOT ") for value in ("NULL", "TRUE", "FALSE", "UNKNOWN")}
_OPERATORS = _TESTS | {"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "AND", "OR", "NOT"}
ONE_ROW = ColumnBatch((), 1)
WITHOUT_ROWS = {"COUNT": 0, "SUM0": 0, "$SUM0": 0, "SUM": None, "AVG": None, "MIN": None, "MAX": None}
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
    if _is_empty(node.input):
        return node.input
    parts = conjuncts(node.condition)
    rest = [part for part in parts if not _is_constant(part)]
    if len(rest) == len(parts):
        return node
    if _is_never_true(parts):
        return _nothing(node)
    condition = conjunction(rest)
    return node.input if condition is None else rel.Filter(node.input, condition)


def _is_never_true(parts: list[Rex]) -> bool:
    """Return whether a condition, which is all of its parts, has a constant part that is FALSE or NULL."""
    return not all(CompiledRex(part, EvaluationContext())(ONE_ROW)[0].as_py() for part in parts if _is_constant(part))


def _is_constant(rex: Rex) -> bool:
    """Return whether an expression consists of operators and literals alone."""
    return all(
        isinstance(part, Literal) or (isinstance(part, Call) and part.function in _OPERATORS) for part in walk(rex)
    )


def _join(node: rel.Join) -> Rel:
    left, right = map(_is_empty, node.inputs)
    if (left and node.kind in ("INNER", "LEFT", "SEMI", "ANTI")) or (right and node.kind in ("INNER", "RIGHT", "SEMI")):
        return _nothing(node)
    if node.kind in ("INNER", "SEMI") and node.condition is not None and _is_never_true(conjuncts(node.condition)):
        return _nothing(node)
    return node.left if right and node.kind == "ANTI" else node


def _aggregate(node: rel.Aggregate) -> Rel:
    """Without keys there is one row, whose values are known for the functions of SQL."""
    if node.keys:
        return _nothing(node)
    if all(call.function in WITHOUT_ROWS for call in node.calls):
        return rel.Values((tuple(WITHOUT_ROWS[str(call.function)] for call in node.calls),), node.row_type)
    return node
