"""Row groups of Parquet files that can have rows of a query, by the statistics in the file."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import pyarrow as pa

from firesteel.columns.column_types import AtomicType, DataType, DoubleType, FloatType, LocalZonedTimestampType
from firesteel.columns.rex import Call, InputRef, Literal, Rex
from firesteel.columns.values import arrow_type, to_arrow

if TYPE_CHECKING:
    from pyarrow.dataset import Expression

Fields = Mapping[int, "Expression"]
"""Arrow's references to the columns of a file, by their numbers in the table."""


@dataclass(frozen=True)
class RowGroupFilter:
    """A condition over the columns of a table, for the files of which it is made.

    Attributes:
        condition: Rows for which it is not TRUE may be left out.
        columns: Names and types of all columns of the table.
    """

    condition: Rex
    columns: Sequence[tuple[str, DataType]]

    def in_file(self, file: str | IO[bytes]) -> list[int]:
        """Return the numbers of the row groups of a file in which rows may satisfy the condition.

        Columns that the file does not have, or has as another type, exclude nothing.
        """
        from pyarrow.dataset import ParquetFileFormat, field
        from pyarrow.fs import LocalFileSystem

        fragment = ParquetFileFormat().make_fragment(file, LocalFileSystem() if isinstance(file, str) else None)
        schema = fragment.physical_schema
        fields = {
            index: field(name)
            for index, (name, kind) in enumerate(self.columns)
            if name in schema.names and schema.field(name).type == arrow_type(kind)
        }
        expression = _expression(self.condition, fields)
        selected = fragment if expression is None else fragment.subset(expression)
        return [group.id for group in selected.row_groups]


def is_prunable(rex: Rex) -> bool:
    """Return whether statistics may show that no row of a row group satisfies a condition."""
    return isinstance(rex, Call) and rex.function in _RULES and _RULES[rex.function].fits(rex)


def _expression(rex: Rex, fields: Fields) -> Expression | None:
    """Return a condition that holds at least for the rows for which another one does, None: for all rows."""
    if not (isinstance(rex, Call) and is_prunable(rex)):
        return None
    return _RULES[rex.function].convert(rex, fields)


@dataclass(frozen=True, slots=True)
class _Rule:
    """How calls of a function become Arrow's.

    Attributes:
        fits: Whether a call has operands that statistics are about.
        convert: Returns Arrow's expression; None where the file has no statistics of a column.
    """

    fits: Callable[[Call], bool]
    convert: Callable[[Call, Fields], Expression | None]


def _compares_column(rex: Call) -> bool:
    column, *constants = rex.operands
    are_constant = all(isinstance(one, Literal) and one.value is not None for one in constants)
    return are_constant and _is_column(column)


def _compares_without_nan(rex: Call) -> bool:
    """A value that is NaN differs from all others, but is not in the statistics."""
    return _compares_column(rex) and not isinstance(rex.operands[0].type, DoubleType | FloatType)


def _tests_column(rex: Call) -> bool:
    return _is_column(rex.operands[0])


def _is_column(rex: Rex) -> bool:
    has_statistics = isinstance(rex.type, AtomicType) and not isinstance(rex.type, LocalZonedTimestampType)
    return isinstance(rex, InputRef) and has_statistics


def _some_fit(rex: Call) -> bool:
    return any(map(is_prunable, rex.operands))


def _all_fit(rex: Call) -> bool:
    return all(map(is_prunable, rex.operands))


def _comparison(compare: Callable[[Expression, pa.Scalar], Expression]) -> Callable[[Call, Fields], Expression | None]:
    def convert(rex: Call, fields: Fields) -> Expression | None:
        found = _field(rex, fields)
        return None if found is None else compare(found, next(_constants(rex)))

    return convert


def _field(rex: Call, fields: Fields) -> Expression | None:
    column = rex.operands[0]
    return fields.get(column.index) if isinstance(column, InputRef) else None


def _constants(rex: Call) -> Iterator[pa.Scalar]:
    kind = rex.operands[0].type
    return (to_arrow([one.value], kind)[0] for one in rex.operands[1:] if isinstance(one, Literal))


def _in(rex: Call, fields: Fields) -> Expression | None:
    found = _field(rex, fields)
    return None if found is None else functools.reduce(operator.or_, (found == one for one in _constants(rex)))


def _is_null(rex: Call, fields: Fields) -> Expression | None:
    found = _field(rex, fields)
    return None if found is None else found.is_null()


def _is_not_null(rex: Call, fields: Fields) -> Expression | None:
    found = _field(rex, fields)
    return None if found is None else found.is_valid()


def _and(rex: Call, fields: Fields) -> Expression | None:
    parts = [found for part in rex.operands if (found := _expression(part, fields)) is not None]
    return functools.reduce(operator.and_, parts) if parts else None


def _or(rex: Call, fields: Fields) -> Expression | None:
    parts = [_expression(part, fields) for part in rex.operands]
    known = [part for part in parts if part is not None]
    return functools.reduce(operator.or_, known) if len(known) == len(parts) else None


_RULES = {
    "=": _Rule(_compares_column, _comparison(operator.eq)),
    "<>": _Rule(_compares_without_nan, _comparison(operator.ne)),
    "<": _Rule(_compares_column, _comparison(operator.lt)),
    "<=": _Rule(_compares_column, _comparison(operator.le)),
    ">": _Rule(_compares_column, _comparison(operator.gt)),
    ">=": _Rule(_compares_column, _comparison(operator.ge)),
    "IN": _Rule(_compares_column, _in),
    "IS NULL": _Rule(_tests_column, _is_null),
    "IS NOT NULL": _Rule(_tests_column, _is_not_null),
    "AND": _Rule(_some_fit, _and),
    "OR": _Rule(_all_fit, _or),
}
"""What statistics can exclude. A condition that is not here reads all row groups."""
