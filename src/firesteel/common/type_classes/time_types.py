"""Types of dates and times: re-exported by `firesteel.common.typeinfo`."""

from __future__ import annotations

import calendar
import datetime
from enum import Enum
from typing import Any

from firesteel.common.type_classes.type_information import TypeInformation


class SqlTimeTypeInfo(TypeInformation[Any]):
    """Factory of the three `java.sql` time types."""

    _conversion = True

    @staticmethod
    def DATE() -> TypeInformation[datetime.date]:
        """Return the type of `datetime.date`."""
        return DateTypeInfo()

    @staticmethod
    def TIME() -> TypeInformation[datetime.time]:
        """Return the type of `datetime.time`."""
        return TimeTypeInfo()

    @staticmethod
    def TIMESTAMP() -> TypeInformation[datetime.datetime]:
        """Return the type of `datetime.datetime`."""
        return TimestampTypeInfo()


class DateTypeInfo(TypeInformation[datetime.date]):
    """The type of `datetime.date`; the internal form is days since the epoch."""

    _conversion = True
    EPOCH_ORDINAL = datetime.datetime(1970, 1, 1).toordinal()

    def to_internal_type(self, d: Any) -> Any:
        """Return the internal form of a value."""
        return None if d is None else d.toordinal() - self.EPOCH_ORDINAL

    def from_internal_type(self, v: Any) -> Any:
        """Return the value of an internal form."""
        return None if v is None else datetime.date.fromordinal(v + self.EPOCH_ORDINAL)


class TimeTypeInfo(TypeInformation[datetime.time]):
    """The type of `datetime.time`; the internal form is microseconds since midnight UTC."""

    _conversion = True
    EPOCH_ORDINAL = 0

    def to_internal_type(self, t: Any) -> Any:
        """Return the internal form of a value."""
        if t is None:
            return None
        offset = t.utcoffset() or datetime.timedelta()
        minutes = t.hour * 60 + t.minute
        return minutes * 60 * 10**6 + t.second * 10**6 + t.microsecond - offset // datetime.timedelta(microseconds=1)

    def from_internal_type(self, t: Any) -> Any:
        """Return the value of an internal form."""
        if t is None:
            return None
        seconds, micros = divmod(t, 10**6)
        minutes, second = divmod(seconds, 60)
        hour, minute = divmod(minutes, 60)
        return datetime.time(hour, minute, second, micros)


class TimestampTypeInfo(TypeInformation[datetime.datetime]):
    """The type of `datetime.datetime`; the internal form is microseconds since the epoch, with naive values as UTC."""

    _conversion = True

    def to_internal_type(self, dt: Any) -> Any:
        """Return the internal form of a value."""
        return None if dt is None else calendar.timegm(dt.utctimetuple()) * 10**6 + dt.microsecond

    def from_internal_type(self, ts: Any) -> Any:
        """Return the value of an internal form."""
        return None if ts is None else datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=ts)


class LocalTimeTypeInfo(TypeInformation[Any]):
    """The type of a `java.time` local date, time or date-time.

    Args:
        time_type: Kind of value: `datetime.date`, `datetime.time` or `datetime.datetime` in Python.
    """

    class TimeType(Enum):
        """The kinds of local times."""

        LOCAL_DATE = 0
        LOCAL_TIME = 1
        LOCAL_DATE_TIME = 2

    _conversion = True

    def __init__(self, time_type: LocalTimeTypeInfo.TimeType) -> None:
        super().__init__()
        self._time_type = time_type

    @property
    def time_type(self) -> LocalTimeTypeInfo.TimeType:
        """The kind of local time."""
        return self._time_type

    def _plain(self) -> TypeInformation[Any]:
        return (DateTypeInfo(), TimeTypeInfo(), TimestampTypeInfo())[self._time_type.value]

    def to_internal_type(self, obj: object) -> Any:
        """Return the internal form of a value."""
        return self._plain().to_internal_type(obj)

    def from_internal_type(self, obj: object) -> Any:
        """Return the value of an internal form."""
        return self._plain().from_internal_type(obj)

    def __repr__(self) -> str:
        return f"LocalTimeTypeInfo<{self._time_type.name}>"
