"""Decoding of many messages at once, which finds the bad ones when it fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_BAD_MESSAGE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


def decode_all(
    messages: list[bytes], decode_batch: Callable[[list[bytes]], list[Any]], decode_one: Callable[[bytes], Any]
) -> list[Any]:
    """Return a record for each message, in order.

    Args:
        messages: Of one buffer.
        decode_batch: Decodes all of them, or fails if one is bad.
        decode_one: Decodes one; gives None for one that is to be skipped, and says what is wrong with a bad one.

    Raises:
        ValueError: a message is bad; the text names its position in the buffer, from 1.
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
