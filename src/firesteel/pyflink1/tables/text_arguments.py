"""Methods of tables and windows that took expressions as text."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from firesteel.common.table_errors import TableException
from firesteel.datastream.data_stream import DataStream
from firesteel.pyflink1.removed import Removed, note
from firesteel.pyflink1.tables.text_expressions.parser import parse_expressions
from firesteel.table import grouped_tables as g
from firesteel.table import window as w
from firesteel.table.expressions import col
from firesteel.table.table import Table
from firesteel.table.table_environment import StreamTableEnvironment, TableEnvironment
from firesteel.table.table_parts import environment_of

_INSTEAD = "col('name') and operators of expressions"
Result = TypeVar("Result")


class EnvironmentNames:
    """The tables and functions of an environment.

    Args:
        environment: The environment.
        columns: Names of columns, which go before tables.
    """

    def __init__(self, environment: TableEnvironment, columns: Iterable[str]) -> None:
        self._environment = environment
        self._columns = tuple(columns)

    def table(self, name: str) -> Table | None:
        """Return a table, or None: there is none, or a column has this name."""
        if name in self._columns:
            return None
        try:
            return self._environment.from_path(name)
        except TableException:
            return None

    def is_function(self, name: str) -> bool:
        """Return whether there is a user-defined function of this name."""
        return name.lower() in self._environment.list_user_defined_functions()


def _parsed(arguments: Iterable[object], names: EnvironmentNames | None, columns: Iterable[str]) -> Iterator[object]:
    """Yield arguments with expressions instead of texts."""
    for argument in arguments:
        if not isinstance(argument, str):
            yield argument
            continue
        note("an expression as text", _INSTEAD)
        if argument in columns:
            yield col(argument)
        else:
            yield from parse_expressions(argument, names)


def _of_tables(method: Callable[..., Result]) -> Callable[..., Result]:
    """Return a method of tables that also takes texts."""

    @functools.wraps(method)
    def widened(self: Table | g.GroupedTable, *arguments: object, **named: object) -> Result:
        columns = self.get_schema().get_field_names() if isinstance(self, Table) else []
        names = EnvironmentNames(environment_of(self), columns)
        for name, value in named.items():
            (named[name],) = _parsed((value,), names, columns)
        return method(self, *_parsed(arguments, names, columns), **named)

    return widened


def _of_windows(method: Callable[..., Result]) -> Callable[..., Result]:
    """Return a method of windows that also takes texts."""

    @functools.wraps(method)
    def widened(*arguments: object) -> Result:
        return method(*_parsed(arguments, None, ()))

    return widened


def alias(self: Table, field: str, *fields: str) -> Table:
    """Rename the first columns; the names may be one text such as `a, b`."""
    names = [name.strip() for text in (field, *fields) for name in text.split(",")]
    if len(names) > len(fields) + 1:
        note("names in one text", "alias() with an argument per name")
    return _alias_today(self, *names)


def from_data_stream(self: StreamTableEnvironment, data_stream: DataStream[object], *fields_or_schema: object) -> Table:
    """Return the table of an append-only stream; its columns may be a text such as `a, b.rowtime`."""
    return _from_data_stream_today(self, data_stream, *_parsed(fields_or_schema, None, ()))


_alias_today = Table.alias
_from_data_stream_today: Callable[..., Table] = StreamTableEnvironment.from_data_stream

_TABLES: tuple[tuple[type, tuple[str, ...]], ...] = (
    (
        Table,
        (
            *("select", "filter", "where", "order_by", "group_by"),
            *("add_columns", "add_or_replace_columns", "rename_columns", "drop_columns"),
            *("join", "left_outer_join", "right_outer_join", "full_outer_join"),
            *("join_lateral", "left_outer_join_lateral"),
            *("map", "flat_map", "aggregate", "flat_aggregate"),
        ),
    ),
    (g.GroupedTable, ("select", "aggregate", "flat_aggregate")),
    (g.GroupWindowedTable, ("group_by",)),
    (g.WindowGroupedTable, ("select", "aggregate", "flat_aggregate")),
    (g.OverWindowedTable, ("select",)),
    (g.AggregatedTable, ("select",)),
    (g.FlatAggregateTable, ("select",)),
)
_WINDOWS: tuple[tuple[type, tuple[str, ...]], ...] = (
    (w.TumbleWithSize, ("on",)),
    (w.SlideWithSize, ("every",)),
    (w.SlideWithSizeAndSlide, ("on",)),
    (w.SessionWithGap, ("on",)),
    (w.OverWindowPartitioned, ("order_by",)),
    (w.OverWindowPartitionedOrdered, ("preceding",)),
    (w.OverWindowPartitionedOrderedPreceding, ("following",)),
)
_WINDOW_CLASSES: tuple[tuple[type, tuple[str, ...]], ...] = (
    (w.Tumble, ("over",)),
    (w.Slide, ("over",)),
    (w.Session, ("with_gap",)),
    (w.Over, ("order_by", "partition_by")),
)


def _widened(place: str, owner: type, name: str, value: object) -> Removed:
    return Removed((f"{place}.{owner.__name__}",), name, value, _INSTEAD, widens=True)


REMOVED = (
    *(
        _widened("table.table", owner, name, _of_tables(getattr(owner, name)))
        for owner, names in _TABLES
        for name in names
    ),
    *(
        _widened("table.window", owner, name, _of_windows(getattr(owner, name)))
        for owner, names in _WINDOWS
        for name in names
    ),
    *(
        _widened("table.window", owner, name, staticmethod(_of_windows(getattr(owner, name))))
        for owner, names in _WINDOW_CLASSES
        for name in names
    ),
    _widened("table", Table, "alias", alias),
    _widened("table", StreamTableEnvironment, "from_data_stream", from_data_stream),
)
