"""Asynchronous functions and their retries: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from firesteel.datastream.function_base import Function

IN = TypeVar("IN")
OUT = TypeVar("OUT")

ResultPredicate = Callable[[list[Any]], bool]
ExceptionPredicate = Callable[[Exception], bool]


class AsyncFunction(Function, Generic[IN, OUT]):
    """Asks something outside for each element without holding up the others.

    Example:
        >>> class LookUp(AsyncFunction):
        ...     async def async_invoke(self, value):
        ...         return [await fetch(value)]
        ...
        ...     def timeout(self, value):
        ...         return [None]
    """

    @abstractmethod
    async def async_invoke(self, value: IN) -> list[OUT]:
        """The results of one element; an exception fails the job or, if configured, makes it try again."""

    def timeout(self, value: IN) -> list[OUT]:
        """The results of an element whose call took too long.

        Raises:
            TimeoutError: unless overridden.
        """
        raise TimeoutError(f"Async function call has timed out for input: {value}")


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """When a call is to be tried again."""

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Tells from the results; None: results never lead to another try."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Tells from the exception; None: exceptions never lead to another try."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """How often and when a call is tried again; the static methods make the usual ones."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """True if there is another try after so many."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Milliseconds to wait after so many tries."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """When a call is to be tried again."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """One try only."""
        from firesteel.datastream import async_retry_strategies as strategies

        return strategies.NoRetryStrategy()

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[Any]:
        """Up to `max_attempts` tries with a fixed time in between."""
        from firesteel.datastream import async_retry_strategies as strategies

        return strategies.FixedDelayRetryStrategy(
            max_attempts, backoff_time_millis, result_predicate, exception_predicate
        )

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[Any]:
        """Up to `max_attempts` tries; the time in between (milliseconds) grows by `multiplier`."""
        from firesteel.datastream import async_retry_strategies as strategies

        return strategies.ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )
