"""When asynchronous calls are tried again (module as `pyflink.datastream.async_retry_strategies`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

OUT = TypeVar("OUT")

ExceptionPredicate = Callable[[Exception], bool]

__all__ = ["ExponentialBackoffDelayRetryStrategy", "FixedDelayRetryStrategy", "NoRetryStrategy", "RetryPredicate"]


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
        return NoRetryStrategy()

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[Any]:
        """Up to `max_attempts` tries with a fixed time in between."""
        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

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
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class RetryPredicate(AsyncRetryPredicate[OUT], Generic[OUT]):
    """A pair of predicates."""

    def __init__(
        self,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Tells from the results."""
        return self._result_predicate

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Tells from the exception."""
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """One try only."""

    def can_retry(self, current_attempts: int) -> bool:
        """Never."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """No time, as there is no other try."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Never."""
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """A number of tries with a fixed time in between."""

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        self._max_attempts = max_attempts
        self._backoff_time_millis = backoff_time_millis
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """True up to the number of tries."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """The fixed time."""
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """The predicates given."""
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """A number of tries; the time in between grows by a factor up to a bound."""

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        self._max_attempts = max_attempts
        self._initial_delay = initial_delay
        self._max_retry_delay = max_retry_delay
        self._multiplier = multiplier
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        """True up to the number of tries."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """The time after so many tries: the first one waits the initial delay."""
        grown = self._initial_delay * self._multiplier ** max(current_attempts - 1, 0)
        return int(min(grown, self._max_retry_delay))

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """The predicates given."""
        return self._predicate
