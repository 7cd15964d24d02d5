"""Constants that methods of expressions take."""

from __future__ import annotations

from enum import Enum, auto


class TimeIntervalUnit(Enum):
    """A unit of time of `extract`, `floor` and `ceil`. Flink: `TimeIntervalUnit`."""

    YEAR = auto()
    YEAR_TO_MONTH = auto()
    QUARTER = auto()
    MONTH = auto()
    WEEK = auto()
    DAY = auto()
    DAY_TO_HOUR = auto()
    DAY_TO_MINUTE = auto()
    DAY_TO_SECOND = auto()
    HOUR = auto()
    SECOND = auto()
    HOUR_TO_MINUTE = auto()
    HOUR_TO_SECOND = auto()
    MINUTE = auto()
    MINUTE_TO_SECOND = auto()


class TimePointUnit(Enum):
    """A unit of time of `timestamp_diff`. Flink: `TimePointUnit`."""

    YEAR = auto()
    MONTH = auto()
    DAY = auto()
    HOUR = auto()
    MINUTE = auto()
    SECOND = auto()
    QUARTER = auto()
    WEEK = auto()
    MILLISECOND = auto()
    MICROSECOND = auto()


class JsonType(Enum):
    """The kind of JSON that `is_json` checks for."""

    VALUE = auto()
    SCALAR = auto()
    ARRAY = auto()
    OBJECT = auto()


class JsonExistsOnError(Enum):
    """The result of `json_exists` on an error."""

    TRUE = auto()
    FALSE = auto()
    UNKNOWN = auto()
    ERROR = auto()


class JsonValueOnEmptyOrError(Enum):
    """The result of `json_value` if nothing is found, or on an error."""

    NULL = auto()
    ERROR = auto()
    DEFAULT = auto()


class JsonQueryWrapper(Enum):
    """The rule by which `json_query` wraps its result into an array."""

    WITHOUT_ARRAY = auto()
    CONDITIONAL_ARRAY = auto()
    UNCONDITIONAL_ARRAY = auto()


class JsonQueryOnEmptyOrError(Enum):
    """The result of `json_query` if nothing is found, or on an error."""

    NULL = auto()
    EMPTY_ARRAY = auto()
    EMPTY_OBJECT = auto()
    ERROR = auto()


class JsonOnNull(Enum):
    """The treatment of NULL by functions that create JSON."""

    NULL = auto()
    ABSENT = auto()
