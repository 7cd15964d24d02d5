"""Operators, comparisons and conditions of expressions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table.expression_functions.expression_base import ExpressionBase, node_of, unary
from firesteel.table.syntax.unresolved import Apply, Ordering, Subquery, TypeName

if TYPE_CHECKING:
    from firesteel.table.expression import Expression
    from firesteel.table.types import DataType


class Operators(ExpressionBase):
    """Python's operators."""

    def _reversed(self, function: str, other: object) -> Expression[Any]:
        return self._wrap(Apply(function, (node_of(other), self._node)))

    def _binary(self, function: str, other: object) -> Expression[Any]:
        return self._wrap(Apply(function, (self._node, node_of(other))))

    def __abs__(self) -> Expression[Any]:
        return self._call("ABS")

    def __lt__(self, other: object) -> Expression[Any]:
        return self._binary("<", other)

    def __le__(self, other: object) -> Expression[Any]:
        return self._binary("<=", other)

    def __eq__(self, other: object) -> Expression[Any]:  # type: ignore[override]
        return self._binary("=", other)

    def __ne__(self, other: object) -> Expression[Any]:  # type: ignore[override]
        return self._binary("<>", other)

    def __gt__(self, other: object) -> Expression[Any]:
        return self._binary(">", other)

    def __ge__(self, other: object) -> Expression[Any]:
        return self._binary(">=", other)

    __hash__ = object.__hash__

    def __and__(self, other: object) -> Expression[Any]:
        return self._binary("AND", other)

    def __or__(self, other: object) -> Expression[Any]:
        return self._binary("OR", other)

    def __invert__(self) -> Expression[Any]:
        return self._call("IS NOT TRUE")

    def __rand__(self, other: object) -> Expression[Any]:
        return self._reversed("AND", other)

    def __ror__(self, other: object) -> Expression[Any]:
        return self._reversed("OR", other)

    def __add__(self, other: object) -> Expression[Any]:
        return self._binary("+", other)

    def __sub__(self, other: object) -> Expression[Any]:
        return self._binary("-", other)

    def __mul__(self, other: object) -> Expression[Any]:
        return self._binary("*", other)

    def __truediv__(self, other: object) -> Expression[Any]:
        return self._binary("/", other)

    def __mod__(self, other: object) -> Expression[Any]:
        return self._binary("%", other)

    def __pow__(self, other: object) -> Expression[Any]:
        return self._binary("POWER", other)

    def __neg__(self, *args: object) -> Expression[Any]:
        return self._call("NEGATE")

    def __radd__(self, other: object) -> Expression[Any]:
        return self._reversed("+", other)

    def __rsub__(self, other: object) -> Expression[Any]:
        return self._reversed("-", other)

    def __rmul__(self, other: object) -> Expression[Any]:
        return self._reversed("*", other)

    def __rtruediv__(self, other: object) -> Expression[Any]:
        return self._reversed("/", other)

    def __rmod__(self, other: object) -> Expression[Any]:
        return self._reversed("%", other)

    def __rpow__(self, other: object) -> Expression[Any]:
        return self._reversed("POWER", other)


class LogicMethods(ExpressionBase):
    """Conditions, casts and orders."""

    is_null = unary("IS NULL", "Whether it is NULL.")
    is_not_null = unary("IS NOT NULL", "Whether it is not NULL.")
    is_true = unary("IS TRUE", "Whether it is true; false for NULL.")
    is_false = unary("IS FALSE", "Whether it is false; false for NULL.")
    is_not_true = unary("IS NOT TRUE", "Whether it is false or NULL.")
    is_not_false = unary("IS NOT FALSE", "Whether it is true or NULL.")

    @property
    def asc(self) -> Expression[Any]:
        """Ascending order; for `Table.order_by`."""
        return self._wrap(Ordering(self._node))

    @property
    def desc(self) -> Expression[Any]:
        """Descending order; for `Table.order_by`."""
        return self._wrap(Ordering(self._node, descending=True))

    def between(self, lower_bound: object, upper_bound: object) -> Expression[Any]:
        """Return whether the value is within a range.

        Args:
            lower_bound: Smallest value of the range, inclusive.
            upper_bound: Largest value of the range, inclusive; below `lower_bound` the result is false.
        """
        return self._wrap(Apply("BETWEEN", (self._node, node_of(lower_bound), node_of(upper_bound))))

    def not_between(self, lower_bound: object, upper_bound: object) -> Expression[Any]:
        """Return whether the value is outside a range.

        Args:
            lower_bound: Smallest value of the range; the value itself is inside.
            upper_bound: Largest value of the range; the value itself is inside.
        """
        return self._wrap(Apply("NOT BETWEEN", (self._node, node_of(lower_bound), node_of(upper_bound))))

    def in_(self, first_element_or_table: object, *remaining_elements: object) -> Expression[Any]:
        """Return whether the value is one of several values.

        Args:
            first_element_or_table: A value, or a `Table` with a single column.
            remaining_elements: Further values; ignored if a table is given.
        """
        query = getattr(first_element_or_table, "_query", None)
        if query is not None and not isinstance(first_element_or_table, ExpressionBase):
            return self._wrap(Subquery("IN", query, self._node))
        return self._call("IN", first_element_or_table, *remaining_elements)

    def then(self, if_true: object, if_false: object) -> Expression[Any]:
        """Return one of two values, depending on this condition.

        Args:
            if_true: The value if the condition is TRUE.
            if_false: The value if it is FALSE or NULL.
        """
        return self._wrap(Apply("CASE", (self._node, node_of(if_true), node_of(if_false))))

    def if_null(self, null_replacement: object) -> Expression[Any]:
        """Return the value, or a replacement if it is NULL.

        Args:
            null_replacement: Value of a common type.
        """
        return self._call("IFNULL", null_replacement)

    def cast(self, data_type: DataType) -> Expression[Any]:
        """Convert the value to another type.

        Args:
            data_type: The type; a value that cannot be converted fails the job.
        """
        return self._wrap(Apply("CAST", (self._node, TypeName(data_type))))

    def try_cast(self, data_type: DataType) -> Expression[Any]:
        """Convert the value to another type, or to NULL.

        Args:
            data_type: The type; a value that cannot be converted becomes NULL.
        """
        return self._wrap(Apply("TRY_CAST", (self._node, TypeName(data_type))))
