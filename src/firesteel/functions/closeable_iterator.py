"""Iterators over results of a running job: re-exported by `firesteel.datastream.data_stream`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Self, TypeVar

from firesteel.common.job_client import JobClient

T = TypeVar("T")


class CloseableIterator(Generic[T]):
    """An iterator over the elements of `execute_and_collect`; closing it cancels the job if it is still running.

    Args:
        elements: The elements in order; the next one may block until the job has produced it.
        close: Called once, by the first `close`; None does nothing.
        job_client: Client of the job that produces the elements; None without a job.

    Example:
        >>> numbers = env.from_collection([1, 2, 3], Types.INT())
        >>> with numbers.execute_and_collect() as results:
        ...     print(sum(results))
        6
    """

    def __init__(
        self, elements: Iterable[T], close: Callable[[], None] | None = None, job_client: JobClient | None = None
    ) -> None:
        self.job_client = job_client
        self._elements = iter(elements)
        self._close = close

    def convert(self, conversion: Callable[[Any], T] | None) -> None:
        """Convert each element with a function; None leaves elements as they are."""
        if conversion is not None:
            self._elements = map(conversion, self._elements)

    def __iter__(self) -> Iterator[T]:
        return self

    def __next__(self) -> T:
        return next(self._elements)

    def next(self) -> T:
        """Return the next element.

        Raises:
            StopIteration: there are no more elements.
        """
        return next(self._elements)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, exc_type: object, exc_val: object, exc_tb: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the job if it is still running; further calls have no effect."""
        # Forgotten first, so that a failing cancellation is not tried again by `__exit__`.
        close, self._close = self._close, None
        if close is not None:
            close()
