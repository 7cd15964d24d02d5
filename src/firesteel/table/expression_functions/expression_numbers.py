"""Numeric and aggregate functions of expressions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from firesteel.common.table_errors import ValidationException
from firesteel.table.expression_functions.expression_base import ExpressionBase, node_of, unary
from firesteel.table.syntax.unresolved import Apply, Lit, OverCall, Ref

if TYPE_CHECKING:
    from firesteel.table.expression import Expression, TimeIntervalUnit


class NumberMethods(ExpressionBase):
    """Numeric functions. Each one calls Flink's SQL function of the same name unless it says otherwise."""

    abs = unary("ABS", "The absolute value.")
    acos = unary("ACOS", "The arc cosine.")
    asin = unary("ASIN", "The arc sine.")
    atan = unary("ATAN", "The arc tangent.")
    bin = unary("BIN", "The binary text of an integer.")
    cos = unary("COS", "The cosine.")
    cosh = unary("COSH", "The hyperbolic cosine.")
    cot = unary("COT", "The cotangent.")
    degrees = unary("DEGREES", "Radians as degrees.")
    exp = unary("EXP", "e to the power of this.")
    hex = unary("HEX", "The hexadecimal text.")
    ln = unary("LN", "The natural logarithm.")
    log10 = unary("LOG10", "The logarithm to base 10.")
    log2 = unary("LOG2", "The logarithm to base 2.")
    radians = unary("RADIANS", "Degrees as radians.")
    sign = unary("SIGN", "The sign.")
    sin = unary("SIN", "The sine.")
    sinh = unary("SINH", "The hyperbolic sine.")
    sqrt = unary("SQRT", "The square root.")
    tan = unary("TAN", "The tangent.")
    tanh = unary("TANH", "The hyperbolic tangent.")
    unhex = unary("UNHEX", "The bytes of a hexadecimal text.")

    def ceil(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """Round up.

        Args:
            time_interval_unit: Unit to which a point in time is rounded; None rounds a number to an integer.
        """
        return self._call("CEIL", None if time_interval_unit is None else time_interval_unit.name)

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """Round down.

        Args:
            time_interval_unit: Unit to which a point in time is rounded; None rounds a number to an integer.
        """
        return self._call("FLOOR", None if time_interval_unit is None else time_interval_unit.name)

    def log(self, base: object = None) -> Expression[Any]:
        """Return the logarithm.

        Args:
            base: Base of the logarithm; None returns the natural logarithm.
        """
        operands = (self._node,) if base is None else (node_of(base), self._node)
        return self._wrap(Apply("LOG", operands))

    def round(self, places: object) -> Expression[Any]:
        """Round to a number of decimal places, half away from zero.

        Args:
            places: Number of decimal places; a negative number rounds to tens, hundreds and so on.
        """
        return self._call("ROUND", places)

    def truncate(self, n: object = 0) -> Expression[Any]:
        """Cut off decimal places, towards zero.

        Args:
            n: Number of decimal places that stay; a negative number cuts off tens, hundreds and so on.
        """
        return self._call("TRUNCATE", n)


class AggregateMethods(ExpressionBase):
    """Aggregate functions, and their use over windows."""

    array_agg = unary("ARRAY_AGG", "All values as an array.")
    avg = unary("AVG", "The mean.")
    collect = unary("COLLECT", "All values as a multiset.")
    count = unary("COUNT", "The number of values that are not NULL.")
    first_value = unary("FIRST_VALUE", "The first value.")
    last_value = unary("LAST_VALUE", "The last value.")
    max = unary("MAX", "The largest value.")
    min = unary("MIN", "The smallest value.")
    stddev_pop = unary("STDDEV_POP", "The standard deviation of the population.")
    stddev_samp = unary("STDDEV_SAMP", "The standard deviation of a sample.")
    sum = unary("SUM", "The sum; NULL if there are no values.")
    sum0 = unary("$SUM0", "The sum; 0 if there are no values.")
    var_pop = unary("VAR_POP", "The variance of the population.")
    var_samp = unary("VAR_SAMP", "The variance of a sample.")

    @property
    def distinct(self) -> Expression[Any]:
        """The aggregate over distinct values; a query with another expression is refused."""
        if isinstance(self._node, Apply):
            return self._wrap(replace(self._node, distinct=True))
        return self._wrap(Apply("DISTINCT", (self._node,)))

    def list_agg(self, separator: object = None) -> Expression[Any]:
        """Return all strings of the group as one string (LISTAGG).

        Args:
            separator: String between two values; None means `,`.
        """
        return self._call("LISTAGG", separator)

    def percentile(self, percentage: object, frequency: object = None) -> Expression[Any]:
        """Return an exact percentile of the group, interpolated between values (PERCENTILE).

        Args:
            percentage: A number from 0 to 1, or an array of such numbers for an array of results.
            frequency: How often each value counts, an integer; None counts each value once.
        """
        return self._call("PERCENTILE", percentage, frequency)

    def over(self, alias: Any) -> Expression[Any]:
        """Compute the aggregate over a window of `Table.over_window`; a query with another expression is refused.

        Args:
            alias: The alias of the window, as a string or column.

        Raises:
            ValidationException: the alias is none.
        """
        name = node_of(alias) if isinstance(alias, ExpressionBase) else Ref((alias,))
        if isinstance(name, Lit):
            name = Ref((str(name.value),))
        if not isinstance(name, Ref):
            raise ValidationException(f"over needs the alias of a window, found {alias}")
        if isinstance(self._node, Apply):
            return self._wrap(OverCall(self._node, name.path[0]))
        return self._wrap(Apply("OVER", (self._node, Lit(name.path[0]))))
