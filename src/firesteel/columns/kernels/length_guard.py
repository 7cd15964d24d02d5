"""Lengths of texts and bytes before a sink. Flink: `CharLengthEnforcer`, `BinaryLengthEnforcer`."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import MAX_LENGTH, BinaryType, CharType, DataType, VarBinaryType, VarCharType
from firesteel.columns.kernel import Kernel, PlannedKernel
from firesteel.columns.pylist import pylist
from firesteel.columns.state_layout import STATELESS, Layout
from firesteel.columns.type_text import type_text
from firesteel.common.options.table_options import TABLE_TYPE_LENGTH_ENFORCER

Sized = CharType | VarCharType | BinaryType | VarBinaryType
_LENGTHS = (CharType, VarCharType, BinaryType, VarBinaryType)
_FIXED = (CharType, BinaryType)


@dataclass(frozen=True)
class LengthGuardFactory:
    """Plan of the check.

    Attributes:
        columns: Index, name and type of each column whose type has a length.
        fits: Whether values are cut and padded; otherwise those of another length are an error.
    """

    columns: tuple[tuple[int, str, Sized], ...]
    fits: bool

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return LengthGuard(self)


def columns_with_length(names: list[str], types: list[DataType]) -> tuple[tuple[int, str, Sized], ...]:
    """Return index, name and type of the columns whose values have a length that is declared."""
    return tuple(
        (place, name, kind)
        for place, (name, kind) in enumerate(zip(names, types, strict=True))
        if isinstance(kind, _LENGTHS) and kind.length < MAX_LENGTH
    )


class LengthGuard(PlannedKernel[LengthGuardFactory]):
    """Cuts and pads values, or refuses them."""

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit the rows with values of the declared lengths.

        Raises:
            ValueError: a value has another length.
        """
        columns = list(batch.columns)
        for place, name, kind in self._plan.columns:
            if self._plan.fits:
                columns[place] = _fitted(columns[place], kind)
            else:
                _check(columns[place], name, kind)
        self.context.emit(batch.with_columns(columns))


def _fitted(column: pa.Array, kind: Sized) -> pa.Array:
    if pa.types.is_string(column.type):
        # Code points, as `BinaryStringData` counts them, and not bytes.
        cut = pc.utf8_slice_codeunits(column, 0, kind.length)
        return pc.utf8_rpad(cut, kind.length) if isinstance(kind, CharType) else cut
    width = kind.length if isinstance(kind, BinaryType) else 0
    values = [None if value is None else value[: kind.length].ljust(width, b"\0") for value in pylist(column)]
    return pa.array(values, column.type)


def _check(column: pa.Array, name: str, kind: Sized) -> None:
    lengths = pc.utf8_length(column) if pa.types.is_string(column.type) else pc.binary_length(column)
    wrong = pc.not_equal(lengths, kind.length) if isinstance(kind, _FIXED) else pc.greater(lengths, kind.length)
    if pc.any(wrong).as_py():
        length = lengths.filter(wrong)[0].as_py()
        raise ValueError(
            f"Column '{name}' is {type_text(kind.nullable())}, however, a string of length {length} is being written "
            f"into it. You can set job configuration '{TABLE_TYPE_LENGTH_ENFORCER.key}' to control this behaviour."
        )
