"""Numeric and aggregate functions of expressions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from firesteel.table.errors import ValidationException
from firesteel.table.expression_base import ExpressionBase, node_of, unary
from firesteel.table.unresolved import Apply, Lit, OverCall, Ref

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
        """Round up, a point in time to a unit."""
        return self._call("CEIL", None if time_interval_unit is None else time_interval_unit.name)

    def floor(self, time_interval_unit: TimeIntervalUnit | None = None) -> Expression[Any]:
        """Round down, a point in time to a unit."""
        return self._call("FLOOR", None if time_interval_unit is None else time_interval_unit.name)

    def log(self, base: Any = None) -> Expression[Any]:
        """Return the logarithm to a base, by default the natural one."""
        operands = (self._node,) if base is None else (node_of(base), self._node)
        return self._wrap(Apply("LOG", operands))

    def round(self, places: Any) -> Expression[Any]:
        """Round to a number of decimal places."""
        return self._call("ROUND", places)

    def truncate(self, n: Any = 0) -> Expression[Any]:
        """Cut off after a number of decimal places."""
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
        """The aggregate over distinct values.

        Raises:
            ValidationException: this is no call of an aggregate function.
        """
        if not isinstance(self._node, Apply):
            raise ValidationException(f"distinct needs a call of an aggregate function, found {self}")
        return self._wrap(replace(self._node, distinct=True))

    def list_agg(self, separator: Any = None) -> Expression[Any]:
        """Join all texts with a separator."""
        return self._call("LISTAGG", separator)

    def percentile(self, percentage: Any, frequency: Any = None) -> Expression[Any]:
        """Return a percentile, or several of them."""
        return self._call("PERCENTILE", percentage, frequency)

    def over(self, alias: Any) -> Expression[Any]:
        """Compute the aggregate over a window of `Table.over_window`, given by its alias.

        Raises:
            ValidationException: this is no call of a function, or the alias is none.
        """
        name = alias._node if isinstance(alias, ExpressionBase) else Ref((alias,))
        if isinstance(name, Lit):
            name = Ref((name.value,))
        if not isinstance(self._node, Apply) or not isinstance(name, Ref):
            raise ValidationException(f"over needs a call of a function and the alias of a window, found {self}")
        return self._wrap(OverCall(self._node, name.path[0]))
