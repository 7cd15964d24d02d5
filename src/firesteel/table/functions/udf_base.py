"""Base classes of user-defined functions; re-exported by `firesteel.table.udf`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

T = TypeVar("T")
ACC = TypeVar("ACC")


class FunctionContext:
    """The runtime context of a function (Flink: `table.functions.FunctionContext`).

    `open` of a user-defined function receives it.

    Example:
        >>> class Discount(ScalarFunction):
        ...     def open(self, function_context):
        ...         self.rate = float(function_context.get_job_parameter("discount", "0.1"))
        ...     def eval(self, price):
        ...         return price * (1 - self.rate)
        >>> discount = udf(Discount(), result_type=DataTypes.DOUBLE())
    """

    def __init__(
        self,
        base_metric_group: object,
        job_parameters: dict[str, str] | None,
        task_name: str | None = None,
        task_name_with_subtasks: str | None = None,
        number_of_parallel_subtasks: int | None = None,
        max_number_of_parallel_subtasks: int | None = None,
        index_of_this_subtask: int | None = None,
        attempt_number: int | None = None,
    ) -> None:
        self._base_metric_group = base_metric_group
        self._job_parameters = job_parameters or {}
        self._task_name = task_name
        self._task_name_with_subtasks = task_name_with_subtasks
        self._number_of_parallel_subtasks = number_of_parallel_subtasks
        self._max_number_of_parallel_subtasks = max_number_of_parallel_subtasks
        self._index_of_this_subtask = index_of_this_subtask
        self._attempt_number = attempt_number

    def get_metric_group(self) -> Any:
        """Return the metric group of the subtask.

        Raises:
            RuntimeError: Metrics are disabled (`python.metric.enabled`).
        """
        if self._base_metric_group is None:
            raise RuntimeError("Metric has not been enabled. You can enable metric with the 'python.metric.enabled'")
        return self._base_metric_group

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a job parameter.

        Args:
            key: A key of `pipeline.global-job-parameters`.
            default_value: Returned if the parameter is not set.
        """
        return self._job_parameters.get(key, default_value)

    def get_task_name(self) -> str | None:
        """Return the name of the task."""
        return self._task_name

    def get_task_name_with_subtasks(self) -> str | None:
        """Return the name of the task with the index of the subtask."""
        return self._task_name_with_subtasks

    def get_number_of_parallel_subtasks(self) -> int | None:
        """Return the parallelism."""
        return self._number_of_parallel_subtasks

    def get_max_number_of_parallel_subtasks(self) -> int | None:
        """Return the maximum parallelism."""
        return self._max_number_of_parallel_subtasks

    def get_index_of_this_subtask(self) -> int | None:
        """Return the index of the subtask, counted from 0."""
        return self._index_of_this_subtask

    def get_attempt_number(self) -> int | None:
        """Return the number of the attempt, counted from 0."""
        return self._attempt_number


class UserDefinedFunction(ABC):  # noqa: B024 - subclasses have the abstract methods
    """Base of user-defined functions (Flink: `UserDefinedFunction`).

    Example:
        >>> class Discount(ScalarFunction):
        ...     def open(self, function_context):
        ...         self.rate = float(function_context.get_job_parameter("discount", "0.1"))
        ...     def eval(self, price):
        ...         return price * (1 - self.rate)
        ...     def is_deterministic(self):
        ...         return True
        >>> discount = udf(Discount(), result_type=DataTypes.DOUBLE())
    """

    def open(self, function_context: FunctionContext) -> None:  # noqa: B027 - need not be overridden
        """Initialize the function; called once per subtask before the first call.

        Args:
            function_context: Gives access to job parameters, metrics and the index of the subtask.
        """

    def close(self) -> None:  # noqa: B027 - need not be overridden
        """Release resources; called once per subtask at the end."""

    def is_deterministic(self) -> bool:
        """Return whether equal arguments have equal results; such calls may be evaluated once."""
        return True


class ScalarFunction(UserDefinedFunction):
    """A function that returns one value per row.

    Example:
        >>> class Shout(ScalarFunction):
        ...     def eval(self, text):
        ...         return text.upper() + "!"
        >>> shout = udf(Shout(), result_type=DataTypes.STRING())
        >>> table_env = StreamTableEnvironment.create(env)
        >>> words = table_env.from_elements([("to",), ("be",)], ["word"])
        >>> _ = table_env.to_data_stream(words.select(shout(col("word")).alias("loud"))).collect_async()
        >>> run_local(env).elements
        [Row(loud='TO!'), Row(loud='BE!')]
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Return the value for one row.

        Args:
            args: The arguments of the call in order; NULL is None.
        """


class AsyncScalarFunction(UserDefinedFunction):
    """A scalar function whose `eval` is a coroutine.

    It is called for several rows at a time, as the options `table.exec.async-scalar.*` allow; results keep the order of
    the rows.

    Example:
        >>> class LookUp(AsyncScalarFunction):
        ...     async def eval(self, number):
        ...         return f"user {number}"
        >>> look_up = udf(LookUp(), result_type=DataTypes.STRING())
        >>> table_env = StreamTableEnvironment.create(env)
        >>> numbers = table_env.from_elements([(1,), (2,)], ["n"])
        >>> _ = table_env.to_data_stream(numbers.select(look_up(col("n")).alias("name"))).collect_async()
        >>> run_local(env).elements
        [Row(name='user 1'), Row(name='user 2')]
    """

    @abstractmethod
    async def eval(self, *args: Any) -> Any:
        """Return the value for one row.

        Args:
            args: The arguments of the call in order; NULL is None.
        """


