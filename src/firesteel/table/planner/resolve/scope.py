"""Resolution of column names. Calcite: `SqlValidatorScope`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from firesteel.columns.cast_rules import has_null_type
from firesteel.columns.column_types import CharType, DataType, RowType
from firesteel.columns.rex import Call, InputRef, Literal, OuterRef, Rex
from firesteel.common.meant import hint_at, meant
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.syntax.unresolved import Ref, where


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column that expressions can refer to.

    Attributes:
        qualifier: The table's alias or path; empty if there is none.
        rex: The column's expression over the input, usually an `InputRef`.
        in_star: Whether `*` includes it (only one of the two columns of USING).
    """

    name: str
    qualifier: tuple[str, ...]
    rex: Rex
    in_star: bool = True


class Scope:
    """The columns of the tables in FROM, and those of the query around it.

    Attributes:
        columns: In the order of the input's columns.
        outer: The scope of the query around, whose columns are `OuterRef`s here.
        level: How many queries are around.
    """

    def __init__(self, columns: Iterable[ScopeColumn], outer: Scope | None = None) -> None:
        self.columns = tuple(columns)
        self.outer = outer
        self.level: int = 0 if outer is None else outer.level + 1

    @staticmethod
    def of(
        row_type: RowType,
        qualifier: tuple[str, ...] = (),
        outer: Scope | None = None,
        names: Sequence[str] | None = None,
    ) -> Scope:
        """Return the scope of one table, whose columns may be found by other names than those of their type."""
        refs = [InputRef(index, field.data_type) for index, field in enumerate(row_type.fields)]
        found = zip(names or row_type.names, refs, strict=True)
        return Scope([ScopeColumn(name, qualifier, ref) for name, ref in found], outer)

    def find(self, ref: Ref) -> Rex:
        """Return the expression that a reference resolves to.

        `a.b.c` is column c of table a.b, or field c of column b of table a, or field b.c of column a. As in Calcite,
        the longest name of a table wins, be it one of a query around, and then the nearest query.

        Raises:
            ValidationException: there is no such column, or more than one.
        """
        found = self._found(ref, tuple(self._outwards()))
        if found is None:
            raise ValidationException(f"SQL validation failed. {self._missing(ref)}")
        return found

    def _found(self, ref: Ref, scopes: tuple[Scope, ...]) -> Rex | None:
        for split in range(len(ref.path) - 1, -1, -1):
            for scope in scopes:
                value = scope.in_table(ref, split)
                if value is not None:
                    return value if scope is self else OuterRef(value, value.type, scope.level)
        return None

    def _outwards(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    def in_table(self, ref: Ref, split: int) -> Rex | None:
        """Return the column, or field of one, of the table that the first names of a reference mean here.

        None if they mean no table, or if there are no first names and no table has the column.

        Raises:
            ValidationException: the table has no such column.
        """
        qualifier, name, fields = ref.path[:split], ref.path[split], ref.path[split + 1 :]
        columns = [column for column in self.columns if _is_suffix(qualifier, column.qualifier)]
        matches = [column for column in columns if column.name == name]
        if not qualifier:
            # USING leaves the columns of both sides, which need a qualifier, beside the merged one.
            matches = [c for c in matches if c.in_star] or matches
        if len(matches) > 1:
            raise ValidationException(
                f"SQL validation failed. {where(ref.position)}Column '{ref.path[-1]}' is ambiguous"
            )
        found = _with_fields(matches[0].rex, fields, ref) if matches else None
        if found is None and not fields:
            found = self._nested(ref)
        if found is None and qualifier and columns:
            raise ValidationException(f"SQL validation failed. {self._missing(ref)}")
        return found

    def _missing(self, ref: Ref) -> str:
        """Return the message about a column that this query or, if it has no table, all have not."""
        qualifiers = {column.qualifier[-1] for column in self.columns if column.qualifier}
        place = where(ref.position, ".".join(ref.path))
        if len(ref.path) > 1 and ref.path[0] not in qualifiers:
            return f"{place}Table '{'.'.join(ref.path[:-1])}' not found"
        names = [column.name for column in self.columns]
        hint = meant(ref.path[-1], names, most=3)
        hint = hint or hint_at(name for name in names if name.lower() == ref.path[-1].lower())
        scope = f"table '{ref.path[-2]}'" if len(ref.path) > 1 else "any table"
        return f"{place}Column '{ref.path[-1]}' not found in {scope}{hint}"

    def _nested(self, ref: Ref) -> Rex | None:
        """Return the field of a row that a name means that no column has."""
        qualifier, name = ref.path[:-1], ref.path[-1]
        rows = [c.rex for c in self.columns if isinstance(c.rex.type, RowType) and _is_suffix(qualifier, c.qualifier)]
        found = [rex for rex in rows if isinstance(rex.type, RowType) and name in rex.type.names]
        if len(found) > 1:
            raise ValidationException(f"SQL validation failed. {where(ref.position)}Column '{name}' is ambiguous")
        return _with_fields(found[0], (name,), ref) if found else None

    def star(self, qualifier: tuple[str, ...] = ()) -> list[tuple[str, Rex]]:
        """Return names and values of `*` or `t.*`.

        Raises:
            ValidationException: no table has that name.
        """
        if not qualifier:
            return [(column.name, column.rex) for column in self.columns if column.in_star]
        found = [(c.name, c.rex) for c in self.columns if _is_suffix(qualifier, c.qualifier)]
        if not found:
            field = self._found(Ref(qualifier), (self,))
            if field is not None and isinstance(field.type, RowType):
                names = field.type.names
                return [(name, _with_fields(field, (name,), Ref(qualifier))) for name in names]
            raise ValidationException(f"SQL validation failed. Unknown identifier '{'.'.join(qualifier)}'")
        return found


Side = tuple[Rel, Scope]
"""An item of FROM: its node, and its columns."""


def illegal_null(place: str) -> ValidationException:
    """Return the error of a NULL without a type where a value is needed, at a place in the form of `where`."""
    return ValidationException(
        f"SQL validation failed. {place}Illegal use of 'NULL'; give it a type, as in CAST(NULL AS INT)"
    )


def typed(rex: Rex) -> Rex:
    """Return a value of a row, which needs a type.

    Raises:
        ValidationException: it is NULL without a type, or has one in it.
    """
    if has_null_type(rex.type):
        raise illegal_null("")
    return rex


def _is_suffix(qualifier: tuple[str, ...], full: tuple[str, ...]) -> bool:
    return not qualifier or full[-len(qualifier) :] == qualifier


def _with_fields(rex: Rex, fields: Sequence[str], ref: Ref) -> Rex:
    for name in fields:
        kind = rex.type
        if not isinstance(kind, RowType) or name not in kind.names:
            raise ValidationException(
                f"SQL validation failed. {where(ref.position)}Column '{'.'.join(ref.path)}' not found in any table"
            )
        rex = field_access(rex, name)
    return rex


def field_access(rex: Rex, name: str) -> Rex:
    """Return the field of a row; of a row that may be NULL it may be, too."""
    row = rex.type
    assert isinstance(row, RowType)
    kind: DataType = row.fields[row.names.index(name)].data_type
    if row.is_nullable:
        kind = kind.nullable()
    return Call("DOT", (rex, Literal(name, CharType(max(1, len(name)), False))), kind)
