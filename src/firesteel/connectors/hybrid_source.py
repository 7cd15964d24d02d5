"""Several sources in sequence (module as `pyflink.datastream.connectors.hybrid_source`)."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from firesteel.errors import InvalidProgramError
from firesteel.functions.connector_base import Source

__all__ = ["HybridSource", "HybridSourceBuilder"]


T = TypeVar("T")


class HybridSource(Source[T]):
    """Reads several sources in sequence; all but the last must be bounded.

    Attributes:
        sources: The sources in reading order.

    Example:
        >>> history = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "/data/orders").build()
        >>> live = (
        ...     KafkaSource.builder()
        ...     .set_bootstrap_servers("localhost:9092")
        ...     .set_topics("orders")
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .build()
        ... )
        >>> source = HybridSource.builder(history).add_source(live).build()
    """

    def __init__(self, sources: tuple[Source[T], ...]) -> None:
        super().__init__()
        self.sources = sources

    @staticmethod
    def builder(first_source: Source[T]) -> HybridSourceBuilder[T]:
        """Return a builder of a sequence of sources.

        Args:
            first_source: Read first; must be bounded if another source follows.
        """
        return HybridSourceBuilder(first_source)

    def is_bounded(self) -> bool:
        """Return whether the last source is bounded."""
        return self.sources[-1].is_bounded()

    def in_sequence(self) -> tuple[Source[Any], ...]:
        """Return the sources in reading order; those of a HybridSource among them count one by one."""
        return tuple(part for source in self.sources for part in source.in_sequence())


class HybridSourceBuilder(Generic[T]):
    """A builder of `HybridSource`.

    `HybridSource.builder` returns it.

    Args:
        first_source: The source to read first; it must be bounded if another one follows.

    Example:
        >>> first = NumberSequenceSource(1, 3)
        >>> source = HybridSource.builder(first).add_source(NumberSequenceSource(10, 11)).build()
        >>> numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
        >>> _ = numbers.collect_async()
        >>> run_local(env).elements
        [1, 2, 3, 10, 11]
    """

    def __init__(self, first_source: Source[T]) -> None:
        self._sources = [first_source]

    def add_source(self, source: Source[T]) -> HybridSourceBuilder[T]:
        """Add a source.

        Args:
            source: Read after the previous ones have ended; only the last one may be unbounded.

        Raises:
            InvalidProgramError: the previous source is unbounded.
        """
        if not self._sources[-1].is_bounded():
            raise InvalidProgramError(
                f"HybridSource: source {len(self._sources)} ({type(self._sources[-1]).__name__}) is unbounded, "
                "so no source can follow it"
            )
        self._sources.append(source)
        return self

    def build(self) -> HybridSource[T]:
        """Return the source."""
        return HybridSource(tuple(self._sources))
