"""Names of indices that depend on rows, such as `logs-{at|yyyy-MM-dd}`. Flink: `IndexGeneratorFactory`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence

from firesteel.columns import column_types as t
from firesteel.columns.cells import Cell
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.java_dates import java_formatter
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import session_zone
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_connector import Column

_PLACE = re.compile(r"\{([^{}]+)\}")
_NOW = re.compile(r"now\(\s*\)|NOW\(\s*\)|current_timestamp|CURRENT_TIMESTAMP")
_PLAIN = (t.CharType, t.VarCharType, t.TinyIntType, t.IntType, t.BigIntType)
_PATTERNS: dict[type[t.DataType], str] = {
    t.DateType: "yyyy_MM_dd",
    t.TimeType: "HH_mm_ss",
    t.TimestampType: "yyyy_MM_dd_HH_mm_ss",
    t.LocalZonedTimestampType: "",  # Flink's has the offset of the zone, for which there is no letter here
}
"""The types of times, with the pattern that stands for an empty one."""


class IndexNames:
    """The index of each row. It is picklable.

    Args:
        text: The option `index`: a name with at most one place `{column}`, `{column|pattern}` or `{now()|pattern}`.
        columns: The columns of the rows.
        configuration: Has the time zone of the session.

    Attributes:
        column: Position of the column in the place; None if the index does not depend on rows.
        is_of_clock: Whether the index depends on the time at which a row is written.

    Raises:
        ValidationException: the text is empty, has several places, or names an unknown column or pattern.
    """

    def __init__(self, text: str, columns: Sequence[Column], configuration: Mapping[str, str]) -> None:
        places = _PLACE.findall(text)
        if len(places) > 1 or not text:
            raise ValidationException(f"Option 'index' must be a name with at most one place in braces, found {text!r}")
        self._text = text
        self._configuration = dict(configuration)
        self.column: int | None = None
        self._pattern: str | None = None
        self._type: t.DataType | None = None
        name, has_pattern, pattern = places[0].partition("|") if places else ("", "", "")
        self.is_of_clock = _NOW.fullmatch(name.strip()) is not None and bool(has_pattern)
        if self.is_of_clock:
            self._type = t.LocalZonedTimestampType(3)
        elif places:
            self.column, self._type = _found(name, columns, text)
        if has_pattern:
            self._pattern = _checked_pattern(pattern, self._type, text)
        elif type(self._type) in _PATTERNS:
            raise ValidationException(f"The column in {text!r} is a time and needs a pattern: {{{name}|yyyy-MM-dd}}")

    def names(self, values: Sequence[Cell] | None, count: int) -> list[str]:
        """Return the index of each row.

        Args:
            values: The values of the column in the place; None if there is none.
            count: Number of rows.
        """
        if values is None:
            return [self._name(datetime.datetime.now(datetime.UTC)) if self.is_of_clock else self._text] * count
        return [self._name(value) for value in values]

    def _name(self, value: object) -> str:
        shown = "null" if value is None else self._formatter()(value)
        return _PLACE.sub(lambda _: shown, self._text)

    def _formatter(self) -> Callable[[Cell], str]:
        if self._pattern is None:
            return str
        write = java_formatter(self._pattern)
        if isinstance(self._type, t.LocalZonedTimestampType):
            zone = session_zone(self._configuration)
            return lambda value: write(value.astimezone(zone))
        return lambda value: write(_as_timestamp(value))


def _as_timestamp(value: datetime.date | datetime.time | datetime.datetime) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value
    if isinstance(value, datetime.time):
        return datetime.datetime.combine(datetime.date(1970, 1, 1), value)
    return datetime.datetime.combine(value, datetime.time())


def _found(name: str, columns: Sequence[Column], text: str) -> tuple[int, t.DataType]:
    names = [column.name for column in columns]
    if name not in names:
        raise ValidationException(f"Unknown field '{name}' in index pattern '{text}', please check the field name.")
    kind = columns[names.index(name)].type
    if not isinstance(kind, (*_PLAIN, *_PATTERNS)):
        raise ValidationException(
            f"The index {text!r} depends on a column of type {type_text(kind)}; it must be a time, a text, "
            "TINYINT, INT or BIGINT"
        )
    return names.index(name), kind


def _checked_pattern(pattern: str, kind: t.DataType | None, text: str) -> str:
    if kind is None or type(kind) not in _PATTERNS:
        raise ValidationException(f"The column in {text!r} has a pattern of times, but is no time")
    found = pattern or _PATTERNS[type(kind)]
    if not found:
        raise ValidationException(f"The index {text!r} needs a pattern, such as yyyy-MM-dd")
    try:
        java_formatter(found)
    except FunctionError as error:
        raise ValidationException(f"The index {text!r} has an unsupported pattern: {error}") from error
    return found
