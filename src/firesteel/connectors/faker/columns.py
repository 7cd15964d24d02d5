"""Columns of made-up values."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import TYPE_CHECKING

from firesteel.columns import column_types as t
from firesteel.columns.cells import Cell
from firesteel.columns.pylist import pylist
from firesteel.columns.type_text import type_text
from firesteel.columns.values import to_arrow
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.datagen.fields import Field
from firesteel.connectors.faker.expressions import Chance, Expression, Value, as_text, expression_of
from firesteel.connectors.formats.text_values import reader_of
from firesteel.connectors.table_connector import Column
from firesteel.connectors.table_options import Options

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from faker import Faker

Convert = Callable[[Value], Cell]

_JAVA_DATE = "%a %b %d %H:%M:%S UTC %Y"
_SCALARS = (t.CharType, t.VarCharType, t.BooleanType, t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType,
            t.FloatType, t.DoubleType, t.DecimalType, t.DateType, t.TimestampType,
            t.LocalZonedTimestampType)  # fmt: skip
_TIMES = (t.DateType, t.TimestampType, t.LocalZonedTimestampType)


class FakerField(Field):
    """A column of made-up values, some of them NULL.

    Args:
        kind: The type of the column.
        expressions: The expressions of a value; of a MAP those of key and value, of a ROW those of its fields.
        length: The number of elements of an ARRAY, MAP or MULTISET.
        null_rate: The share of NULL.
    """

    def __init__(self, kind: t.DataType, expressions: Sequence[Expression], length: int, null_rate: float) -> None:
        self._kind = kind
        self._expressions = tuple(expressions)
        self._length = length
        self._null_rate = null_rate

    def make(self, random: np.random.Generator, first: int, rows: int) -> pa.Array:
        """Return made-up values, the same for the same random numbers, but for dates: these are relative to now."""
        return self._array(int(random.integers(1 << 62)), rows)

    def column(self, seed: int, rows: int) -> list[Cell]:
        """Return made-up values as columns hold them."""
        return list(pylist(self._array(seed, rows)))

    def _array(self, seed: int, rows: int) -> pa.Array:
        chance = chance_of(seed)
        made = [self._value(chance) if chance.random.random() >= self._null_rate else None for _ in range(rows)]
        return to_arrow(made, self._kind)

    def _value(self, chance: Chance) -> Cell:
        kind = self._kind
        made = [[one.value(chance) for one in self._expressions] for _ in range(self._length)]
        if isinstance(kind, t.RowType):
            types = kind.field_types()
            return tuple(converter_of(field)(value) for field, value in zip(types, made[0], strict=True))
        if isinstance(kind, t.MapType):
            key, item = converter_of(kind.key_type), converter_of(kind.value_type)
            return {key(one): item(other) for one, other in made}
        if isinstance(kind, t.MultisetType):
            return dict(Counter(map(converter_of(kind.element_type), (one for (one,) in made))))
        if isinstance(kind, t.ArrayType):
            return [converter_of(kind.element_type)(one) for (one,) in made]
        return converter_of(kind)(made[0][0])


def chance_of(seed: int) -> Chance:
    """Return what expressions take their values from.

    Raises:
        ModuleNotFoundError: the packages are not installed.
    """
    faker = _faker()
    faker.seed_instance(seed)
    return Chance(Random(seed), faker)


@cache
def _faker() -> Faker:
    try:
        import rstr  # noqa: F401 - for expressions with regexify
        from faker import Faker
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"The connector 'faker' needs the package {error.name}: pip install 'firesteel[faker]'", name=error.name
        ) from None
    return Faker("en_US")


def converter_of(kind: t.DataType) -> Convert:
    """Return what makes a value of a type of what an expression gives."""
    if isinstance(kind, _TIMES):
        return lambda value: _time(value, kind)
    if isinstance(kind, (t.CharType, t.VarCharType)):
        return as_text
    if isinstance(kind, t.BooleanType):
        return lambda value: as_text(value).lower() == "true"
    read = reader_of(kind)
    return lambda value: read(as_text(value))


def _time(value: Value, kind: t.DataType) -> datetime.date:
    """Return a moment; without time zone it is that of UTC, as in the connector for Flink."""
    if isinstance(value, str):
        value = datetime.datetime.strptime(value, _JAVA_DATE).replace(tzinfo=datetime.UTC)
    moment = value.replace(microsecond=0)
    if isinstance(kind, t.LocalZonedTimestampType):
        return moment
    return moment.date() if isinstance(kind, t.DateType) else moment.replace(tzinfo=None)


def field_of(column: Column, options: Options) -> FakerField:
    """Return the made-up values of a column by its options `fields.<column>.*`.

    Raises:
        ValidationException: the column has a type without values, or an option is missing or invalid.
    """
    kind, name = column.type, column.name
    _check_type(name, kind)
    names = _parts(kind)
    options.check([f"{part}expression" for part in names], ["null-rate", "length"])
    is_collection = isinstance(kind, (t.ArrayType, t.MapType, t.MultisetType))
    if "length" in options.values and not is_collection:
        raise ValidationException(f"Collection length may not be set for {name} with type {type_text(kind)}")
    length = options.positive("length", 1)
    expressions = [expression_of(options.text(f"{part}expression"), name) for part in names]
    return FakerField(kind, expressions, length, _null_rate(options))


def _parts(kind: t.DataType) -> list[str]:
    """Return the prefixes of the options with expressions."""
    if isinstance(kind, t.MapType):
        return ["key.", "value."]
    return [f"{field.name}." for field in kind.fields] if isinstance(kind, t.RowType) else [""]


def _check_type(name: str, kind: t.DataType) -> None:
    if isinstance(kind, t.RowType):
        inner = kind.field_types()
    elif isinstance(kind, t.MapType):
        inner = [kind.key_type, kind.value_type]
    else:
        inner = [kind.element_type if isinstance(kind, (t.ArrayType, t.MultisetType)) else kind]
    for part in inner:
        if not isinstance(part, _SCALARS):
            raise ValidationException(
                f"Column '{name}' is {type_text(kind)}, which the connector 'faker' cannot make up"
            )


def _null_rate(options: Options) -> float:
    try:
        rate = float(options.text("null-rate", "0"))
    except ValueError:
        rate = -1
    if not 0 <= rate <= 1:
        raise options.invalid("null-rate", "a number from 0 to 1")
    return rate
