"""The sources that descriptors of operators carry, and the ids of what they commit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from firesteel.functions.connector_base import Source
from firesteel.functions.operator_descriptors import CollectionSourceOperator, SourceOperator
from firesteel.functions.source_reading import ReadingHints, SourceEnumerator, SourceReader, SourceReaderContext, owned
from firesteel.functions.splits import Discovered, Known, Split, SplitRange, in_chunks


class CollectionSource(Source[Any]):
    """The elements of `from_collection`.

    Args:
        elements: The elements.
    """

    reading_hints = ReadingHints(first_elements=4, unit="Records")

    def __init__(self, elements: tuple[Any, ...]) -> None:
        super().__init__()
        self._elements = elements

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of the only split."""
        return _OneSplit(len(self._elements))

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        return _Elements(self._elements)


class _OneSplit(SourceEnumerator):
    def __init__(self, count: int) -> None:
        self._count = count

    def discover(self, parallelism: int, known: Known) -> Discovered:
        return [Split("collection", 0, 0, self._count)], set()


class _Elements(SourceReader):
    def __init__(self, elements: tuple[Any, ...]) -> None:
        self._elements = elements

    def read(self, part: SplitRange) -> Iterator[list[Any]]:
        # Copied, because subtasks of a process may share the elements and a replayed batch reads them again.
        return in_chunks(owned(self._elements[part.start : part.end]))


def source_of(descriptor: object) -> Source[Any]:
    """Return the source that a source operator's descriptor carries.

    Raises:
        NotImplementedError: it is none that can be read.
    """
    if isinstance(descriptor, CollectionSourceOperator):
        return CollectionSource(descriptor.elements)
    if isinstance(descriptor, SourceOperator):
        if isinstance(descriptor.source, Source):
            return descriptor.source
        raise NotImplementedError(
            f"no reader for source {type(descriptor.source).__name__}: a source is of a class derived from Source"
        )
    raise NotImplementedError(
        "add_source() with a Python SourceFunction is not supported: use from_source() with a class derived from Source"
    )


# --- committers of sources -------------------------------------------------------------------------------------------

_OF_SOURCE = "source-"


def source_committer_id(operator_id: str, index: int) -> str:
    """Return the id of the committer for a part of a source; it shares the id space with sinks."""
    return f"{_OF_SOURCE}{index}/{operator_id}"


def is_of_source(committer_id: str) -> bool:
    """Return whether an id belongs to a source's committer."""
    return committer_id.startswith(_OF_SOURCE)
