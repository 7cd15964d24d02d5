"""Asynchronous functions: re-exported by `firesteel.datastream.functions`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, TypeVar

from firesteel.datastream.function_base import Function

IN = TypeVar("IN", contravariant=True)
OUT = TypeVar("OUT", covariant=True)


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
