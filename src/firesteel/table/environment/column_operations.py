"""Operations of tables on their columns; part of `firesteel.table.table.Table`."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from firesteel.common.table_errors import ValidationException
from firesteel.table.environment.column_selection import select_items, selected_names
from firesteel.table.expression import Expression
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.syntax import queries
from firesteel.table.syntax.unresolved import Alias, Ref

if TYPE_CHECKING:
    from firesteel.table.syntax.queries import Query
    from firesteel.table.table import Table


class ColumnOperations:
    """The methods of a table that select, add, replace, rename and drop columns."""

    @property
    @abstractmethod
    def _query(self) -> queries.Resolved:
        """The query so far."""

    @property
    @abstractmethod
    def _names(self) -> list[str]:
        """The names of its columns."""

    @abstractmethod
    def _new(self, query: Query) -> Table:
        """Return the table of a query."""

    def select(self, *fields: Expression[Any]) -> Table:
        """Return a table of expressions over the columns.

        Args:
            fields: Columns, and expressions with or without an alias; aggregates combine all rows into one.

        Raises:
            ValidationException: a column or function does not exist, or types do not fit.
        """
        return self._new(queries.Select(self._query, select_items(fields, self._names)))

    def _project_names(self, names: list[str]) -> Table:
        pairs = zip(self._names, names, strict=True)
        return self._new(queries.Select(self._query, tuple(Alias(Ref((old,)), (new,)) for old, new in pairs)))

    def add_columns(self, *fields: Expression[Any]) -> Table:
        """Return a table with additional columns.

        Args:
            fields: Expressions; name them by `alias`.

        Raises:
            ValidationException: a name is there already.
        """
        items = select_items(fields, self._names)
        for name in map(_name_of, items):
            if name in self._names:
                raise ValidationException(f"Ambiguous column name: {name}")
        return self._new(queries.Select(self._query, (*self._refs(), *items)))

    def add_or_replace_columns(self, *fields: Expression[Any]) -> Table:
        """Return a table with additional or replaced columns.

        Args:
            fields: Expressions; one with the name of a column replaces that column.
        """
        items = select_items(fields, self._names)
        replacing = {name: item for item in items if (name := _name_of(item)) is not None}
        kept = [replacing.get(name, Ref((name,))) for name in self._names]
        added = [item for item in items if _name_of(item) not in self._names]
        return self._new(queries.Select(self._query, (*kept, *added)))

    def rename_columns(self, *fields: Expression[Any]) -> Table:
        """Return a table with some columns renamed.

        Args:
            fields: Columns with their new names: `col("old").alias("new")`.

        Raises:
            ValidationException: something else is given, a column does not exist, or two columns would have one name.
        """
        new_names = {}
        for field in fields:
            node = node_of(field)
            if not isinstance(node, Alias) or not isinstance(node.expression, Ref):
                raise ValidationException(f"Unexpected field expression: {field}; expected col('old').alias('new')")
            new_names[node.expression.path[-1]] = node.names[0]
        self._check(list(new_names), "Rename")
        names = [new_names.get(name, name) for name in self._names]
        repeated = next((name for name in names if names.count(name) > 1), None)
        if repeated is not None:
            raise ValidationException(f"Ambiguous column name: {repeated}")
        return self._project_names(names)

    def drop_columns(self, *fields: Expression[Any]) -> Table:
        """Return a table without some columns.

        Args:
            fields: Columns to leave out.

        Raises:
            ValidationException: a column does not exist.
        """
        dropped = selected_names(fields, self._names)
        self._check(dropped, "Drop")
        return self._new(
            queries.Select(self._query, tuple(Ref((name,)) for name in self._names if name not in dropped))
        )

    def _check(self, names: list[str], action: str) -> None:
        for name in names:
            if name not in self._names:
                raise ValidationException(
                    f"Field '{name}' does not exist; {action} columns that are in [{', '.join(self._names)}]"
                )

    def _refs(self) -> tuple[Ref, ...]:
        return tuple(Ref((name,)) for name in self._names)


def _name_of(item: object) -> str | None:
    if isinstance(item, Alias):
        return item.names[0]
    return item.path[-1] if isinstance(item, Ref) else None
