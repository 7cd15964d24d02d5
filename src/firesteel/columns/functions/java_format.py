"""Formatting as by Java's `String.format`, for PRINTF."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from firesteel.columns import column_types as t
from firesteel.columns.functions.function_errors import UnsupportedFunctionError
from firesteel.common.typeinfo import Types
from firesteel.common.values.decimals import EXACT
from firesteel.common.values.java_text import to_java_string

_SPECIFIER = re.compile(r"%(?:(\d+)\$)?([-#+ 0,(<]*)(\d+)?(?:\.(\d+))?([a-zA-Z%])|%")
_BITS: tuple[tuple[type, int], ...] = ((t.TinyIntType, 8), (t.SmallIntType, 16), (t.IntType, 32))

_REFUSED_FLAGS = dict.fromkeys("bsc", "#+ 0,(") | {"d": "#", "o": ",", "x": ",", "e": ",", "f": "", "g": "#"}
_SIGNS = "+ ("
_OF_JAVA = "aht"
"""Conversions that are not here: digits of floats in hexadecimal, hash codes and dates."""


class FormatError(ValueError):
    """A format, or a value that does not fit its specifier."""


def java_format(text: str, values: tuple[object, ...], types: Sequence[object]) -> str:
    """Return a text in which specifiers such as `%5.2f` and `%2$s` are replaced by values, in the locale en_US.

    Decimals are numbers, and dates and the like have their own text, unlike in Flink, which formats internal objects.

    Args:
        text: The format.
        values: The values.
        types: The types of the values; those of integers give the width of negative `%x` and `%o`.

    Raises:
        FormatError: the format is invalid, or a value is missing or does not fit.
        UnsupportedFunctionError: only Java knows a specifier.
    """
    ordinary, last = 0, -1

    def replace(match: re.Match[str]) -> str:
        nonlocal ordinary, last
        position, flags, width, precision, conversion = match.groups()
        if conversion is None:
            raise FormatError(f"invalid specifier in {text!r}")
        if conversion in "n%":
            return _constant(match[0], conversion, flags, width, precision)
        if "<" in flags:
            index = last
        elif position:
            index = int(position) - 1
        else:
            index, ordinary = ordinary, ordinary + 1
        last = index
        if not 0 <= index < len(values):
            raise FormatError(f"there is no value for {match[0]!r}")
        _check(match[0], conversion.lower(), flags, width, precision, values[index])
        places = None if precision is None else int(precision)
        shown = _shown(values[index], types[index], conversion.lower(), flags, int(width or 0), places)
        return _aligned(shown.upper() if conversion.isupper() else shown, flags, width)

    return _SPECIFIER.sub(replace, text)


def _constant(specifier: str, conversion: str, flags: str, width: str | None, precision: str | None) -> str:
    """Return what stands for a line end or a percent sign."""
    is_plain = not flags and width is None
    if precision is not None or not (is_plain or (conversion == "%" and flags in ("", "-") and width is not None)):
        raise FormatError(f"{specifier!r} takes no such flags, width or precision")
    return "\n" if conversion == "n" else _aligned("%", flags, width)


def _check(
    specifier: str, conversion: str, flags: str, width: str | None, precision: str | None, value: object
) -> None:
    """Refuse what Java refuses of a specifier, whatever the value is.

    Raises:
        FormatError: a flag does not go with the conversion or with another flag.
        UnsupportedFunctionError: Java may know the conversion.
    """
    if conversion in _OF_JAVA:
        raise UnsupportedFunctionError(f"firesteel does not support {specifier!r} in PRINTF")
    refused = set(_REFUSED_FLAGS.get(conversion, "")) | set(_SIGNS if conversion in "ox" and value is not None else "")
    if refused & set(flags) or len(set(flags)) < len(flags) or {"+", " "} <= set(flags) or {"-", "0"} <= set(flags):
        raise FormatError(f"{specifier!r} has flags that do not go together")
    if precision is not None and conversion in "cdox":
        raise FormatError(f"{specifier!r} takes no precision")
    if ("-" in flags or "0" in flags) and not width:
        raise FormatError(f"{specifier!r} has no width")


def _aligned(shown: str, flags: str, width: str | None) -> str:
    return shown.ljust(int(width or 0)) if "-" in flags else shown.rjust(int(width or 0))


def _shown(value: object, kind: object, conversion: str, flags: str, width: int, precision: int | None) -> str:
    if conversion == "b":
        return ("true" if value is True or (value is not None and value is not False) else "false")[:precision]
    if conversion == "s" or (value is None and conversion in "cdoxefg"):
        return _java_text(value)[:precision]
    if conversion == "c" and type(value) is int and 0 <= value <= 0x10FFFF:
        return chr(value)
    if conversion in "dox" and type(value) is int and precision is None:
        return _integer(value, kind, conversion, flags, width)
    if conversion in "efg" and isinstance(value, (float, Decimal)):
        return _fraction(value, conversion, flags, width, 6 if precision is None else precision)
    raise FormatError(f"%{conversion} does not format {value!r}")


def _java_text(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return to_java_string(value, Types.DOUBLE()) if isinstance(value, float) else str(value)


def _integer(value: int, kind: object, conversion: str, flags: str, width: int) -> str:
    if conversion == "d":
        return _signed(f"{abs(value):,}" if "," in flags else str(abs(value)), value < 0, flags, width)
    bits = next((bits for known, bits in _BITS if isinstance(kind, known)), 64)
    digits = f"{value & (1 << bits) - 1:{conversion}}"
    prefix = {"x": "0x", "o": "0"}[conversion] if "#" in flags else ""
    return prefix + (digits.rjust(width - len(prefix), "0") if "0" in flags else digits)


def _fraction(value: float | Decimal, conversion: str, flags: str, width: int, precision: int) -> str:
    number = Decimal(repr(value)) if isinstance(value, float) else value
    if not number.is_finite():
        if number.is_nan():
            return "NaN"
        return _signed("Infinity", number < 0, flags.replace("0", ""), width)
    size = number.copy_abs()
    if conversion == "g":
        precision = max(precision, 1)
        rounded = _rounded(size, precision - 1 - size.adjusted()) if size else size
        if not size or Decimal("0.0001") <= rounded < Decimal(10) ** precision:
            conversion, precision = "f", precision - 1 - (rounded.adjusted() if size else 0)
        else:
            conversion, precision = "e", precision - 1
    if conversion == "f":
        digits = f"{_rounded(size, precision):{',' if ',' in flags else ''}f}"
    else:
        digits = _scientific(size, precision)
    return _signed(digits, number.is_signed(), flags, width)


def _scientific(size: Decimal, precision: int) -> str:
    exponent = size.adjusted() if size else 0
    mantissa = _rounded(size.scaleb(-exponent, EXACT), precision)
    if mantissa >= 10:
        mantissa, exponent = _rounded(mantissa.scaleb(-1, EXACT), precision), exponent + 1
    return f"{mantissa:f}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _rounded(size: Decimal, places: int) -> Decimal:
    return size.quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, context=EXACT)


def _signed(digits: str, is_negative: bool, flags: str, width: int) -> str:
    if is_negative:
        before, after = ("(", ")") if "(" in flags else ("-", "")
    else:
        before, after = "+" if "+" in flags else " " if " " in flags else "", ""
    if "0" in flags:
        digits = digits.rjust(width - len(before) - len(after), "0")
    return before + digits + after
