"""Families of logical types, and types that many rules use."""

from __future__ import annotations

from firesteel.columns import column_types as t

STRINGS = (t.CharType, t.VarCharType)
BYTES = (t.BinaryType, t.VarBinaryType)
TIMESTAMPS = (t.TimestampType, t.LocalZonedTimestampType)
DATETIMES = (t.DateType, *TIMESTAMPS)
INTERVALS = (t.DayTimeIntervalType, t.YearMonthIntervalType)
APPROXIMATE = (t.FloatType, t.DoubleType)
INTEGRAL_ORDER: tuple[type[t.DataType], ...] = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType)

DAY_TIME = t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.SECOND, fractional_precision=3)
YEAR_MONTH = t.YearMonthIntervalType(t.YearMonthIntervalType.YearMonthResolution.MONTH)
STRING = t.VarCharType(t.MAX_LENGTH)
