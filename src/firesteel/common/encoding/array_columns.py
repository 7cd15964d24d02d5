"""Columns of values that are at hand as arrays, in the same form as those of objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from firesteel.common.encoding.kinds import Kind

if TYPE_CHECKING:
    from firesteel.common.encoding.column_writer import ColumnWriter

Integers: TypeAlias = "NDArray[np.int64]"
Mask: TypeAlias = "NDArray[np.bool_]"
Numbers: TypeAlias = "NDArray[np.integer] | NDArray[np.floating]"


def write_integers(writer: ColumnWriter, values: Integers) -> None:
    """Write integers, of which there is at least one."""
    least = int(values.min())
    width = writer.begin_ints(least, int(values.max()))
    if width:
        # Differences are taken modulo 2**64, where they are right even if they do not fit into 63 bits.
        writer.data += (values.view(np.uint64) - np.uint64(least % 2**64)).astype(f"<u{width}").tobytes()


def write_numbers(writer: ColumnWriter, values: Numbers) -> None:
    """Write integers of up to 64 bits, or floats, of which there is at least one."""
    if values.dtype.kind == "f":
        writer.data.append(Kind.FLOAT)
        writer.data += values.astype("<f8").tobytes()
    else:
        write_integers(writer, values.astype(np.int64))


def write_optional(writer: ColumnWriter, is_there: Mask, write: Callable[[Mask], None]) -> None:
    """Write values, some of which are None.

    Args:
        writer: Where to.
        is_there: Which of the values are not None; there is at least one value.
        write: Writes the column of these, given the mask.
    """
    if is_there.all():
        write(is_there)
    elif not is_there.any():
        writer.data.append(Kind.NONE)
    else:
        writer.data.append(Kind.MIXED)
        writer.number(2)
        # Each byte is the place of a column after them: 0 that of None, 1 that of the values.
        writer.data += is_there.astype(np.uint8).tobytes()
        writer.data.append(Kind.NONE)
        write(is_there)


def write_numbered(writer: ColumnWriter, sizes: Integers, write: Callable[[], None]) -> None:
    """Write dictionaries whose keys are the numbers from 0 on.

    Args:
        writer: Where to.
        sizes: The size of each; there is at least one.
        write: Writes the column of the values of all.
    """
    writer.data.append(Kind.DICT)
    write_integers(writer, sizes)
    numbers = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    if len(numbers):
        write_integers(writer, numbers)
    else:
        writer.column(())
    write()