class TableFunction(UserDefinedFunction):
    """A function that returns any number of rows per row.

    Example:
        >>> class Words(TableFunction):
        ...     def eval(self, line):
        ...         yield from line.split()
        >>> words = udtf(Words(), result_types=[DataTypes.STRING()])
        >>> table_env = StreamTableEnvironment.create(env)
        >>> lines = table_env.from_elements([("to be",), ("or not",)], ["line"])
        >>> split = lines.join_lateral(words(col("line")).alias("word")).select(col("word"))
        >>> _ = table_env.to_data_stream(split).collect_async()
        >>> run_local(env).elements
        [Row(word='to'), Row(word='be'), Row(word='or'), Row(word='not')]
    """

    @abstractmethod
    def eval(self, *args: Any) -> Any:
        """Yield or return the rows for one row.

        Args:
            args: The arguments of the call in order; NULL is None.

        Returns:
            Rows, each a value, tuple or `Row`.
        """


class ImperativeAggregateFunction(UserDefinedFunction, Generic[T, ACC]):
    """The base of aggregate functions with an accumulator.

    Example:
        >>> issubclass(AggregateFunction, ImperativeAggregateFunction)
        True
    """

    @abstractmethod
    def create_accumulator(self) -> ACC:
        """Return a new accumulator."""

    @abstractmethod
    def accumulate(self, accumulator: ACC, *args: Any) -> None:
        """Add a row to an accumulator.

        Args:
            accumulator: Changed in place.
            args: The arguments of the call in order; NULL is None.
        """

    def retract(self, accumulator: ACC, *args: Any) -> None:
        """Remove a row from an accumulator.

        Required if the input is updated, and for OVER windows that slide.

        Args:
            accumulator: Changed in place.
            args: The arguments that the row was added with.

        Raises:
            RuntimeError: always, unless overridden.
        """
        raise RuntimeError("Method retract is not implemented")

    def merge(self, accumulator: ACC, accumulators: Any) -> None:
        """Add other accumulators to one. Required for session windows.

        Args:
            accumulator: Changed in place.
            accumulators: An iterable of accumulators, which are not used any more.

        Raises:
            RuntimeError: always, unless overridden.
        """
        raise RuntimeError("Method merge is not implemented")

    def get_result_type(self) -> Any:
        """Return the type of the result."""
        raise RuntimeError("Method get_result_type is not implemented")

    def get_accumulator_type(self) -> Any:
        """Return the type of the accumulator."""
        raise RuntimeError("Method get_accumulator_type is not implemented")


class AggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """An aggregate function that returns one value per group.

    Example:
        >>> class Mean(AggregateFunction):
        ...     def create_accumulator(self):
        ...         return Row(0.0, 0)
        ...     def accumulate(self, accumulator, value):
        ...         accumulator[0] += value
        ...         accumulator[1] += 1
        ...     def get_value(self, accumulator):
        ...         return accumulator[0] / accumulator[1]
        ...     def get_accumulator_type(self):
        ...         return DataTypes.ROW(
        ...             [DataTypes.FIELD("sum", DataTypes.DOUBLE()), DataTypes.FIELD("count", DataTypes.BIGINT())]
        ...         )
        ...     def get_result_type(self):
        ...         return DataTypes.DOUBLE()
        >>> table_env = StreamTableEnvironment.create(env)
        >>> numbers = table_env.from_elements([(2,), (4,)], ["n"])
        >>> _ = table_env.to_changelog_stream(numbers.select(udaf(Mean())(col("n")).alias("mean"))).collect_async()
        >>> run_local(env).elements[-1]
        Row(mean=3.0)
    """

    @abstractmethod
    def get_value(self, accumulator: ACC) -> T:
        """Return the result for an accumulator.

        Args:
            accumulator: Not to be changed, as further rows may follow.
        """


class TableAggregateFunction(ImperativeAggregateFunction[T, ACC]):
    """An aggregate function that returns any number of rows per group.

    Example:
        >>> class TopTwo(TableAggregateFunction):
        ...     def create_accumulator(self):
        ...         return [None, None]
        ...     def accumulate(self, accumulator, value):
        ...         known = [number for number in accumulator if number is not None]
        ...         accumulator[:] = (sorted([*known, value], reverse=True) + [None])[:2]
        ...     def emit_value(self, accumulator):
        ...         for number in accumulator:
        ...             if number is not None:
        ...                 yield Row(number)
        ...     def get_accumulator_type(self):
        ...         return DataTypes.ARRAY(DataTypes.BIGINT())
        ...     def get_result_type(self):
        ...         return DataTypes.ROW([DataTypes.FIELD("n", DataTypes.BIGINT())])
        >>> table_env = StreamTableEnvironment.create(env)
        >>> numbers = table_env.from_elements([("a", 2), ("a", 4), ("a", 3)], ["key", "n"])
        >>> top = numbers.group_by(col("key")).flat_aggregate(udtaf(TopTwo())(col("n")).alias("top")).select(col("top"))
    """

    @abstractmethod
    def emit_value(self, accumulator: ACC) -> Iterable[T]:
        """Yield the rows for an accumulator.

        Args:
            accumulator: Not to be changed, as further rows may follow.
        """
