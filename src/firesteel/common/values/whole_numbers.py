"""Integers of the width of a type."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from firesteel.common.typeinfo import BasicType
from firesteel.errors import ValueOverflowError

__all__ = [
    "MAX_LONG",
    "MIN_LONG",
    "WHOLE_BITS",
    "check_timestamp",
    "check_timestamps",
    "in_range",
    "range_of",
]

WHOLE_BITS: Mapping[BasicType, int] = {
    BasicType.BYTE: 8,
    BasicType.SHORT: 16,
    BasicType.INT: 32,
    BasicType.LONG: 64,
}
"""The width of each integer type with a range; a value outside of it fails the job."""

MIN_LONG, MAX_LONG = -(1 << 63), (1 << 63) - 1


def range_of(basic_type: BasicType) -> tuple[int, int]:
    """Return the smallest and the largest value of an integer type.

    Example:
        >>> range_of(BasicType.BYTE)
        (-128, 127)
    """
    half = 1 << (WHOLE_BITS[basic_type] - 1)
    return -half, half - 1


def check_timestamp(timestamp: int) -> None:
    """Reject a timestamp that Flink could not store.

    Raises:
        ValueOverflowError: the timestamp is outside 64 bits; nothing would ever be due then.
    """
    if not MIN_LONG <= timestamp <= MAX_LONG:
        raise ValueOverflowError("timestamp (int of 64 bits)", timestamp)


def check_timestamps(timestamps: Sequence[int], values: Sequence[object]) -> None:
    """Reject timestamps of elements as `check_timestamp` does; errors name the element.

    Raises:
        ValueOverflowError: a timestamp is outside 64 bits.
    """
    try:
        array("q", timestamps)  # a tenth of the time of a loop
    except OverflowError:
        remaining = iter(values)  # `operators.errors.in_hand` reads from it which element failed
        for timestamp, _ in zip(timestamps, remaining, strict=True):
            check_timestamp(timestamp)


def in_range(value: int, basic_type: BasicType) -> int:
    """Return an integer unchanged.

    Raises:
        ValueError: the integer is out of the type's range.
    """
    if basic_type in WHOLE_BITS:
        low, high = range_of(basic_type)
        if not low <= value <= high:
            raise ValueError(f"{value} is out of the range of {basic_type.name}")
    return value
