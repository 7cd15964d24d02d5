"""Conversion of registered functions to functions with types."""

from __future__ import annotations

import inspect

from firesteel.table.functions.udf_base import AggregateFunction, TableAggregateFunction, UserDefinedFunction
from firesteel.table.functions.udf_wrappers import UserDefinedFunctionWrapper
from firesteel.table.udf import udaf, udtaf


def as_function(function: object) -> UserDefinedFunctionWrapper:
    """Return a function with types: as `udf` and the like make it, or an aggregate function that knows its types.

    Raises:
        TypeError: it is something else.
    """
    if inspect.isclass(function) and issubclass(function, UserDefinedFunction):
        function = function()
    if isinstance(function, UserDefinedFunctionWrapper):
        return function.in_use()
    if isinstance(function, AggregateFunction | TableAggregateFunction):
        made: UserDefinedFunctionWrapper = (udaf if isinstance(function, AggregateFunction) else udtaf)(function)
        return made.in_use()
    raise TypeError(f"Wrap {function!r} with udf(), udtf(), udaf() or udtaf() before it is registered")
