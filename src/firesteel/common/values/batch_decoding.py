"""Deserialization of many messages at once, with error messages that name the invalid message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.serialization import DeserializationSchema

_BAD_MESSAGE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


def decode_each(
    schema: DeserializationSchema[Any],
    messages: list[bytes],
    where: Callable[[int], str],
    error_type: Callable[[str], Exception],
) -> list[Any]:
    """Return the records that a schema returns for messages.

    Args:
        schema: Deserializes all messages at once, or fails if one is invalid.
        messages: The messages of one buffer.
        where: Describes a message, given its index.
        error_type: Creates the error, given its text.

    Raises:
        Exception: a message is invalid; the error says which one, and why.
    """
    try:
        return schema.deserialize_all(messages)
    except Exception as error:
        for index, message in enumerate(messages):
            try:
                schema.deserialize(message)
            except Exception as cause:
                text = f"could not deserialize {where(index)}: {type(cause).__name__}: {cause}"
                raise error_type(text) from cause
        raise error_type(f"could not deserialize {where(0)}: {error}") from error


def decode_all(
    messages: list[bytes], decode_batch: Callable[[list[bytes]], list[Any]], decode_one: Callable[[bytes], Any]
) -> list[Any]:
    """Return a record for each message, in order.

    Args:
        messages: The messages of one buffer.
        decode_batch: Decodes all messages, or fails if one is invalid.
        decode_one: Decodes one message. Returns None to skip it and raises an error if it is invalid.

    Raises:
        ValueError: a message is invalid; the error names its position in the buffer, from 1.
    """

    def decode(start: int, end: int) -> list[Any]:
        try:
            return decode_batch(messages[start:end])
        except _BAD_MESSAGE:
            if end - start > 1:
                middle = (start + end) // 2
                return decode(start, middle) + decode(middle, end)
        try:
            return [decode_one(messages[start])]
        except ValueError as error:
            raise ValueError(f"message {start + 1} of {len(messages)}: {error}") from error

    return decode(0, len(messages)) if messages else []
