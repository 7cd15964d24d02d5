"""Statistics of tables in catalogs; they are stored, but not used for planning."""

from __future__ import annotations

import copy
from typing import Any, Self


class CatalogTableStatistics:
    """The size of a table.

    Args:
        row_count: Number of rows; None if unknown.
        field_count: Number of files, in spite of the name, which is PyFlink's; None if unknown.
        total_size: Size in bytes; None if unknown.
        raw_data_size: Size in bytes without compression; None if unknown.
        properties: Further properties by key; None for none. The dict is copied.

    Example:
        >>> CatalogTableStatistics(row_count=1000, field_count=3, total_size=80_000).get_row_count()
        1000
    """

    def __init__(
        self,
        row_count: int | None = None,
        field_count: int | None = None,
        total_size: int | None = None,
        raw_data_size: int | None = None,
        properties: dict[str, str] | None = None,
    ) -> None:
        self._row_count = row_count
        self._field_count = field_count
        self._total_size = total_size
        self._raw_data_size = raw_data_size
        self._properties = dict(properties or {})

    def get_row_count(self) -> int | None:
        """Return the number of rows."""
        return self._row_count

    def get_field_count(self) -> int | None:
        """Return the number of files."""
        return self._field_count

    def get_total_size(self) -> int | None:
        """Return the size in bytes."""
        return self._total_size

    def get_raw_data_size(self) -> int | None:
        """Return the size in bytes without compression."""
        return self._raw_data_size

    def get_properties(self) -> dict[str, str]:
        """Return further properties."""
        return dict(self._properties)

    def copy(self) -> Self:
        """Return a copy."""
        return copy.deepcopy(self)


class CatalogColumnStatistics:
    """Statistics by column.

    Args:
        column_statistics_data: Statistics by column name, in any form; None for none. The dict is copied.
        properties: Further properties by key; None for none. The dict is copied.

    Example:
        >>> CatalogColumnStatistics({"id": {"max": 100}}).get_column_statistics_data()
        {'id': {'max': 100}}
    """

    def __init__(
        self, column_statistics_data: dict[str, Any] | None = None, properties: dict[str, str] | None = None
    ) -> None:
        self._column_statistics_data = dict(column_statistics_data or {})
        self._properties = dict(properties or {})

    def get_column_statistics_data(self) -> dict[str, Any]:
        """Return the statistics by column."""
        return dict(self._column_statistics_data)

    def get_properties(self) -> dict[str, str]:
        """Return further properties."""
        return dict(self._properties)

    def copy(self) -> Self:
        """Return a copy."""
        return copy.deepcopy(self)
