"""Texts of whole columns, parsed and written as `text_values` does for one value.

What stands for most values is done by arrays; where a text has another form, the caller reads value by value.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.pylist import pylist
from firesteel.columns.values import arrow_type
from firesteel.connectors.formats.text_values import Style, Write, writer_of

_DATE = re.compile(r"^\d{4}-\d{2}-\d{2}$")
_TIME = re.compile(r"^\d{2}:\d{2}:\d{2}(\.\d{1,6})?$")
_TIMESTAMP = re.compile(r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?$")
_NUMBER = re.compile(r"^-?\d{1,17}(\.\d{1,17})?([eE][+-]?\d{1,3})?$")
_BOOLEAN = re.compile(r"^(true|false)$")
_MICROSECONDS = 6
_PLAIN_FROM, _PLAIN_TO = 1e-3, 1e7
"""Java writes numbers outside of this range with an exponent."""

_INTEGERS = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType)

# --- reading ---------------------------------------------------------------------------------------------------------


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return a column of a table as one array."""
    array = column.combine_chunks()
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def parsed(texts: pa.Array, kind: t.DataType, style: Style) -> pa.Array | None:
    """Return the values of texts; None if a text has a form that is rare, or none.

    Args:
        texts: The texts; NULL stays NULL.
        kind: DATE, TIME, TIMESTAMP, TIMESTAMP_LTZ, BOOLEAN, FLOAT or DOUBLE.
        style: How times are written.
    """
    if texts.null_count == len(texts):
        return pa.nulls(len(texts), arrow_type(kind))
    try:
        return _PARSERS[type(kind)](texts, kind, style)
    except pa.ArrowInvalid:
        return None


def is_parsed(kind: t.DataType) -> bool:
    """Return whether `parsed` takes a type."""
    return type(kind) in _PARSERS


def _dates(texts: pa.Array, kind: t.DataType, style: Style) -> pa.Array | None:
    return texts.cast(pa.date32()) if has_form(texts, "0000-00-00", _DATE) else None


def _times(texts: pa.Array, kind: t.DataType, style: Style) -> pa.Array | None:
    if style is Style.CSV or not has_form(texts, "00:00:00.000000", _TIME):  # in CSV, digits are cut
        return None
    moments = pc.binary_join_element_wise("1970-01-01", texts, " ").cast(pa.timestamp("us"))
    return moments.cast(pa.time64("us")).cast(arrow_type(kind))


def _timestamps(texts: pa.Array, kind: t.DataType, style: Style) -> pa.Array | None:
    return None if style.zone else _moments(texts, kind, style)


def _instants(texts: pa.Array, kind: t.DataType, style: Style) -> pa.Array | None:
    if not pc.all(pc.ends_with(texts, "Z")).as_py():
        return None
    found = _moments(pc.utf8_slice_codeunits(texts, 0, -1), kind, style)
    return None if found is None else found.cast(arrow_type(kind))


def _moments(texts: pa.Array, kind: t.DataType, style: Style) -> pa.Array | None:
    assert isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType))
    if not has_form(texts, f"0000-00-00{style.separator}00:00:00.000000", _TIMESTAMP, style.separator):
        return None
    found = texts.cast(pa.timestamp("us"))
    if kind.precision >= _MICROSECONDS:
        return found
    step = 10 ** (_MICROSECONDS - kind.precision)
    micros = found.cast(pa.int64())
    return pc.subtract(micros, pa.array(np.mod(np.asarray(pc.fill_null(micros, 0)), step))).cast(pa.timestamp("us"))


def _numbers(texts: pa.Array, kind: t.DataType, style: Style) -> pa.Array | None:
    if not _all_match(texts, _NUMBER):
        return None
    return texts.cast(pa.float64()).cast(arrow_type(kind), safe=False)


def _booleans(texts: pa.Array, kind: t.DataType, style: Style) -> pa.Array | None:
    return pc.equal(texts, "true") if _all_match(texts, _BOOLEAN) else None


