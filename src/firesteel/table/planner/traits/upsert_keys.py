"""By which columns a later row of a query replaces an earlier one (Flink: `FlinkRelMdUpsertKeys`).

Rows of one key must stay in their order. So a key is lost where rows are distributed by columns that are not all part
of it: two rows of the key may then take different ways.
"""

from __future__ import annotations

from firesteel.columns.column_types import BigIntType, CharType, IntType, SmallIntType, TinyIntType, VarCharType
from firesteel.columns.data_type import DataType
from firesteel.columns.rex import Call, InputRef, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.traits.row_kinds import INSERT_ONLY, kinds_of

__all__ = ["joined_key", "pairs_updates", "upsert_key"]

Key = tuple[int, ...]

_INTEGERS: tuple[type[DataType], ...] = (TinyIntType, SmallIntType, IntType, BigIntType)


def upsert_key(node: rel.Rel) -> Key | None:
    """Return the columns by which later rows of a node replace earlier ones, or None if unknown."""
    return _UpsertKeys().of(node)


def joined_key(node: rel.Join, index: int) -> Key | None:
    """Return the columns by which later rows of an input of a join replace earlier ones with the same join key.

    Flink: `inputUniqueKeyContainsJoinKey`.
    """
    return _distributed(upsert_key(node.inputs[index]), (node.left_keys, node.right_keys)[index])


class _UpsertKeys:
    """The upsert keys of the nodes of a plan, each found once."""

    def __init__(self) -> None:
        self._known: dict[rel.Rel, Key | None] = {}

    def of(self, node: rel.Rel) -> Key | None:
        if node not in self._known:
            self._known[node] = self._find(node)
        return self._known[node]

    def _find(self, node: rel.Rel) -> Key | None:
        match node:
            case rel.Project():
                return _projected(node, self.of(node.input))
            case rel.Filter() | rel.AssignWatermark():
                return self.of(node.input)
            case rel.Aggregate():
                return None if node.flat else tuple(range(len(node.keys)))
            case rel.Rank():
                return self._of_rank(node)
            case rel.TableScan():
                return _scan_key(node, node.table.primary_key)
            case rel.StreamScan():
                return _scan_key(node, node.primary_key)
            case rel.Join():
                return self._of_join(node)
            case _:
                return None

    def _of_rank(self, node: rel.Rank) -> Key | None:
        # One row per partition replaces the one before it.
        if node.end == 1:
            return node.partition
        if node.outputs_rank:
            return (*node.partition, len(node.row_type.fields) - 1)
        return _distributed(self.of(node.input), node.partition)

    def _of_join(self, node: rel.Join) -> Key | None:
        left = _distributed(self.of(node.left), node.left_keys)
        if node.kind in ("SEMI", "ANTI"):
            return left
        found = _distributed(self.of(node.right), node.right_keys)
        right = None if found is None else tuple(len(node.left.row_type) + column for column in found)
        # A row meets at most one of a side whose key is compared.
        is_one_right = found is not None and set(found) <= set(node.right_keys)
        if left is not None and is_one_right and node.kind in ("INNER", "LEFT"):
            return left
        is_one_left = left is not None and set(left) <= set(node.left_keys)
        if right is not None and is_one_left and node.kind in ("INNER", "RIGHT"):
            return right
        return (*left, *right) if left is not None and right is not None and node.kind == "INNER" else None


def _projected(node: rel.Project, key: Key | None) -> Key | None:
    if key is None:
        return None
    passed = [_column(expression) for expression in node.expressions]
    # Reversed, so that of a column which is there twice the first place counts.
    places = {column: place for place, column in reversed(list(enumerate(passed))) if column is not None}
    return tuple(places[k] for k in key) if all(k in places for k in key) else None


def _column(expression: Rex) -> int | None:
    """Return the column whose value an expression is, also as another type of the same values."""
    if isinstance(expression, InputRef):
        return expression.index
    if isinstance(expression, Call) and expression.function == "CAST" and len(expression.operands) == 1:
        [operand] = expression.operands
        return _column(operand) if _keeps_values(operand.type, expression.type) else None
    return None


def _keeps_values(old: DataType, new: DataType) -> bool:
    """Return whether a cast gives different values for different values."""
    if isinstance(old, CharType | VarCharType) and isinstance(new, VarCharType):
        return new.length >= old.length
    if type(old) in _INTEGERS and type(new) in _INTEGERS:
        return _INTEGERS.index(type(old)) <= _INTEGERS.index(type(new))
    return new.same_as(old)


def _distributed(key: Key | None, columns: Key) -> Key | None:
    """Return a key of rows that are distributed by columns."""
    return key if key is not None and set(columns) <= set(key) else None


def _scan_key(node: rel.TableScan | rel.StreamScan, names: tuple[str, ...]) -> Key | None:
    present = node.row_type.names
    return tuple(present.index(name) for name in names) if names and all(n in present for n in names) else None


def pairs_updates(node: rel.Rel) -> bool:
    """Return whether each `-U` of a node is followed by a `+U` of the same key, so that it need not be sent.

    A condition or a join may let the old row pass, and not the new one. Ranks from another one than the first are
    replaced by rank, also where it is not shown.
    """
    if kinds_of(node, True) == INSERT_ONLY:
        return True
    if isinstance(node, rel.Project | rel.AssignWatermark):
        return pairs_updates(node.input)
    if isinstance(node, rel.Rank):
        return node.start == 1 or node.outputs_rank
    return isinstance(node, rel.Aggregate | rel.TableScan | rel.StreamScan)
