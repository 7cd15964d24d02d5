"""Mathematical functions."""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.cells import Array
from firesteel.columns.functions.accumulators import number_cast
from firesteel.columns.functions.function import (
    Bind,
    CallSite,
    Column,
    Function,
    Kernel,
    Operands,
    Resolved,
    Types,
    may_fail,
    per_row,
    plain,
    vector,
)
from firesteel.columns.functions.java_random import JavaRandom
from firesteel.columns.functions.signatures import BYTES, DOUBLE, INT, STRING, argument, signature
from firesteel.columns.functions.temporal_rounding import bind_rounding, resolve_rounding
from firesteel.columns.rex import Literal, input_columns
from firesteel.columns.type_families import APPROXIMATE
from firesteel.columns.type_rules import any_nullable, round_type
from firesteel.common.values.decimals import EXACT


def _doubles(name: str, count: int, optional: int = 0) -> Callable[[Types, Operands], Resolved]:
    """Return the resolver of a function of DOUBLEs; other numbers are cast."""
    check = signature(name, DOUBLE, *["NUMERIC"] * count, optional=optional)

    def resolve(types: Types, operands: Operands) -> Resolved:
        check(types, operands)
        return [DOUBLE.with_nullable(x.is_nullable) for x in types], DOUBLE.with_nullable(any_nullable(types))

    return resolve


def _numpy(function: Callable[..., object]) -> Bind:
    """Return the kernel of a numpy function of doubles; it returns NaN or infinity where Java does."""

    def kernel(columns: list[Column], length: int) -> Column:
        scalar = all(isinstance(column, pa.Scalar) for column in columns)
        arrays = [pa.repeat(c, 1 if scalar else length) if isinstance(c, pa.Scalar) else c for c in columns]
        mask = np.zeros(len(arrays[0]), bool)
        for array in arrays:
            mask |= pc.is_null(array).to_numpy(zero_copy_only=False)
        values = [pc.fill_null(array, 1.0).to_numpy(zero_copy_only=False) for array in arrays]
        with np.errstate(all="ignore"):
            result = pa.array(function(*values), pa.float64(), mask=mask)
        return result[0] if scalar else result

    return lambda call: kernel


def _libm(name: str) -> Callable[..., Array]:
    """Return a function of arrays that Arrow computes by the C library.

    Its results are those of Java nearly always; numpy's vector instructions give another last digit for a tenth of all
    values.
    """
    function = getattr(pc, name, None) or getattr(np, name)  # Arrow has not had all of them in each version

    def of(*values: Array) -> Array:
        result = function(*values)
        found: Array = result.to_numpy(zero_copy_only=False) if isinstance(result, pa.Array) else result
        return found

    return of


_HEXADECIMAL = re.compile("[0-9a-fA-F]*")
_LN = _libm("ln")
_TAN = _libm("tan")


def _logarithm(*values: Array) -> object:
    """Return LOG(x), the natural logarithm, or LOG(base, x)."""
    return _LN(values[-1]) if len(values) == 1 else _LN(values[1]) / _LN(values[0])


def _resolve_round(name: str) -> Callable[[Types, Operands], Resolved]:
    def result(types: Types, operands: Operands) -> t.DataType:
        if len(types) == 1:
            return round_type(types[0], 0)
        digits = operands[1].value if isinstance(operands[1], Literal) else None
        return round_type(types[0], digits)

    return signature(name, result, "NUMERIC", "INTEGER", optional=1)


def _round(mode: str) -> Bind:
    """Return ROUND or TRUNCATE, which operate on the decimal text of a floating point number.

    As decimals have one zero, neither returns -0.0.
    """

    def make(call: CallSite) -> Callable[..., Any]:
        convert = number_cast(call.type)
        approximate = isinstance(call.type, APPROXIMATE)

        def function(value: Any, digits: int = 0) -> Any:
            if approximate and not math.isfinite(value):
                return value
            digits = max(-_MOST_DIGITS, min(digits, _MOST_DIGITS))
            number = Decimal(repr(value)) if approximate else Decimal(value)
            return convert(EXACT.plus(number.quantize(Decimal(1).scaleb(-digits), rounding=mode, context=EXACT)))

        return function

    return per_row(make)


_MOST_DIGITS = 400
"""A DOUBLE has at most 309 digits before the point, and 324 behind it up to the first one that is not 0."""


def _resolve_whole(name: str) -> Callable[[Types, Operands], Resolved]:
    """Return the resolver of CEIL and FLOOR, of a number or of a temporal value to a unit."""

    def result(types: Types, operands: Operands) -> t.DataType:
        data_type = types[0]
        return t.DecimalType(data_type.precision, 0) if isinstance(data_type, t.DecimalType) else data_type

    numeric = signature(name, result, "NUMERIC")
    return lambda types, operands: (
        resolve_rounding(name, types, operands) if len(types) > 1 else numeric(types, operands)
    )


def _whole(mode: str, compute: Callable[[object], object]) -> Bind:
    def bind(call: CallSite) -> Kernel:
        if len(call.operands) > 1:
            return bind_rounding(call, up=mode == ROUND_CEILING)
        if isinstance(call.type, t.IntegralType):
            return lambda columns, length: columns[0]
        if isinstance(call.type, t.DecimalType):
            return per_row(lambda _: lambda value: value.to_integral_value(mode))(call)
        return lambda columns, length: compute(columns[0])

    return bind


