"""Interval types."""

from __future__ import annotations

import datetime
from enum import Enum
from typing import Any

from firesteel.columns.data_type import AtomicType


class Resolution:
    """The unit at one end of an interval type, as returned by `DataTypes.DAY(2)`."""

    class IntervalUnit(Enum):
        """The units of interval types."""

        SECOND = 0
        MINUTE = 1
        HOUR = 2
        DAY = 3
        MONTH = 4
        YEAR = 5

    def __init__(self, unit: IntervalUnit, precision: int = -1) -> None:
        self._unit = unit
        self._precision = precision

    @property
    def unit(self) -> IntervalUnit:
        """Return the unit."""
        return self._unit

    @property
    def precision(self) -> int:
        """Return the number of digits, -1 for the default."""
        return self._precision

    def __str__(self) -> str:
        return f"{self._unit}({self._precision})"


class YearMonthIntervalType(AtomicType):
    """`INTERVAL YEAR`, `INTERVAL YEAR TO MONTH` or `INTERVAL MONTH`; values are numbers of months."""

    class YearMonthResolution:
        """The resolutions of a year-month interval."""

        YEAR = 1
        MONTH = 2
        YEAR_TO_MONTH = 3

    DEFAULT_PRECISION = 2

    def __init__(self, resolution: int, precision: int = DEFAULT_PRECISION, nullable: bool = True) -> None:
        if not 1 <= precision <= 4:
            raise ValueError(f"Year precision must be between 1 and 4, found {precision}")
        super().__init__(nullable)
        self._resolution = resolution
        self._precision = precision

    @property
    def resolution(self) -> int:
        """Return the resolution, one of `YearMonthResolution`."""
        return self._resolution

    @property
    def precision(self) -> int:
        """Return the number of digits of the year."""
        return self._precision

    def _identity(self) -> tuple[object, ...]:
        return self._resolution, self._precision, self._nullable

    def _arguments(self) -> tuple[object, ...]:
        return (self._nullable,)


class DayTimeIntervalType(AtomicType):
    """An interval of days to fractions of seconds."""

    class DayTimeResolution(Enum):
        """The resolutions of a day-time interval."""

        DAY = 1
        DAY_TO_HOUR = 2
        DAY_TO_MINUTE = 3
        DAY_TO_SECOND = 4
        HOUR = 5
        HOUR_TO_MINUTE = 6
        HOUR_TO_SECOND = 7
        MINUTE = 8
        MINUTE_TO_SECOND = 9
        SECOND = 10

    DEFAULT_DAY_PRECISION = 2
    DEFAULT_FRACTIONAL_PRECISION = 6

    def __init__(
        self,
        resolution: DayTimeResolution,
        day_precision: int = DEFAULT_DAY_PRECISION,
        fractional_precision: int = DEFAULT_FRACTIONAL_PRECISION,
        nullable: bool = True,
    ) -> None:
        if not 1 <= day_precision <= 6:
            raise ValueError(f"Day precision must be between 1 and 6, found {day_precision}")
        if not 0 <= fractional_precision <= 9:
            raise ValueError(f"Fractional precision must be between 0 and 9, found {fractional_precision}")
        super().__init__(nullable)
        self._resolution = resolution
        self._day_precision = day_precision
        self._fractional_precision = fractional_precision

    @property
    def resolution(self) -> DayTimeResolution:
        """Return the resolution: the first and the last unit."""
        return self._resolution

    @property
    def day_precision(self) -> int:
        """Return the number of digits of the day."""
        return self._day_precision

    @property
    def fractional_precision(self) -> int:
        """Return the number of digits of the fraction of a second."""
        return self._fractional_precision

    def _identity(self) -> tuple[object, ...]:
        return self._resolution, self._day_precision, self._fractional_precision, self._nullable

    def _arguments(self) -> tuple[object, ...]:
        return (self._nullable,)

    def need_conversion(self) -> bool:
        """Return True."""
        return True

    def to_sql_type(self, timedelta: Any) -> Any:
        """Return the microseconds of a timedelta."""
        return None if timedelta is None else timedelta // datetime.timedelta(microseconds=1)

    def from_sql_type(self, ts: Any) -> Any:
        """Return the timedelta of a number of microseconds."""
        return None if ts is None else datetime.timedelta(microseconds=ts)
