"""The answer to a question to a running job (module as `pyflink.common.completable_future`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["CompletableFuture"]


class CompletableFuture:
    """A `concurrent.futures.Future`, its result passed through `convert`."""

    def __init__(self, future: Future[Any], convert: Callable[[Any], Any] | None = None) -> None:
        self._future = future
        self._convert = convert

    def cancel(self) -> bool:
        """Gives up waiting; False if it is done or can't be cancelled."""
        return self._future.cancel()

    def cancelled(self) -> bool:
        """True if it was cancelled."""
        return self._future.cancelled()

    def done(self) -> bool:
        """True if there is a result or an error."""
        return self._future.done()

    def result(self, timeout_s: float | None = None) -> Any:
        """The result, waited for.

        Raises:
            TimeoutError: it is not there within `timeout_s`.
            Exception: the error that it ended with.
        """
        value = self._future.result(timeout_s)
        return value if self._convert is None else self._convert(value)

    def exception(self) -> BaseException | None:
        """The error that it ended with, waited for; None if it ended well."""
        return self._future.exception()

    def __str__(self) -> str:
        return str(self._future)