def _sign(call: CallSite) -> Kernel:
    convert = number_cast(call.type)
    return per_row(lambda _: lambda value: convert((value > 0) - (value < 0)) if value and value == value else value)(
        call
    )


def _absolute(call: CallSite) -> Kernel:
    return lambda columns, length: pc.abs(columns[0])


def _unsigned(value: int) -> int:
    return value & 0xFFFF_FFFF_FFFF_FFFF


def _hex(value: int | str) -> str:
    """Return an integer, or the bytes of a string, in hexadecimal."""
    return f"{_unsigned(value):X}" if isinstance(value, int) else value.encode().hex().upper()


def _unhex(text: str) -> bytes | None:
    """Return the bytes of hexadecimal digits; the first of an odd number of digits becomes a byte of 0."""
    if not _HEXADECIMAL.fullmatch(text):
        return None
    return bytes.fromhex("00" + text[1:] if len(text) % 2 else text)


def _random(integer: bool) -> Bind:
    """Return the kernel of RAND([seed]) or RAND_INTEGER([seed,] bound), with Java's generator.

    As in Flink, a constant seed begins one sequence, and that of a column one in each row.
    """

    def make(call: CallSite) -> Callable[..., Any]:
        seeded = len(call.operands) == (2 if integer else 1)
        varies = seeded and any(True for _ in input_columns(call.operands[0]))
        generator = None if seeded else JavaRandom()

        def function(*args: int) -> Any:
            nonlocal generator
            if generator is None or varies:
                generator = JavaRandom(args[0])
            return generator.next_int(args[-1]) if integer else generator.next_double()

        return function

    def bind(call: CallSite) -> Kernel:
        kernel = per_row(make, is_pure=False)(call)
        arrays = [operand.type for operand in call.operands]
        return lambda columns, length: kernel(
            # Constants too, or one number would be drawn for the whole batch.
            [pa.repeat(c, length) if isinstance(c, pa.Scalar) else c for c, _ in zip(columns, arrays, strict=True)],
            length,
        )

    return bind


_DOUBLE_FUNCTIONS: tuple[tuple[str, int, int, Callable[..., object]], ...] = (
    ("POWER", 2, 0, _libm("power")),
    ("SQRT", 1, 0, lambda x: np.sqrt(x) + 0.0),  # no -0.0
    ("EXP", 1, 0, _libm("exp")),
    ("LN", 1, 0, _LN),
    ("LOG10", 1, 0, _libm("log10")),
    ("LOG2", 1, 0, lambda x: _LN(x) / math.log(2.0)),  # with the last digit of Java
    ("LOG", 2, 1, _logarithm),
    ("SIN", 1, 0, _libm("sin")),
    ("COS", 1, 0, _libm("cos")),
    ("TAN", 1, 0, _TAN),
    ("COT", 1, 0, lambda x: 1.0 / _TAN(x)),
    ("ASIN", 1, 0, _libm("asin")),
    ("ACOS", 1, 0, _libm("acos")),
    ("ATAN", 1, 0, _libm("atan")),
    ("ATAN2", 2, 0, _libm("atan2")),
    ("SINH", 1, 0, _libm("sinh")),
    ("COSH", 1, 0, _libm("cosh")),
    ("TANH", 1, 0, _libm("tanh")),
    ("DEGREES", 1, 0, np.degrees),
    ("RADIANS", 1, 0, np.radians),
)

FUNCTIONS = [
    *(Function(name, _doubles(name, n, optional), _numpy(f)) for name, n, optional, f in _DOUBLE_FUNCTIONS),
    Function("ABS", signature("ABS", argument(0), "NUMERIC|INTERVAL"), _absolute),
    Function("SIGN", signature("SIGN", argument(0), "NUMERIC"), _sign),
    Function("ROUND", _resolve_round("ROUND"), _round(ROUND_HALF_UP)),
    Function("TRUNCATE", _resolve_round("TRUNCATE"), _round(ROUND_DOWN)),
    Function("CEIL", _resolve_whole("CEIL"), _whole(ROUND_CEILING, pc.ceil)),
    Function("FLOOR", _resolve_whole("FLOOR"), _whole(ROUND_FLOOR, pc.floor)),
    Function("PI", signature("PI", DOUBLE), vector(lambda: pa.scalar(math.pi))),
    Function("E", signature("E", DOUBLE), vector(lambda: pa.scalar(math.e))),
    Function("RAND", signature("RAND", DOUBLE, "INT", optional=1), _random(False), deterministic=False),
    Function(
        "RAND_INTEGER",
        signature("RAND_INTEGER", INT, "INT", "INT", optional=1),
        _random(True),
        deterministic=False,
        fails=may_fail,
    ),
    Function(
        "UUID",
        signature("UUID", t.CharType(36)),
        per_row(plain(lambda: str(uuid.uuid4()))),
        deterministic=False,
    ),
    Function("BIN", signature("BIN", STRING, "INTEGER"), per_row(plain(lambda value: f"{_unsigned(value):b}"))),
    Function("HEX", signature("HEX", STRING, "INTEGER|CHARACTER"), per_row(plain(_hex))),
    Function("UNHEX", signature("UNHEX", BYTES, "CHARACTER", nullable=True), per_row(plain(_unhex))),
]
