"""User-defined functions of tables (module as `pyflink.table.udf`)."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from firesteel.functions.missing_returns import warn_unless_it_returns
from firesteel.table.functions.function_types import parameter_types, result_type_of
from firesteel.table.functions.udf_base import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ImperativeAggregateFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    UserDefinedFunction,
)
from firesteel.table.functions.udf_wrappers import (
    UserDefinedAggregateFunctionWrapper,
    UserDefinedAsyncScalarFunctionWrapper,
    UserDefinedFunctionWrapper,
    UserDefinedScalarFunctionWrapper,
    UserDefinedTableFunctionWrapper,
)

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedAggregateFunctionWrapper",
    "UserDefinedAsyncScalarFunctionWrapper",
    "UserDefinedFunction",
    "UserDefinedFunctionWrapper",
    "UserDefinedScalarFunctionWrapper",
    "UserDefinedTableFunctionWrapper",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
]

_FUNC_TYPES = ("general", "pandas")


def udf(
    f: object = None,
    input_types: object = None,
    result_type: object = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Create a scalar function, which returns one value per row. Also usable as a decorator.

    Args:
        f: A function, lambda, `ScalarFunction`, `AsyncScalarFunction` or coroutine function; None returns a decorator.
        input_types: Types of the arguments; None accepts any.
        result_type: Type of the result, as a `DataTypes` type or in SQL syntax.
        deterministic: Whether equal arguments have equal results; by default as declared by the function, else true.
        name: The name used in messages; by default the name of the Python function.
        func_type: `general` for one row at a time, `pandas` for columns as `pandas.Series`.

    Raises:
        ValueError: `func_type` is neither, or `pandas` for a coroutine function.
        TypeError: `f` is not a function.

    Example:
        >>> from firesteel.table import DataTypes, EnvironmentSettings, TableEnvironment
        >>> @udf(result_type=DataTypes.BIGINT())
        ... def add_one(number):
        ...     return number + 1
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        >>> table_env.create_temporary_function("add_one", add_one)
        >>> table_env.sql_query("SELECT add_one(2) AS three").print_schema()
        (
          `three` BIGINT
        )
    """
    _check_func_type(func_type)
    if f is None:
        return functools.partial(
            udf, input_types=input_types, result_type=result_type, deterministic=deterministic, name=name,
            func_type=func_type,
        )  # fmt: skip
    f = _instance(f, UserDefinedFunction)
    arguments = (f, parameter_types(input_types), result_type_of(result_type), func_type, deterministic, name)
    if isinstance(f, AsyncScalarFunction) or inspect.iscoroutinefunction(_function_of(f)):
        if func_type == "pandas":
            raise ValueError(
                "Async scalar functions do not support pandas func_type. Please use func_type='general' (default) for "
                "async functions."
            )
        return UserDefinedAsyncScalarFunctionWrapper(*arguments)
    warn_unless_it_returns(_function_of(f), "so the SQL function is NULL for each row")
    return UserDefinedScalarFunctionWrapper(*arguments)


