"""Parameters of the queries of a `JdbcSource`: re-exported by `firesteel.datastream.connectors.jdbc`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol


class JdbcParameterValuesProvider(Protocol):
    """Provides the parameters of a query's splits (Flink: `jdbc.split.JdbcParameterValuesProvider`)."""

    def get_parameter_values(self) -> Sequence[Sequence[Any]]:
        """Return the parameters of each split."""


class GenericParameterValuesProvider:
    """Provides the given lists of parameters, one for each split (Flink: class of the same name).

    Args:
        parameters: For each split, the values of the query's `?` in order; they are copied.

    Example:
        >>> GenericParameterValuesProvider([("de",), ("fr",)]).get_parameter_values()
        [('de',), ('fr',)]
    """

    def __init__(self, parameters: Iterable[Sequence[Any]]) -> None:
        self._parameters = [tuple(values) for values in parameters]

    def get_parameter_values(self) -> Sequence[Sequence[Any]]:
        """Return the parameters of each split."""
        return self._parameters


class NumericBetweenParametersProvider:
    """Divides a range of integers into splits, for queries with `BETWEEN ? AND ?` (Flink: class of the same name).

    Call `of_batch_size` or `of_batch_num` to set the number of splits.

    Args:
        min_val: Smallest number to read.
        max_val: Largest number to read.

    Example:
        >>> NumericBetweenParametersProvider(1, 10).of_batch_num(3).get_parameter_values()
        [(1, 4), (5, 7), (8, 10)]
    """

    def __init__(self, min_val: int, max_val: int) -> None:
        if min_val > max_val:
            raise ValueError(f"min_val must not be greater than max_val, found {min_val} and {max_val}")
        self._min, self._count = min_val, max_val - min_val + 1
        self._size = self._number = 0

    def of_batch_size(self, batch_size: int) -> NumericBetweenParametersProvider:
        """Divide the range into splits of a size.

        Args:
            batch_size: Maximum number of integers in a split, at least 1; sizes differ by at most 1.

        Raises:
            ValueError: `batch_size` is less than 1.
        """
        self._size = min(_positive("batch_size", batch_size), self._count)
        self._number = -(-self._count // self._size)
        return self

    def of_batch_num(self, batch_num: int) -> NumericBetweenParametersProvider:
        """Divide the range into a number of splits.

        Args:
            batch_num: Number of splits, at least 1; there are never more splits than integers.

        Raises:
            ValueError: `batch_num` is less than 1.
        """
        self._number = min(_positive("batch_num", batch_num), self._count)
        self._size = -(-self._count // self._number)
        return self

    def get_parameter_values(self) -> list[tuple[int, int]]:
        """Return the first and the last number of each split; longer splits come first.

        Raises:
            ValueError: the number of splits is not set.
        """
        if not self._number:
            raise ValueError("NumericBetweenParametersProvider: call of_batch_size() or of_batch_num() first")
        longer = self._count - (self._size - 1) * self._number
        found, start = [], self._min
        for i in range(self._number):
            end = start + self._size - (1 if i < longer else 2)
            found.append((start, end))
            start = end + 1
        return found


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"NumericBetweenParametersProvider: {name} must be 1 or greater, found {value}")
    return value
