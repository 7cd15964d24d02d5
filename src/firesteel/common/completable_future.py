"""Futures of requests to a running job (module as `pyflink.common.completable_future`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["CompletableFuture"]

T = TypeVar("T")


class CompletableFuture:
    """A future with the result of a `concurrent.futures.Future`, to which it applies `convert`.

    Methods of `JobClient` return it.

    Args:
        future: The future to wait for.
        convert: Called with the result each time it is read; None returns the result unchanged.

    Example:
        >>> from concurrent.futures import Future
        >>> answer = Future()
        >>> future = CompletableFuture(answer, int)
        >>> future.done()
        False
        >>> answer.set_result("42")
        >>> future.result(timeout_s=5)
        42
    """

    def __init__(self, future: Future[Any], convert: Callable[[Any], Any] | None = None) -> None:
        self._future = _following(future)
        self._convert = convert

    def cancel(self) -> bool:
        """Cancel this future, as Java's, but not what it waits for; return False if it is done."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """Return whether it was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """Return whether the future has a result or an error."""
        return self._future.done()

    def result(self, timeout_s: float | None = None) -> Any:
        """Wait for the result and return it.

        Args:
            timeout_s: Maximum time to wait in seconds; None waits without limit.

        Raises:
            TimeoutError: there is no result within `timeout_s`.
            Exception: the error of the future.
        """
        value = self._future.result(timeout_s)
        return value if self._convert is None else self._convert(value)

    def exception(self) -> BaseException | None:
        """Wait for the future and return its error, or None if it succeeded."""
        try:
            self.result()
        except BaseException as error:
            return error
        return None

    def __str__(self) -> str:
        return str(self._future)


def _following(future: Future[T]) -> Future[T]:
    """Return a future that ends as another one does, and can be cancelled without it: others may wait for that one."""
    from concurrent.futures import Future

    follower: Future[T] = Future()

    def end(done: Future[T]) -> None:
        if done.cancelled():
            follower.cancel()
        if not follower.set_running_or_notify_cancel():
            return
        error = done.exception()
        if error is None:
            follower.set_result(done.result())
        else:
            follower.set_exception(error)

    future.add_done_callback(end)
    return follower
