"""Column generators of the connector `datagen`: random values and sequences. Flink: `RandomGeneratorVisitor`."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.cells import Cell
from firesteel.columns.values import to_arrow
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_options import Options

_BITS: dict[type[t.DataType], int] = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}
_SEQUENCES = (*_BITS, t.FloatType, t.DoubleType, t.DecimalType, t.CharType, t.VarCharType)
_LARGEST = {t.FloatType: 3.4028235e38, t.DoubleType: 1.7976931348623157e308}
_HEX = "0123456789abcdef"
_DEFAULT_LENGTH = 100
_DEFAULT_ELEMENTS = 3
_DAY = datetime.timedelta(days=1)

Random = np.random.Generator
Values = Callable[[Random, int], list[Cell]]


class Field:
    """A generator of a column.

    Attributes:
        count: Number of values; None if unbounded.
    """

    count: int | None = None

    def make(self, random: Random, first: int, rows: int) -> pa.Array:
        """Return the values of some rows, of which `first` is the number of the first one."""
        raise NotImplementedError


class SequenceField(Field):
    """Consecutive numbers."""

    def __init__(self, kind: t.DataType, start: int, end: int) -> None:
        self._kind = kind
        self._start = start
        self.count = end - start + 1

    def make(self, random: Random, first: int, rows: int) -> pa.Array:
        """Return the numbers of some rows."""
        numbers = range(self._start + first, self._start + first + rows)
        if isinstance(self._kind, (t.CharType, t.VarCharType)):
            return to_arrow(list(map(str, numbers)), self._kind)
        return to_arrow(list(numbers), self._kind)


class RandomField(Field):
    """Random values, some of them NULL."""

    def __init__(self, kind: t.DataType, values: Values, null_rate: float) -> None:
        self._kind = kind
        self._values = values
        self._null_rate = null_rate

    def make(self, random: Random, first: int, rows: int) -> pa.Array:
        """Return random values."""
        values = self._values(random, rows)
        if self._null_rate > 0:
            values = [
                None if chance < self._null_rate else v for chance, v in zip(random.random(rows), values, strict=True)
            ]
        return to_arrow(values, self._kind)


def field_of(options: Options, kind: t.DataType) -> Field:
    """Return the generator of a column from its options `fields.<name>.*`.

    Raises:
        ValidationException: an option is invalid.
    """
    if options.choice("kind", ("random", "sequence"), "random") == "sequence":
        options.check(("start", "end"), ("kind",))
        if not isinstance(kind, _SEQUENCES):
            raise ValidationException(f"Unsupported type for a sequence of {options.owner}: {kind.type_name()}")
        return SequenceField(kind, options.number("start"), options.number("end"))
    null_rate = float(options.text("null-rate", "0"))
    return RandomField(kind, _random(options, kind), null_rate)


def _random(options: Options, kind: t.DataType) -> Values:
    if type(kind) in _BITS:
        bound = 1 << _BITS[type(kind)] - 1
        low, high = options.number("min", -bound), options.number("max", bound - 1)
        return lambda random, rows: random.integers(low, high, rows, np.int64, endpoint=True).tolist()
    if isinstance(kind, (t.FloatType, t.DoubleType)):
        return _floats(options, _LARGEST[type(kind)])
    if isinstance(kind, t.DecimalType):
        largest = 10.0 ** (kind.precision - kind.scale) - 10.0**-kind.scale
        floats = _floats(options, largest)
        return lambda random, rows: [round(value, kind.scale) for value in floats(random, rows)]
    if isinstance(kind, t.BooleanType):
        return lambda random, rows: (random.random(rows) < 0.5).tolist()
    if isinstance(kind, (t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType)):
        return _strings(options, kind)
    if isinstance(kind, (t.DateType, t.TimeType, t.TimestampType, t.LocalZonedTimestampType)):
        return _times(options, kind)
    if isinstance(kind, (t.ArrayType, t.MultisetType, t.MapType, t.RowType)):
        return _nested(options, kind)
    raise ValidationException(f"Unsupported type for {options.owner}: {kind.type_name()}")


def _floats(options: Options, largest: float) -> Values:
    low, high = float(options.text("min", str(-largest))), float(options.text("max", str(largest)))
    # The difference of the largest numbers is not a number, so halves are taken.
    return lambda random, rows: (2 * (low / 2 + random.random(rows) * (high / 2 - low / 2))).tolist()


def _strings(options: Options, kind: Any) -> Values:
    fixed = isinstance(kind, (t.CharType, t.BinaryType))
    default = kind.length if fixed or kind.length != t.MAX_LENGTH else _DEFAULT_LENGTH
    length = min(options.number("length", min(default, kind.length)), kind.length)
    is_bytes = isinstance(kind, (t.BinaryType, t.VarBinaryType))

    def values(random: Random, rows: int) -> list[Cell]:
        if is_bytes:
            return [random.bytes(length) for _ in range(rows)]
        digits = random.integers(0, 16, (rows, length))
        return ["".join(_HEX[digit] for digit in row) for row in digits.tolist()]

    return values


def _times(options: Options, kind: t.DataType) -> Values:
    past = options.duration_ms("max-past", 0) or 0

    def values(random: Random, rows: int) -> list[Cell]:
        now = datetime.datetime.now(datetime.UTC)
        moments = [now - datetime.timedelta(milliseconds=int(ms)) for ms in random.integers(0, past + 1, rows)]
        if isinstance(kind, t.DateType):
            return [
                moment.date() - _DAY * int(days)
                for moment, days in zip(moments, random.integers(0, 3650, rows), strict=True)
            ]
        if isinstance(kind, t.TimeType):
            return [
                (datetime.datetime.min + datetime.timedelta(seconds=int(s))).time()
                for s in random.integers(0, 86_400, rows)
            ]
        return moments if isinstance(kind, t.LocalZonedTimestampType) else [m.replace(tzinfo=None) for m in moments]

    return values


def _nested(options: Options, kind: Any) -> Values:
    if isinstance(kind, t.RowType):
        fields = [_random(options.below(f"{field.name}.", options.owner), field.data_type) for field in kind.fields]
        return lambda random, rows: list(zip(*(field(random, rows) for field in fields), strict=True))
    count = options.number("length", _DEFAULT_ELEMENTS)
    if isinstance(kind, t.ArrayType):
        element = _random(options.below("element.", options.owner), kind.element_type)
        return lambda random, rows: [element(random, count) for _ in range(rows)]
    if isinstance(kind, t.MultisetType):
        element = _random(options.below("element.", options.owner), kind.element_type)
        return lambda random, rows: [dict.fromkeys(element(random, count), 1) for _ in range(rows)]
    key = _random(options.below("key.", options.owner), kind.key_type)
    value = _random(options.below("value.", options.owner), kind.value_type)
    return lambda random, rows: [dict(zip(key(random, count), value(random, count), strict=True)) for _ in range(rows)]
