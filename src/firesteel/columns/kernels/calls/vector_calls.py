"""Vectorized aggregate calls on numbers and times: the states of many groups are arrays.

The states convert to and from those of `columns.functions.accumulators`, so a group can switch to the row path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array, DType
from firesteel.columns.functions.accumulators import State, wrap
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.pylist import pylist
from firesteel.columns.row_groups import RowGroups, Timeline
from firesteel.columns.row_keys import integers_of
from firesteel.columns.values import arrow_type
from firesteel.common.encoding.array_columns import write_integers, write_numbers, write_optional
from firesteel.common.encoding.kinds import Kind

if TYPE_CHECKING:
    from firesteel.common.encoding.column_writer import ColumnWriter

Fold = Callable[[Array, Array], Array]
"""Adds what further rows contribute to a part of states."""
Fields = list[Array]
"""The states of many groups: one array per part of the state."""

_INTEGERS = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType)
_FLOATS = (t.FloatType, t.DoubleType)
NUMBERS = (*_INTEGERS, *_FLOATS)
TIMES = (t.DateType, t.TimeType, t.TimestampType, t.LocalZonedTimestampType)
"""Types whose values Arrow keeps as integers."""


_OVERHEAD = 16
"""The number of bytes of a value of fixed width, or of the place of a text."""


class Results(NamedTuple):
    """The results of a call, as values that are equal if the results are.

    Attributes:
        values: A value per result: a number, or the result itself.
        nulls: A mask of the results that are NULL; None if none is.
        column: Converts some of the values, with their mask, to a column of results.
        sizes: About how many bytes each result takes; None if few.
    """

    values: Array
    nulls: Array | None
    column: Callable[[Array, Array | None], pa.Array]
    sizes: Array | None = None


class VectorCall:
    """One call over many groups.

    Attributes:
        functions: The ufunc that adds a row to each part of the state. It also adds the state of further rows.
        is_retractable: Whether adding the negative of a row's contribution retracts the row, as exactly as row by row.
        is_mergeable: Whether the parts of its states are numbers, and states may be merged in any order.
        has_steps: Whether `steps` adds the rows to a timeline, and not `functions`.
    """

    functions: tuple[np.ufunc, ...]
    is_retractable = False
    is_mergeable = False
    has_steps = False

    def __init__(self, plan: CallPlan) -> None:
        self.plan = plan
        self.type = arrow_type(plan.type)

    @property
    def folds(self) -> tuple[Fold, ...]:
        """Return the functions for arrays of states, which need not be ufuncs."""
        return self.functions

    def covers(self, batch: ColumnBatch) -> bool:
        """Return whether the arrays give the same results as adding row by row."""
        return True

    def contributions(self, batch: ColumnBatch) -> Fields:
        """Return what each row adds to each part of the state."""
        raise NotImplementedError

    def changes(self, batch: ColumnBatch, signs: Array | None) -> Fields:
        """Return what each row adds to each part of the state; what a retraction adds takes a row away.

        Args:
            batch: The rows.
            signs: What `signs_of` returns for them.
        """
        added = self.contributions(batch)
        return added if signs is None else [part * signs for part in added]

    def covers_states(self, fields: Fields) -> bool:
        """Return whether adding rows to these states gives the same as row by row: `!=` is always true for NaN."""
        return not np.isnan(fields[0]).any()

    def fold(self, groups: RowGroups, fields: Fields, added: Fields) -> Fields:
        """Return the states of groups after adding contributions of rows, or other states, in their order."""
        return [
            groups.fold(function, part, values)
            for function, part, values in zip(self.functions, fields, added, strict=True)
        ]

    def steps(
        self, timeline: Timeline, groups: RowGroups, states: Fields, batch: ColumnBatch, counts: Array
    ) -> tuple[Results, Fields]:
        """Add or retract rows; return the result at each place of a timeline, and the states after all rows.

        Args:
            timeline: The places.
            groups: The groups of the rows.
            states: The states of the groups.
            batch: The rows.
            counts: The number of rows of the group at each place; a group without rows begins anew.
        """
        raise NotImplementedError

    def with_rows(self, groups: RowGroups, fields: Fields, batch: ColumnBatch) -> Fields:
        """Return the states of groups after adding the rows of a batch, in their order."""
        if not self.has_steps:
            return self.fold(groups, fields, self.contributions(batch))
        counts = np.ones(groups.count + groups.length, np.int64)  # No group ends, so any will do.
        return self.steps(Timeline(groups), groups, fields, batch, counts)[1]

    def load(self, states: Sequence[State]) -> Fields:
        """Convert states to arrays."""
        raise NotImplementedError

    def store(self, fields: Fields) -> list[State]:
        """Convert arrays to states."""
        raise NotImplementedError

    def columns(self, fields: Fields) -> list[pa.Array]:
        """Return the parts of the states as columns."""
        return [pa.array(part) for part in fields]

    def from_columns(self, columns: Iterator[pa.Array]) -> Fields:
        """Take the next columns, and return the parts of the states that they hold."""
        return [next(columns).to_numpy() for _ in self.folds]

    def write(self, writer: ColumnWriter, fields: Fields) -> None:
        """Write the states that `store` returns; here by these, in others from the arrays."""
        writer.column(self.store(fields))

    def results(self, fields: Fields) -> tuple[Array, Array | None]:
        """Return the results, and a mask of those that are NULL (None if none is)."""
        raise NotImplementedError

    def column(self, values: Array, nulls: Array | None) -> pa.Array:
        """Return results, or some of them, as a column."""
        return pa.array(values, self.type, mask=nulls)

    def final(self, fields: Fields) -> pa.Array:
        """Return the results of all groups as a column."""
        return self.column(*self.results(fields))

    def counted(self, batch: ColumnBatch) -> Array:
        """Return the mask of rows whose arguments are not NULL and that pass the FILTER."""
        return counted(batch, self.plan.arguments, self.plan.condition)


class VectorCount(VectorCall):
    """COUNT over arrays."""

    functions = (np.add,)
    is_retractable = True
    is_mergeable = True

    def contributions(self, batch: ColumnBatch) -> Fields:
        """Return 1 for each row that counts, else 0."""
        return [self.counted(batch).astype(np.int64)]

    def load(self, states: Sequence[State]) -> Fields:
        """Return the counts as an array."""
        return [np.array([state[0] for state in states], np.int64)]

    def store(self, fields: Fields) -> list[State]:
        """Return the counts as states."""
        return [[count] for count in fields[0].tolist()]

    def write(self, writer: ColumnWriter, fields: Fields) -> None:
        """Write the counts."""
        writer.begin_places(Kind.SHORT_LIST, 1)
        write_integers(writer, fields[0])

    def results(self, fields: Fields) -> tuple[Array, Array | None]:
        """Return the counts, which are never NULL."""
        return fields[0], None


class _Numeric(VectorCall):
    """A call over one column of numbers or times; the second part of the state is the number of values."""

    dtype: DType

    def _values(self, batch: ColumnBatch, valid: Array, identity: object) -> Array:
        column = _numbers(batch.columns[self.plan.arguments[0]])
        values = to_numpy(pc.fill_null(column, 0) if column.null_count else column).astype(self.dtype)
        return values if valid.all() else np.where(valid, values, self.dtype.type(identity))

    def covers(self, batch: ColumnBatch) -> bool:
        """Return whether all values are finite: NaN differs from itself, so changes could not be detected."""
        return is_finite(batch.columns[self.plan.arguments[0]])


class VectorSum(_Numeric):
    """SUM, $SUM0 and AVG over arrays."""

    functions = (np.add, np.add)
    is_retractable = True
    is_mergeable = True

    def __init__(self, plan: CallPlan) -> None:
        super().__init__(plan)
        self._is_average = str(plan.function).upper() == "AVG"
        self._is_integral = isinstance(plan.type, _INTEGERS)
        # SUM of FLOAT rounds to 32 bits with each row, as the accumulator does; AVG keeps 64 bits until the end.
        narrow = isinstance(plan.type, t.FloatType) and not self._is_average
        self.dtype = np.dtype(np.int64 if self._is_integral else np.float32 if narrow else np.float64)
        self._is_nullable = str(plan.function).upper() != "$SUM0"

    def contributions(self, batch: ColumnBatch) -> Fields:
        """Return the value of each row (a zero that changes no sum if it does not count) and whether it counts."""
        valid = self.counted(batch)
        return [self._values(batch, valid, 0 if self._is_integral else -0.0), valid.astype(np.int64)]

    def load(self, states: Sequence[State]) -> Fields:
        """Return the sums, with integers wrapped to 64 bits, and the counts."""
        sums = [state[0] for state in states]
        if self._is_integral:
            # Accumulators of Python have no width, so a sum that went over the end comes back as Java has it.
            sums = [value if -(1 << 63) <= value < 1 << 63 else wrap(value, 64) for value in sums]
        return [np.array(sums, self.dtype), np.array([state[1] for state in states], np.int64)]

    def store(self, fields: Fields) -> list[State]:
        """Return the sum and count of each group as states."""
        return list(map(list, zip(*(field.tolist() for field in fields), strict=True)))

    def write(self, writer: ColumnWriter, fields: Fields) -> None:
        """Write the sums and counts."""
        sums, counts = fields
        writer.begin_places(Kind.SHORT_LIST, 2)
        write_numbers(writer, sums)
        write_integers(writer, counts)

    def results(self, fields: Fields) -> tuple[Array, Array | None]:
        """Return the sums or averages; integer division truncates as in Java."""
        values, counts = fields
        if self._is_average:
            # Groups without values are masked, but would divide by zero before.
            divisors = np.where(counts == 0, 1, counts)
            if self._is_integral:
                with np.errstate(over="ignore"):  # as in Java, the least number divided by -1 is itself
                    floor = values // divisors
                # `//` rounds towards minus infinity, Java towards zero: they differ by one for negative quotients with
                # a remainder.
                values = floor + ((floor < 0) & (floor * divisors != values))
            else:
                values = values / divisors
        return values.astype(self.type.to_pandas_dtype()), counts == 0 if self._is_nullable else None


class VectorOne(_Numeric):
    """A call whose result is one of the values: of numbers, or of times as integers."""

    _identity: float = 0

    def __init__(self, plan: CallPlan) -> None:
        super().__init__(plan)
        self.dtype = np.dtype(_numbers(pa.array([], self.type)).type.to_pandas_dtype())

    def covers(self, batch: ColumnBatch) -> bool:
        """Return whether values are finite and none is -0.0; 0.0 and -0.0 are equal, and the first is kept."""
        return are_plain(batch.columns[self.plan.arguments[0]])

    def covers_states(self, fields: Fields) -> bool:
        """Return whether no state is NaN or -0.0."""
        return super().covers_states(fields) and not (self.dtype.kind == "f" and _has_negative_zero(fields[0]))

    def contributions(self, batch: ColumnBatch) -> Fields:
        """Return the value of each row (the identity if it does not count) and whether it counts."""
        valid = self.counted(batch)
        return [self._values(batch, valid, self._identity), valid.astype(np.int64)]

    def load(self, states: Sequence[State]) -> Fields:
        """Return the values, and whether each exists."""
        values = _numbers(pa.array([state[0] for state in states], self.type))
        are_there = to_numpy(values.is_valid())
        return [to_numpy(pc.fill_null(values, self._identity)).astype(self.dtype), are_there.astype(np.int64)]

    def store(self, fields: Fields) -> list[State]:
        """Return the value of each group as state, None if the group has none."""
        return [[value] for value in pylist(self.column(*self.results(fields)))]

    def write(self, writer: ColumnWriter, fields: Fields) -> None:
        """Write the values."""
        if pa.types.is_temporal(self.type):
            super().write(writer, fields)
            return
        values, counts = fields
        writer.begin_places(Kind.SHORT_LIST, 1)
        write_optional(writer, counts != 0, lambda is_there: write_numbers(writer, values[is_there]))

    def results(self, fields: Fields) -> tuple[Array, Array | None]:
        """Return the values, and a mask of the groups without one."""
        return fields[0], fields[1] == 0


class VectorExtreme(VectorOne):
    """MIN and MAX over arrays."""

    def __init__(self, plan: CallPlan) -> None:
        super().__init__(plan)
        is_min = str(plan.function).upper() == "MIN"
        self.functions = (np.minimum if is_min else np.maximum, np.add)
        if isinstance(plan.type, _FLOATS):
            self._identity = np.inf if is_min else -np.inf
        else:
            self.is_mergeable = True  # NaN is kept if it comes first, and never else
            limits = np.iinfo(self.dtype)
            self._identity = limits.max if is_min else limits.min

    def fold(self, groups: RowGroups, fields: Fields, added: Fields) -> Fields:
        """Return the extremes; a later value replaces an earlier one only if it is less or greater, NaN never is."""
        values, counts = added
        if not isinstance(self.plan.type, _FLOATS) or not (np.isnan(values).any() or _has_negative_zero(values)):
            return super().fold(groups, fields, added)
        found, count = fields[0].copy(), groups.fold(np.add, fields[1], counts)
        is_known = fields[1] > 0
        is_better = np.less if self.functions[0] is np.minimum else np.greater
        for row in np.flatnonzero(counts).tolist():
            group = groups.codes[row]
            if not is_known[group] or is_better(values[row], found[group]):
                found[group], is_known[group] = values[row], True
        return [found, count]


class VectorEnd(VectorOne):
    """FIRST_VALUE and LAST_VALUE over arrays: what is least or greatest is the place of a value."""

    functions = ()
    has_steps = True

    def __init__(self, plan: CallPlan) -> None:
        super().__init__(plan)
        self._is_first = str(plan.function).upper() == "FIRST_VALUE"

    def fold(self, groups: RowGroups, fields: Fields, added: Fields) -> Fields:
        """Return the first or last values after adding those of rows."""
        values, counts = (part.copy() for part in fields)
        rows = np.flatnonzero(added[1])
        if self._is_first:
            rows = rows[counts[groups.codes[rows]] == 0][::-1]
        # Of several assignments to one place numpy keeps the last one.
        values[groups.codes[rows]], counts[groups.codes[rows]] = added[0][rows], 1
        return [values, counts]

    def steps(
        self, timeline: Timeline, groups: RowGroups, states: Fields, batch: ColumnBatch, counts: Array
    ) -> tuple[Results, Fields]:
        """Return the first or last value at each place of a timeline, and after all rows."""
        pairs = zip(states, self.contributions(batch), strict=True)
        values, are_there = (np.concatenate(parts) for parts in pairs)
        # The value that a group has so far comes before those of its rows.
        found, nulls = extremes(timeline, np.arange(len(values)), are_there != 0, self._is_first)
        shown = values[found]
        ends = timeline.starts + groups.sizes
        return Results(shown, nulls, self.column), [shown[ends], (~nulls[ends]).astype(np.int64)]


def extremes(timeline: Timeline, numbers: Array, are_there: Array, is_least: bool) -> tuple[Array, Array]:
    """Return the least or greatest number at each place of a timeline, and a mask of places without one.

    Args:
        timeline: The places.
        numbers: The number that each group has so far, and then those of the rows; all from 0 to below their length.
        are_there: Which of them count.
        is_least: Whether the least one is sought.
    """
    choose, missing = (np.minimum, len(numbers)) if is_least else (np.maximum, -1)
    counted, groups = np.where(are_there, numbers, missing), len(timeline.starts)
    found = timeline.accumulate(choose, counted[:groups], counted[groups:])
    nulls = found == missing
    return np.where(nulls, 0, found), nulls


def _numbers(column: pa.Array) -> pa.Array:
    """Return numbers, or times as integers."""
    return integers_of(column) if pa.types.is_temporal(column.type) else column


def is_finite(column: pa.Array) -> bool:
    """Return whether a column has no infinite values and no NaN."""
    return not pa.types.is_floating(column.type) or pc.all(pc.is_finite(column)).as_py() is not False


def are_plain(column: pa.Array) -> bool:
    """Return whether a column has no NaN, which differs from itself, and no -0.0, which equals 0.0."""
    return is_finite(column) and not has_negative_zero(column)


def has_negative_zero(column: pa.Array) -> bool:
    """Return whether a column has -0.0, which equals 0.0 and is shown otherwise."""
    return pa.types.is_floating(column.type) and _has_negative_zero(to_numpy(pc.fill_null(column, 0)))


def _has_negative_zero(values: Array) -> bool:
    return bool((np.signbit(values) & (values == 0)).any())


def counted(batch: ColumnBatch, arguments: Sequence[int], condition: int | None) -> Array:
    """Return the mask of rows whose arguments are not NULL and that pass the FILTER."""
    valid = chosen(batch, condition)
    for index in arguments:
        if batch.columns[index].null_count:
            valid = valid & to_numpy(batch.columns[index].is_valid())
    return valid


def is_text(kind: pa.DataType) -> bool:
    """Return whether the values of a type have no fixed width."""
    return bool(pa.types.is_string(kind) or pa.types.is_binary(kind))


def sizes_of(values: pa.Array) -> Array:
    """Return the number of bytes of each value, and of what it takes to find it."""
    has_sizes = is_text(values.type)
    sizes: Array = to_numpy(pc.fill_null(pc.binary_length(values), 0)) if has_sizes else np.zeros(len(values))
    return sizes.astype(np.int64) + _OVERHEAD


def numbered_results(distinct: pa.Array, numbers: Array, nulls: Array) -> Results:
    """Return results that are numbers of values; those of NULL may be any."""
    sizes = np.append(sizes_of(distinct), 0)[numbers] if is_text(distinct.type) else None
    return Results(numbers, nulls, lambda some, empty: distinct.take(pa.array(some, mask=empty)), sizes)


def chosen(batch: ColumnBatch, condition: int | None) -> Array:
    """Return the mask of rows that pass the FILTER."""
    if condition is None:
        return np.ones(batch.length, bool)
    return to_numpy(pc.fill_null(batch.columns[condition], False))


def to_numpy(array: pa.Array) -> Array:
    """Return values as an array, objects where numpy has no such type."""
    values: Array = array.to_numpy(zero_copy_only=False)
    return values
