"""Asynchronous functions: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar

from firesteel.functions.function_base import Function

IN = TypeVar("IN", contravariant=True)
OUT = TypeVar("OUT", covariant=True)


class AsyncFunction(Function, Generic[IN, OUT]):
    """A function that calls an external service for each element without blocking the others.

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
        """Return the results for one element.

        An exception fails the job, or causes a retry if a retry strategy is set.

        Args:
            value: The element; other elements are processed while this call waits.

        Returns:
            A list, which may be empty; None fails the job.
        """

    def timeout(self, value: IN) -> list[OUT]:
        """Return the results for an element whose call timed out.

        Args:
            value: The element whose call, including all retries, took too long.

        Returns:
            A list, which may be empty; None fails the job.

        Raises:
            TimeoutError: always, unless overridden.
        """
        raise TimeoutError(f"Async function call has timed out for input: {value}")