def udtf(
    f: object = None,
    input_types: object = None,
    result_types: object = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """Create a table function, which returns any number of rows per row. Also usable as a decorator.

    Args:
        f: A function that yields or returns rows, or a `TableFunction`; None returns a decorator.
        input_types: Types of the arguments; None accepts any.
        result_types: Types of the result's columns, or a row type.
        deterministic: Whether equal arguments have equal results; by default as declared by the function, else true.
        name: The name used in messages; by default the name of the Python function.

    Example:
        >>> from firesteel.table import DataTypes, EnvironmentSettings, TableEnvironment
        >>> from firesteel.table.expressions import col
        >>> @udtf(result_types=[DataTypes.STRING()])
        ... def words(line):
        ...     yield from line.split()
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
        >>> lines = table_env.from_elements([("to be",)], ["line"])
        >>> lines.join_lateral(words(col("line")).alias("word")).print_schema()
        (
          `line` STRING,
          `word` STRING
        )
    """
    if f is None:
        return functools.partial(
            udtf, input_types=input_types, result_types=result_types, deterministic=deterministic, name=name
        )
    f = _instance(f, TableFunction)
    return UserDefinedTableFunctionWrapper(f, parameter_types(input_types), result_types, deterministic, name)


def udaf(
    f: object = None,
    input_types: object = None,
    result_type: object = None,
    accumulator_type: object = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Create an aggregate function, which returns one value per group. Also usable as a decorator.

    Args:
        f: An `AggregateFunction`, or with `func_type` `pandas` a function of `pandas.Series`; None returns a decorator.
        input_types: Types of the arguments; None accepts any.
        result_type: Type of the result; by default the result of the function's `get_result_type`.
        accumulator_type: Type of the accumulator; by default the result of `get_accumulator_type`.
        deterministic: Whether equal arguments have equal results; by default as declared by the function, else true.
        name: The name used in messages; by default the name of the Python function.
        func_type: `general` for an accumulator, `pandas` for columns as `pandas.Series`.

    Raises:
        ValueError: `func_type` is neither.

    Example:
        >>> from firesteel.table import DataTypes
        >>> mean = udaf(lambda numbers: numbers.mean(), result_type=DataTypes.DOUBLE(), func_type="pandas")
    """
    _check_func_type(func_type)
    if f is None:
        return functools.partial(
            udaf, input_types=input_types, result_type=result_type, accumulator_type=accumulator_type,
            deterministic=deterministic, name=name, func_type=func_type,
        )  # fmt: skip
    f = _instance(f, AggregateFunction)
    return _aggregate(f, input_types, result_type, accumulator_type, func_type, deterministic, name, False)


def udtaf(
    f: object = None,
    input_types: object = None,
    result_type: object = None,
    accumulator_type: object = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Create a table aggregate function, which returns any number of rows per group. Also usable as a decorator.

    Args:
        f: A `TableAggregateFunction`; None returns a decorator.
        input_types: Types of the arguments; None accepts any.
        result_type: Type of the rows; by default the result of the function's `get_result_type`.
        accumulator_type: Type of the accumulator; by default the result of `get_accumulator_type`.
        deterministic: Whether equal arguments have equal results; by default as declared by the function.
        name: The name used in messages; by default the name of the class.
        func_type: `general`.

    Raises:
        ValueError: `func_type` is not `general`.
        TypeError: `f` is a class of another kind, or a plain function.
    """
    if func_type != "general":
        raise ValueError(f"The func_type must be 'general' for table aggregate functions, got {func_type}")
    if f is None:
        return functools.partial(
            udtaf, input_types=input_types, result_type=result_type, accumulator_type=accumulator_type,
            deterministic=deterministic, name=name, func_type=func_type,
        )  # fmt: skip
    f = _instance(f, TableAggregateFunction)
    return _aggregate(f, input_types, result_type, accumulator_type, func_type, deterministic, name, True)


def _aggregate(
    f: object,
    input_types: object,
    result_type: object,
    accumulator_type: object,
    func_type: str,
    deterministic: bool | None,
    name: str | None,
    is_table_aggregate: bool,
) -> UserDefinedAggregateFunctionWrapper:
    inputs = parameter_types(input_types)
    return UserDefinedAggregateFunctionWrapper(
        f, inputs, result_type, accumulator_type, func_type, deterministic, name, is_table_aggregate
    )


def _check_func_type(func_type: str) -> None:
    if func_type not in _FUNC_TYPES:
        raise ValueError(f"The func_type must be one of 'general, pandas', got {func_type}")


_AGGREGATES = (AggregateFunction, TableAggregateFunction)


def _instance(f: object, base: type) -> Any:
    """Return the function object, created if its class was given instead.

    Raises:
        TypeError: `f` is neither callable nor of the base class, or aggregates in another way than required.
    """
    if inspect.isclass(f):
        if not issubclass(f, base):
            raise TypeError(f"Invalid function: not a subclass of {base.__name__}: {f}")
        f = f()
    if base in _AGGREGATES and isinstance(f, UserDefinedFunction) and not isinstance(f, base):
        raise TypeError(f"Invalid function: not an object of {base.__name__}: {f!r}")
    if not callable(f) and not isinstance(f, UserDefinedFunction):
        raise TypeError(f"Invalid function: not a function or callable (__call__ is not defined): {type(f)}")
    return f


def _function_of(f: Any) -> Callable[..., Any]:
    found: Callable[..., Any] = f.eval if isinstance(f, UserDefinedFunction) and hasattr(f, "eval") else f
    return found
