"""SUM and AVG of decimals over arrays: exact sums of 128 bits, in parts of 32 bits.

A part of each row is added to an int64, which has room for 2**31 rows; carries are resolved when a result is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.decimal_words import WORDS, decimals_of, from_int64, rounded, words_of
from firesteel.columns.functions.accumulators import WIDE, State
from firesteel.columns.kernels.calls.vector_calls import Fields, VectorCall
from firesteel.columns.pylist import pylist
from firesteel.common.encoding.array_columns import write_integers, write_optional
from firesteel.common.encoding.kinds import Kind

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch
    from firesteel.columns.cells import Array
    from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
    from firesteel.common.encoding.column_writer import ColumnWriter

_BITS = 32
_MASK = (1 << _BITS) - 1
_FULL = 2**62
"""From here on a part of a sum may have no room for the rows of a batch."""
NARROW = 18
"""Digits that fit into an int64."""


class VectorDecimalSum(VectorCall):
    """SUM, $SUM0 and AVG of a decimal column.

    The state has the parts of the sum, the least significant one first, and the number of values.
    """

    is_retractable = True
    is_mergeable = True

    def __init__(self, plan: CallPlan, argument: t.DecimalType) -> None:
        super().__init__(plan)
        assert isinstance(plan.type, t.DecimalType)
        self._scale = argument.scale
        self._shift = plan.type.scale - argument.scale
        self._parts = 2 if argument.precision <= NARROW else 4
        self.functions = (np.add,) * (self._parts + 1)
        name = str(plan.function).upper()
        self._is_average, self._is_nullable = name == "AVG", name != "$SUM0"

    def contributions(self, batch: ColumnBatch) -> Fields:
        """Return the parts of the value of each row (0 if it does not count), and whether it counts."""
        valid = self.counted(batch)
        words = words_of(batch.columns[self.plan.arguments[0]])
        low = words["low"].view(np.int64)
        parts = [low & _MASK, low >> _BITS]
        if self._parts == 4:
            parts[1] &= _MASK
            parts += [words["high"] & _MASK, words["high"] >> _BITS]
        return [*(np.where(valid, part, 0) for part in parts), valid.astype(np.int64)]

    def covers_states(self, fields: Fields) -> bool:
        """Return whether the sums have room for the rows of a batch."""
        return not any(((part >= _FULL) | (part <= -_FULL)).any() for part in fields)

    def load(self, states: Sequence[State]) -> Fields:
        """Return the parts of the sums, and the counts."""
        numbers = [int(state[0].scaleb(self._scale, WIDE)) for state in states]
        last = self._parts - 1
        parts = [[number >> _BITS * place & _MASK for number in numbers] for place in range(last)]
        parts.append([max(min(number >> _BITS * last, _FULL), -_FULL) for number in numbers])
        return [*(np.array(part, np.int64) for part in parts), np.array([state[1] for state in states], np.int64)]

    def store(self, fields: Fields) -> list[State]:
        """Return sum and count of each group as states."""
        return list(map(list, zip(self._sums(fields), fields[-1].tolist(), strict=True)))

    def write(self, writer: ColumnWriter, fields: Fields) -> None:
        """Write the sums and counts."""
        words, is_too_large = _composed(fields[: self._parts])
        writer.begin_places(Kind.SHORT_LIST, 2)
        if is_too_large.any():
            writer.column(self._sums(fields))
        else:
            _write(writer, decimals_of(words, pa.decimal128(38, self._scale), None))
        write_integers(writer, fields[-1])

    def _sums(self, fields: Fields) -> list[Decimal]:
        return [Decimal(number).scaleb(-self._scale, WIDE) for number in self._numbers(fields)]

    def _numbers(self, fields: Fields) -> list[int]:
        """Return the sums, unscaled."""
        rows = zip(*(part.tolist() for part in fields[: self._parts]), strict=True)
        return [sum(part << _BITS * place for place, part in enumerate(row)) for row in rows]

    def results(self, fields: Fields) -> tuple[Array, Array | None]:
        """Return the sums or averages as `WORDS`; what has more than 38 digits is NULL."""
        counts = fields[-1]
        words, is_too_large = self._averages(fields) if self._is_average else _composed(fields[: self._parts])
        return words, is_too_large | (counts == 0) if self._is_nullable else is_too_large

    def _averages(self, fields: Fields) -> tuple[Array, Array]:
        """Return the averages, rounded half up, and which of them have too many digits."""
        words, is_wide = _composed(fields[: self._parts])
        factor, counts = 10**self._shift, fields[-1]
        low = words["low"].view(np.int64)
        limit = 2**61 // factor
        is_wide |= (words["high"] != low >> 63) | (low > limit) | (low < -limit)
        divisors = np.where(counts == 0, 1, counts)
        found = from_int64(rounded(np.where(is_wide, 0, low) * factor, divisors))
        for place in np.flatnonzero(is_wide & (counts != 0)).tolist():
            number, count = self._numbers([part[place : place + 1] for part in fields])[0], int(counts[place])
            quotient = (2 * abs(number) * factor + abs(count)) // (2 * abs(count))
            is_wide[place] = quotient >= 10**38
            signed = quotient if (number < 0) == (count < 0) else -quotient
            found[place] = (signed & (2**64 - 1), signed >> 64) if not is_wide[place] else (0, 0)
        return found, is_wide

    def column(self, values: Array, nulls: Array | None) -> pa.Array:
        """Return results as a column."""
        return decimals_of(values, self.type, nulls)


class VectorDecimalExtreme(VectorCall):
    """MIN and MAX of a decimal column of at most 18 digits."""

    is_mergeable = True

    def __init__(self, plan: CallPlan) -> None:
        super().__init__(plan)
        is_min = str(plan.function).upper() == "MIN"
        self.functions = (np.minimum if is_min else np.maximum, np.add)
        self._identity = 2**63 - 1 if is_min else -(2**63)

    def contributions(self, batch: ColumnBatch) -> Fields:
        """Return the unscaled value of each row (the identity if it does not count), and whether it counts."""
        valid = self.counted(batch)
        values = words_of(batch.columns[self.plan.arguments[0]])["low"].view(np.int64)
        return [np.where(valid, values, self._identity), valid.astype(np.int64)]

    def load(self, states: Sequence[State]) -> Fields:
        """Return the extremes, and whether each exists."""
        column = pa.array([state[0] for state in states], self.type)
        valid = column.is_valid().to_numpy(zero_copy_only=False)
        values = words_of(column)["low"].view(np.int64)
        return [np.where(valid, values, self._identity), valid.astype(np.int64)]

    def store(self, fields: Fields) -> list[State]:
        """Return the extreme of each group as state, None if the group has none."""
        return [[value] for value in pylist(self.column(*self.results(fields)))]

    def write(self, writer: ColumnWriter, fields: Fields) -> None:
        """Write the extremes."""
        values, counts = fields
        writer.begin_places(Kind.SHORT_LIST, 1)
        write_optional(
            writer,
            counts != 0,
            lambda is_there: _write(writer, decimals_of(from_int64(values[is_there]), self.type, None)),
        )

    def results(self, fields: Fields) -> tuple[Array, Array | None]:
        """Return the extremes as `WORDS`, and a mask of the groups without one."""
        return from_int64(fields[0]), fields[1] == 0

    def column(self, values: Array, nulls: Array | None) -> pa.Array:
        """Return results as a column."""
        return decimals_of(values, self.type, nulls)


def _write(writer: ColumnWriter, decimals: pa.Array) -> None:
    """Write decimals that are not NULL."""
    writer.data.append(Kind.DECIMAL)
    writer.column(pylist(decimals.cast(pa.string())))


def _composed(parts: Fields) -> tuple[Array, Array]:
    """Return sums, given their parts, and which of them have more than 38 digits."""
    *lower, top = parts
    digits, carry = [], np.zeros(len(top), np.int64)
    for part in lower:
        total = part + carry
        digits.append(total & _MASK)
        carry = total >> _BITS
    top = top + carry
    words = np.empty(len(top), WORDS)
    if len(parts) == 2:
        words["low"], words["high"] = (digits[0] | top << _BITS).view(np.uint64), top >> _BITS
        return words, np.zeros(len(top), bool)  # 18 digits and the rows of a group have less than 38 digits
    words["low"] = (digits[0] | digits[1] << _BITS).view(np.uint64)
    words["high"] = digits[2] | top << _BITS
    return words, (top != top.astype(np.int32)) | ~_has_38_digits(words)


def _has_38_digits(words: Array) -> Array:
    """Return which values are less than 10**38 and greater than -10**38."""
    low, high = words["low"], words["high"]
    limit_low, limit_high = 10**38 % 2**64, 10**38 // 2**64
    least_low, least_high = -(10**38) % 2**64, -(10**38) // 2**64
    is_less = (high < limit_high) | ((high == limit_high) & (low < np.uint64(limit_low)))
    is_greater = (high > least_high) | ((high == least_high) & (low > np.uint64(least_low)))
    has: Array = is_less & is_greater
    return has
