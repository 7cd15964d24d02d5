"""Serializers of elements, used by custom windows (module as `pyflink.common.serializer`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic, TypeVar

T = TypeVar("T")

__all__ = ["TypeSerializer", "VoidNamespaceSerializer"]


class TypeSerializer(ABC, Generic[T]):
    """Writes elements of one kind to a byte stream and reads them.

    Example:
        >>> from io import BytesIO
        >>> class LengthSerializer(TypeSerializer):
        ...     def serialize(self, element, stream):
        ...         stream.write(element.to_bytes(2, "big"))
        ...     def deserialize(self, stream):
        ...         return int.from_bytes(stream.read(2), "big")
        >>> stream = BytesIO()
        >>> LengthSerializer().serialize(300, stream)
        >>> LengthSerializer().deserialize(BytesIO(stream.getvalue()))
        300
    """

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write an element to a stream.

        Args:
            element: The element.
            stream: Written from its current position.
        """

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read one element.

        Args:
            stream: Read from its current position, and only as far as the element goes.
        """

    def __repr__(self) -> str:
        return type(self).__name__

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(type(self).__name__)


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """The serializer of the empty namespace, which writes a zero byte."""

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        """Write a zero byte."""
        stream.write(b"\0")

    def deserialize(self, stream: BytesIO) -> bytes:
        """Read a byte."""
        stream.read(1)
        return b""
