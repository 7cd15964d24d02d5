"""Whether a call is repeated, by a retry strategy of the user."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.functions.async_retry_strategies import AsyncRetryStrategy

__all__ = ["wants_retry"]


def wants_retry(
    strategy: AsyncRetryStrategy[object] | None, attempt: int, found: Sequence[object] | None, error: Exception | None
) -> bool:
    """Return whether another attempt is to be made after one that gave results or an error."""
    if strategy is None or not strategy.can_retry(attempt):
        return False
    predicate = strategy.get_retry_predicate()
    if error is not None:
        of_errors = predicate.exception_predicate()
        return of_errors is not None and bool(of_errors(error))
    of_results = predicate.result_predicate()
    return of_results is not None and bool(of_results(list(found or ())))
