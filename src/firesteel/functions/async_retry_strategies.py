"""Retry strategies of asynchronous calls (module as `pyflink.datastream.async_retry_strategies`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from firesteel.common.growth import grown

OUT = TypeVar("OUT")

ExceptionPredicate = Callable[[Exception], bool]

__all__ = ["ExponentialBackoffDelayRetryStrategy", "FixedDelayRetryStrategy", "NoRetryStrategy", "RetryPredicate"]


class AsyncRetryPredicate(ABC, Generic[OUT]):
    """The conditions under which a call is retried.

    Example:
        >>> strategy = AsyncRetryStrategy.fixed_delay(3, 100, lambda results: not results, None)
        >>> is_retried = strategy.get_retry_predicate().result_predicate()
        >>> is_retried([]), is_retried(["found"])
        (True, False)
    """

    @abstractmethod
    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Return the predicate that decides by the results; None never retries because of results."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Return the predicate that decides by the exception; None never retries because of exceptions."""


class AsyncRetryStrategy(ABC, Generic[OUT]):
    """A retry strategy: number of attempts, delays and conditions. The static methods create the common ones.

    Example:
        >>> strategy = AsyncRetryStrategy.exponential_backoff(
        ...     4, 100, 1000, 2.0, None, lambda error: isinstance(error, TimeoutError)
        ... )
        >>> [strategy.get_backoff_time_millis(attempt) for attempt in (1, 2, 3)]
        [100, 200, 400]
    """

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Return whether another attempt is allowed.

        Args:
            current_attempts: Number of failed attempts so far, from 1.
        """

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the delay before the next attempt, in milliseconds.

        Args:
            current_attempts: Number of failed attempts so far, from 1.
        """

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return the conditions under which a call is retried."""

    @staticmethod
    def no_restart() -> AsyncRetryStrategy[Any]:
        """Return a strategy without retries."""
        return NoRetryStrategy()

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: ExceptionPredicate | None,
    ) -> AsyncRetryStrategy[Any]:
        """Return a strategy with a fixed delay between attempts.

        Args:
            max_attempts: Maximum number of retries.
            backoff_time_millis: Delay in milliseconds.
            result_predicate: Retry if it returns True for the results; None ignores results.
            exception_predicate: Retry if it returns True for the exception; None ignores exceptions.
        """
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
        """Return a strategy whose delay grows exponentially.

        Args:
            max_attempts: Maximum number of retries.
            initial_delay: First delay in milliseconds.
            max_retry_delay: Upper bound of the delay in milliseconds.
            multiplier: Factor by which the delay grows.
            result_predicate: Retry if it returns True for the results; None ignores results.
            exception_predicate: Retry if it returns True for the exception; None ignores exceptions.
        """
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class RetryPredicate(AsyncRetryPredicate[OUT], Generic[OUT]):
    """A result predicate and an exception predicate.

    Args:
        result_predicate: Returns whether to retry after these results; None never retries because of results.
        exception_predicate: Returns whether to retry after this exception; None never retries because of exceptions.
    """

    def __init__(
        self,
        result_predicate: Callable[[list[OUT]], bool] | None,
        exception_predicate: Callable[[Exception], bool] | None,
    ) -> None:
        self._result_predicate = result_predicate
        self._exception_predicate = exception_predicate

    def result_predicate(self) -> Callable[[list[OUT]], bool] | None:
        """Return the result predicate, or None."""
        return self._result_predicate

    def exception_predicate(self) -> Callable[[Exception], bool] | None:
        """Return the exception predicate, or None."""
        return self._exception_predicate


class NoRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """A strategy without retries."""

    def can_retry(self, current_attempts: int) -> bool:
        """Return False."""
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return -1, as there are no retries."""
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return a pair of empty predicates."""
        return RetryPredicate(None, None)


class FixedDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """A strategy with a fixed delay between attempts.

    When the retries are exhausted, the last results are emitted, or the last exception fails the job.

    Args:
        max_attempts: Maximum number of retries, in addition to the first call; 0 disables retries.
        backoff_time_millis: Delay before each retry in milliseconds.
        result_predicate: Returns whether to retry after these results; None never retries because of results.
        exception_predicate: Returns whether to retry after this exception; None never retries because of exceptions.
    """

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
        """Return whether the maximum number of attempts is not exceeded."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the fixed delay in milliseconds."""
        return self._backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return the given predicates."""
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy[OUT], Generic[OUT]):
    """A strategy whose delay grows exponentially up to a bound.

    When the retries are exhausted, the last results are emitted, or the last exception fails the job.

    Args:
        max_attempts: Maximum number of retries, in addition to the first call; 0 disables retries.
        initial_delay: Delay before the first retry in milliseconds.
        max_retry_delay: Upper bound of the delay in milliseconds.
        multiplier: Factor by which the delay grows with each retry, such as 2.0.
        result_predicate: Returns whether to retry after these results; None never retries because of results.
        exception_predicate: Returns whether to retry after this exception; None never retries because of exceptions.
    """

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
        """Return whether the maximum number of attempts is not exceeded."""
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Return the delay in milliseconds; after the first attempt it is the initial delay."""
        return int(grown(self._initial_delay, self._multiplier, max(current_attempts - 1, 0), self._max_retry_delay))

    def get_retry_predicate(self) -> AsyncRetryPredicate[OUT]:
        """Return the given predicates."""
        return self._predicate
