"""Parameters of the queries that a `JdbcSource` runs: re-exported by `firesteel.datastream.connectors.jdbc`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol


class JdbcParameterValuesProvider(Protocol):
    """Says with which parameters a query is run (Flink: `jdbc.split.JdbcParameterValuesProvider`)."""

    def get_parameter_values(self) -> Sequence[Sequence[Any]]:
        """Return the parameters of each split."""


class GenericParameterValuesProvider:
    """Runs a query once with each of the given lists of parameters (Flink: class of the same name).

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
    """Cuts a range of whole numbers into splits, for queries with `BETWEEN ? AND ?` (Flink: class of the same name).

    Call `of_batch_size` or `of_batch_num` to say into how many.

    Args:
        min_val: Smallest number that is read.
        max_val: Largest number that is read.

    Example:
        >>> NumericBetweenParametersProvider(1, 10).of_batch_num(3).get_parameter_values()
        [(1, 4), (5, 7), (8, 10)]
    """

    def __init__(self, min_val: int, max_val: int) -> None:
        if min_val > max_val:
            raise ValueError(f"min_val must not be larger than max_val, found {min_val} and {max_val}")
        self._min, self._count = min_val, max_val - min_val + 1
        self._size = self._number = 0

    def of_batch_size(self, batch_size: int) -> NumericBetweenParametersProvider:
        """Make splits of up to `batch_size` numbers.

        Raises:
            ValueError: it is less than 1.
        """
        self._size = min(_positive("batch_size", batch_size), self._count)
        self._number = -(-self._count // self._size)
        return self

    def of_batch_num(self, batch_num: int) -> NumericBetweenParametersProvider:
        """Make `batch_num` splits, or as many as there are numbers.

        Raises:
            ValueError: it is less than 1.
        """
        self._number = min(_positive("batch_num", batch_num), self._count)
        self._size = -(-self._count // self._number)
        return self

    def get_parameter_values(self) -> list[tuple[int, int]]:
        """Return the first and last number of each split; the longer ones come first.

        Raises:
            ValueError: it was not said how many splits there are.
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