_PARSERS: dict[type[t.DataType], Callable[[pa.Array, t.DataType, Style], pa.Array | None]] = {
    t.DateType: _dates,
    t.TimeType: _times,
    t.TimestampType: _timestamps,
    t.LocalZonedTimestampType: _instants,
    t.FloatType: _numbers,
    t.DoubleType: _numbers,
    t.BooleanType: _booleans,
}


def has_form(texts: pa.Array, form: str, pattern: re.Pattern[str], separator: str = "") -> bool:
    """Return whether all texts match a pattern.

    Args:
        texts: The texts; NULL matches.
        form: The longest text that matches, with 0 for each digit. Shorter texts match if they begin like it and also
            match the pattern.
        pattern: A regular expression, much slower than a comparison of bytes.
        separator: A text that all must have.
    """
    if texts.null_count:
        texts = texts.drop_null()
    count = len(texts)
    if not count:
        return True
    offsets = np.frombuffer(texts.buffers()[1], np.int32, count + 1, texts.offset * 4)
    length = int(offsets[1] - offsets[0])
    example = form[:length]
    if (np.diff(offsets) != length).any() or pattern.match(example) is None or len(example) < length:
        has_separator = not separator or pc.all(pc.match_substring(texts, separator)).as_py()
        return bool(has_separator) and _all_match(texts, pattern)
    found = np.frombuffer(texts.buffers()[2], np.uint8)[offsets[0] : offsets[-1]].reshape(count, length)
    expected = np.frombuffer(example.encode(), np.uint8)
    is_digit = expected == ord("0")
    digits = found[:, is_digit] - np.uint8(ord("0"))  # other characters wrap to more than 9
    return bool((digits <= 9).all() and (found[:, ~is_digit] == expected[~is_digit]).all())


def _all_match(texts: pa.Array, pattern: re.Pattern[str]) -> bool:
    return pc.all(pc.match_substring_regex(texts, pattern.pattern)).as_py() is not False


# --- writing ---------------------------------------------------------------------------------------------------------


def texts_of(values: pa.Array, kind: t.DataType, style: Style, is_plain: bool = False) -> pa.Array:
    """Return the texts of values, NULL for NULL.

    Args:
        values: The values.
        kind: A type that has no parts.
        style: How times are written.
        is_plain: Whether decimals are written with all digits of their scale.
    """
    if isinstance(kind, (t.CharType, t.VarCharType)):
        return values
    if isinstance(kind, (*_INTEGERS, t.BooleanType, t.DateType)):
        return values.cast(pa.string())
    if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        return _texts_of_moments(values, kind, style)
    if isinstance(kind, t.DoubleType):
        return _texts_of_doubles(values, writer_of(kind, style))
    write = writer_of(kind, style, is_plain)
    return pa.array([None if value is None else write(value) for value in pylist(values)], pa.string())


def _texts_of_moments(values: pa.Array, kind: t.DataType, style: Style) -> pa.Array:
    """Return times in UTC, with the digits of the fraction that each has."""
    texts = values.cast(pa.timestamp("us")).cast(pa.string())
    texts = pc.utf8_rtrim(pc.utf8_rtrim(texts, "0"), ".")
    if style.separator != " ":
        texts = pc.replace_substring(texts, " ", style.separator, max_replacements=1)
    zone = "Z" if isinstance(kind, t.LocalZonedTimestampType) else style.zone
    return pc.binary_join_element_wise(texts, zone, "") if zone else texts


def _texts_of_doubles(values: pa.Array, write: Write) -> pa.Array:
    """Return numbers as Java writes them; in its range without exponents, Arrow does but for `.0`."""
    size = pc.abs(values)
    is_plain = pc.fill_null(pc.and_(pc.greater_equal(size, _PLAIN_FROM), pc.less(size, _PLAIN_TO)), True)
    texts = values.cast(pa.string())
    whole = pc.binary_join_element_wise(texts, ".0", "")
    texts = pc.if_else(pc.match_substring(texts, "."), texts, whole)
    if pc.all(is_plain).as_py() is not False:
        return texts
    others = pc.invert(is_plain)
    written = pa.array([write(value) for value in pylist(values.filter(others))], pa.string())
    return pc.replace_with_mask(texts, others, written)
