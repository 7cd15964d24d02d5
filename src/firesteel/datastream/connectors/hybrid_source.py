"""Several sources one after the other (module as `pyflink.datastream.connectors.hybrid_source`)."""

from __future__ import annotations

from typing import Generic, TypeVar

from firesteel.datastream.connectors.base import Source
from firesteel.errors import InvalidProgramError

__all__ = ["HybridSource", "HybridSourceBuilder"]


T = TypeVar("T")


class HybridSource(Source[T]):
    """Several sources one after the other: all but the last must be bounded.

    Attributes:
        sources: In the order of reading.

    Example:
        >>> source = HybridSource.builder(history).add_source(live).build()
    """

    def __init__(self, sources: tuple[Source[T], ...]) -> None:
        super().__init__()
        self.sources = sources

    @staticmethod
    def builder(first_source: Source[T]) -> HybridSourceBuilder[T]:
        """A builder that starts with this source."""
        return HybridSourceBuilder(first_source)

    def is_bounded(self) -> bool:
        """True if the last source is."""
        return self.sources[-1].is_bounded()


class HybridSourceBuilder(Generic[T]):
    """Collects the sources."""

    def __init__(self, first_source: Source[T]) -> None:
        self._sources = [first_source]

    def add_source(self, source: Source[T]) -> HybridSourceBuilder[T]:
        """Adds the source that is read when the ones before have ended.

        Raises:
            InvalidProgramError: the source before has no end.
        """
        if not self._sources[-1].is_bounded():
            raise InvalidProgramError(
                f"HybridSource: source {len(self._sources)} ({type(self._sources[-1]).__name__}) has no end, "
                "so nothing can come behind it"
            )
        self._sources.append(source)
        return self

    def build(self) -> HybridSource[T]:
        """The source."""
        return HybridSource(tuple(self._sources))
