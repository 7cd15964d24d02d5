"""The results of `udf`, `udtf`, `udaf` and `udtaf`: functions with their types, callable on expressions."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any, Protocol, Self, runtime_checkable

from firesteel.functions.added_functions import as_added
from firesteel.table.expression import Expression
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.functions.function_types import as_data_type, table_result_type
from firesteel.table.functions.row_input import RowInput
from firesteel.table.functions.udf_base import (
    AggregateFunction,
    FunctionContext,
    ImperativeAggregateFunction,
    UserDefinedFunction,
)
from firesteel.table.syntax.unresolved import Alias, Apply, Star
from firesteel.table.types import DataType, MapType, RowType


@runtime_checkable
class _SubtaskContext(Protocol):
    """The context of a subtask, as far as functions of tables see it."""

    def get_metrics_group(self) -> object: ...
    def get_job_parameters(self) -> dict[str, str]: ...
    def get_task_name(self) -> str: ...
    def get_task_name_with_subtasks(self) -> str: ...
    def get_number_of_parallel_subtasks(self) -> int: ...
    def get_max_number_of_parallel_subtasks(self) -> int: ...
    def get_index_of_this_subtask(self) -> int: ...
    def get_attempt_number(self) -> int: ...


def _function_context(context: object) -> Any:
    """Return the `FunctionContext` with what the `RuntimeContext` of a subtask tells; other contexts as they are."""
    if not isinstance(context, _SubtaskContext):
        return context
    return FunctionContext(
        context.get_metrics_group(),
        context.get_job_parameters(),
        context.get_task_name(),
        context.get_task_name_with_subtasks(),
        context.get_number_of_parallel_subtasks(),
        context.get_max_number_of_parallel_subtasks(),
        context.get_index_of_this_subtask(),
        context.get_attempt_number(),
    )


class UserDefinedFunctionWrapper:
    """A user-defined function with its declaration. PyFlink: `UserDefinedFunctionWrapper`.

    Attributes:
        func: The function, or the object of a function class.
        input_types: Types of the arguments, None: any.
        func_type: `general` or `pandas`.
        deterministic: Whether equal arguments give equal results.
        name: Its name.
        result_type: Type of its results.
    """

    result_type: DataType

    def __init__(
        self,
        func: object,
        input_types: list[DataType] | None,
        func_type: str,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> None:
        self.func = func
        self.input_types = input_types
        self.func_type = func_type
        self.name = name or _name_of(func)
        self._is_in_use = False
        self.deterministic = func.is_deterministic() if isinstance(func, UserDefinedFunction) else True
        if deterministic is not None:
            if isinstance(func, UserDefinedFunction) and deterministic != func.is_deterministic():
                raise ValueError(
                    f"Inconsistent deterministic: {deterministic} and {func.is_deterministic()} of {self.name}"
                )
            self.deterministic = deterministic

    def __call__(self, *args: object) -> Expression[Any]:
        """Return the call with these expressions or constants."""
        return Expression(Apply(self.in_use(), tuple(map(node_of, args))))

    def alias(self, *alias_names: str) -> Expression[Any]:
        """Return the call with all columns of a row as a single argument, and name its result.

        Args:
            alias_names: Names of the result's columns.
        """
        return Expression(Alias(Apply(self.in_use(), (Star(),)), alias_names))

    def in_use(self) -> Self:
        """Return the function itself, which later changes of the program do not reach any more.

        A decorated function may use what the program defines after it, so it is copied by its first use.
        """
        if not self._is_in_use:
            self.func, self._is_in_use = as_added(self.func), True
        return self

    def for_call(self) -> Self:
        """Return a copy of the function that no other call of it shares; PyFlink pickles a function for each call."""
        own = copy.copy(self)
        own.func = as_added(self.func)
        return own

    def open(self, function_context: object) -> None:
        """Prepare the function; called once per subtask.

        Args:
            function_context: Passed on to `open` of the function, unless that is a plain Python function. The
                `RuntimeContext` of a subtask is converted to a `FunctionContext`.
        """
        if isinstance(self.func, UserDefinedFunction):
            self.func.open(_function_context(function_context))

    def close(self) -> None:
        """Release the function's resources."""
        if isinstance(self.func, UserDefinedFunction):
            self.func.close()

    @property
    def eval(self) -> Callable[..., Any]:
        """The callable that computes a result from arguments."""
        if isinstance(self.func, UserDefinedFunction):
            method: Callable[..., Any] = getattr(self.func, "eval")  # noqa: B009 - only some of the classes have it
            return method
        assert callable(self.func)
        return self.func

    def with_row_input(self, names: list[str]) -> UserDefinedFunctionWrapper:
        """Return the function as one that gets the values of a row as a `Row` (or `pandas.DataFrame`).

        Args:
            names: Names of the fields.
        """
        result = copy.copy(self)
        result.func = RowInput(self.func, tuple(names), self.func_type == "pandas")
        result.input_types = None  # of the row, whose fields are the arguments
        return result

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"


class UserDefinedScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A scalar function.

    Attributes:
        result_type: Type of the result.
    """

    def __init__(
        self,
        func: object,
        input_types: list[DataType] | None,
        result_type: DataType,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        super().__init__(func, input_types, func_type, deterministic, name)
        self.result_type = result_type


class UserDefinedAsyncScalarFunctionWrapper(UserDefinedScalarFunctionWrapper):
    """A scalar function whose `eval` is a coroutine function."""


class UserDefinedTableFunctionWrapper(UserDefinedFunctionWrapper):
    """A table function.

    Attributes:
        result_type: Names and types of the result's columns.
    """

    def __init__(
        self,
        func: object,
        input_types: list[DataType] | None,
        result_types: object,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(func, input_types, "general", deterministic, name)
        self.result_type: RowType = table_result_type(result_types)


class UserDefinedAggregateFunctionWrapper(UserDefinedFunctionWrapper):
    """An aggregate function, or a table aggregate function.

    Attributes:
        result_type: Type of the result.
        accumulator_type: Type of the accumulator; None for a pandas function.
        is_table_aggregate: Whether it returns rows.
    """

    def __init__(
        self,
        func: Any,
        input_types: list[DataType] | None,
        result_type: object,
        accumulator_type: object,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
        is_table_aggregate: bool = False,
    ) -> None:
        super().__init__(func, input_types, func_type, deterministic, name)
        if func_type == "general" and not isinstance(func, UserDefinedFunction):
            raise TypeError(f"Invalid function: {self.name} must be an AggregateFunction, or func_type be 'pandas'")
        if result_type is None and isinstance(func, ImperativeAggregateFunction):
            result_type = func.get_result_type()
        self.result_type = as_data_type(result_type, "result_type")
        if func_type == "pandas" and isinstance(self.result_type, MapType):
            raise TypeError("Invalid returnType: Pandas UDAF doesn't support DataType type MAP currently")
        if accumulator_type is None and func_type == "general":
            accumulator_type = func.get_accumulator_type()
        self.accumulator_type = None if func_type == "pandas" else as_data_type(accumulator_type, "accumulator_type")
        self.is_table_aggregate = is_table_aggregate

    @property
    def eval(self) -> Callable[..., object]:
        """The callable that computes the result of a pandas function from columns."""
        is_class = isinstance(getattr(self.func, "function", self.func), AggregateFunction)
        return functools.partial(_aggregate_columns, self.func) if is_class else super().eval


def _aggregate_columns(function: Any, *columns: object) -> object:
    accumulator = function.create_accumulator()
    function.accumulate(accumulator, *columns)
    return function.get_value(accumulator)


def _name_of(func: object) -> str:
    if isinstance(func, functools.partial):
        func = func.func
    name = getattr(func, "__name__", None)
    return name if isinstance(name, str) else type(func).__name__
