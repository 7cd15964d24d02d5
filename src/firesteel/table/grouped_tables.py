"""Tables with groups or windows, which need a select or aggregate; re-exported by `firesteel.table.table`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from firesteel.common.table_errors import ValidationException
from firesteel.table.environment.column_selection import WINDOW_PROPERTIES, is_aggregate, select_items
from firesteel.table.expression import Expression
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.expression_functions.expression_summary import expression_summary
from firesteel.table.functions.udf_wrappers import UserDefinedFunctionWrapper
from firesteel.table.planner.rel.rex_tools import unique_names
from firesteel.table.syntax import queries
from firesteel.table.syntax.unresolved import Alias, Apply, Ref, Star, Unresolved, WindowSpec
from firesteel.table.table_parts import rel_of, table_of, with_names

if TYPE_CHECKING:
    from firesteel.table.table import Table
    from firesteel.table.table_environment import TableEnvironment


class _Stage:
    """An incomplete query, which needs a select or aggregate."""

    def __init__(self, query: queries.Resolved, t_env: TableEnvironment) -> None:
        self._query = query
        self._t_env = t_env

    def _call(self, func: object) -> tuple[Apply, tuple[str, ...]]:
        return _call_of(row_call(func, self._query.node.row_type.names))

    def _items(self, fields: tuple[Any, ...]) -> tuple[Any, ...]:
        return select_items(fields, self._query.node.row_type.names)


class GroupedTable(_Stage):
    """A table whose rows are grouped (Flink: `GroupedTable`).

    `Table.group_by` returns it; continue with `select`, `aggregate` or `flat_aggregate`.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> words = table_env.from_elements([("to", 1), ("be", 1), ("to", 1)], ["word", "n"])
        >>> totals = words.group_by(col("word")).select(col("word"), col("n").sum.alias("total"))
        >>> _ = table_env.to_changelog_stream(totals).collect_async()
        >>> for row in run_local(env).elements:
        ...     print(row.get_row_kind(), row)
        +I Row(word='to', total=1)
        +I Row(word='be', total=1)
        -U Row(word='to', total=1)
        +U Row(word='to', total=2)
    """

    def __init__(self, query: queries.Resolved, t_env: TableEnvironment, keys: tuple[Any, ...]) -> None:
        super().__init__(query, t_env)
        self._keys = keys

    def select(self, *fields: Expression[Any]) -> Table:
        """Return keys and aggregates of each group.

        Args:
            fields: Grouping columns and aggregate calls, such as `col("amount").sum.alias("total")`.
        """
        return table_of(self._t_env, queries.Select(self._query, self._items(fields), group_by=self._keys))

    def aggregate(self, func: object) -> AggregatedTable:
        """Aggregate each group with a function that may return several columns.

        Args:
            func: A call of a function made by `udaf` whose result type is a row.
        """
        return AggregatedTable(self._query, self._t_env, self._keys, *self._call(func))

    def flat_aggregate(self, func: object) -> FlatAggregateTable:
        """Aggregate each group with a function that may return several rows.

        Args:
            func: A call of a function made by `udtaf`.
        """
        return FlatAggregateTable(self._query, self._t_env, self._keys, *self._call(func))


class GroupWindowedTable(_Stage):
    """A table whose rows are assigned to windows (Flink: `GroupWindowedTable`).

    `Table.window` returns it; continue with `group_by`.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> ddl = "ts TIMESTAMP(3), price INT, WATERMARK FOR ts AS ts"
        >>> _ = table_env.execute_sql(f"CREATE TABLE orders ({ddl}) WITH ('connector' = 'datagen')")
        >>> windows = table_env.from_path("orders").window(Tumble.over(lit(5).minutes).on(col("ts")).alias("w"))
        >>> sales = windows.group_by(col("w")).select(col("w").end.alias("until"), col("price").sum.alias("sales"))
        >>> print(sales.get_schema())
        root
         |-- until: TIMESTAMP(3)
         |-- sales: INT
    """

    def __init__(self, query: queries.Resolved, t_env: TableEnvironment, window: Alias) -> None:
        super().__init__(query, t_env)
        self._window = window

    def group_by(self, *fields: Expression[Any]) -> WindowGroupedTable:
        """Group the rows by the window and by columns.

        Args:
            fields: The alias of the window, and columns.

        Raises:
            ValidationException: The alias of the window is missing.
        """
        name = self._window.names[0]
        nodes = tuple(map(node_of, fields))
        keys = tuple(self._window if isinstance(node, Ref) and node.path == (name,) else node for node in nodes)
        if self._window not in keys:
            raise ValidationException(f"GroupBy must contain exactly one window alias: '{name}'")
        return WindowGroupedTable(self._query, self._t_env, keys)


class WindowGroupedTable(_Stage):
    """A table whose rows are grouped by windows (Flink: `WindowGroupedTable`).

    `GroupWindowedTable.group_by` returns it; continue with `select`, `aggregate` or `flat_aggregate`.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> ddl = "ts TIMESTAMP(3), item STRING, WATERMARK FOR ts AS ts"
        >>> _ = table_env.execute_sql(f"CREATE TABLE orders ({ddl}) WITH ('connector' = 'datagen')")
        >>> windows = table_env.from_path("orders").window(Tumble.over(lit(5).minutes).on(col("ts")).alias("w"))
        >>> counts = windows.group_by(col("w"), col("item")).select(col("item"), col("item").count.alias("n"))
        >>> counts.get_schema().get_field_names()
        ['item', 'n']
    """

    def __init__(self, query: queries.Resolved, t_env: TableEnvironment, keys: tuple[Any, ...]) -> None:
        super().__init__(query, t_env)
        self._keys = keys

    def select(self, *fields: Expression[Any]) -> Table:
        """Return keys, aggregates and properties of each window.

        Args:
            fields: Grouping columns, aggregate calls, and `col("w").start`, `col("w").end`, `col("w").rowtime` or
                `col("w").proctime` of the window `w`.
        """
        return table_of(self._t_env, queries.Select(self._query, self._items(fields), group_by=self._keys))

    def aggregate(self, func: object) -> AggregatedTable:
        """Aggregate each window with a function that may return several columns.

        Args:
            func: A call of a function made by `udaf` whose result type is a row.
        """
        return AggregatedTable(self._query, self._t_env, self._keys, *self._call(func))

    def flat_aggregate(self, func: object) -> FlatAggregateTable:
        """Aggregate each window with a function that may return several rows.

        Args:
            func: A call of a function made by `udtaf`.
        """
        return FlatAggregateTable(self._query, self._t_env, self._keys, *self._call(func))


class OverWindowedTable(_Stage):
    """A table with windows over the rows around each row (Flink: `OverWindowedTable`).

    `Table.over_window` returns it; continue with `select`.

    Example:
        >>> table_env = StreamTableEnvironment.create(env)
        >>> rows = "VALUES ('to', 1), ('be', 2), ('to', 3)"
        >>> words = table_env.sql_query(f"SELECT word, n, PROCTIME() AS p FROM ({rows}) AS t (word, n)")
        >>> window = Over.partition_by(col("word")).order_by(col("p")).preceding(UNBOUNDED_RANGE).alias("w")
        >>> running = words.over_window(window).select(col("word"), col("n").sum.over(col("w")).alias("total"))
        >>> running.get_schema().get_field_names()
        ['word', 'total']
    """

    def __init__(
        self, query: queries.Resolved, t_env: TableEnvironment, windows: tuple[tuple[str, WindowSpec], ...]
    ) -> None:
        super().__init__(query, t_env)
        self._windows = windows

    def select(self, *fields: Expression[Any]) -> Table:
        """Return columns, and aggregates over the windows.

        Args:
            fields: Columns, and calls such as `col("amount").sum.over(col("w"))`.
        """
        return table_of(self._t_env, queries.Select(self._query, self._items(fields), windows=self._windows))


class _CalledStage(_Stage):
    """A query with a call of a function per group, which needs a select."""

    def __init__(
        self,
        query: queries.Resolved,
        t_env: TableEnvironment,
        keys: tuple[Any, ...],
        call: Apply,
        names: tuple[str, ...],
    ) -> None:
        super().__init__(query, t_env)
        self._keys = keys
        self._function_call = call
        self._names = names


class AggregatedTable(_CalledStage):
    """A table with an aggregate that returns several columns (Flink: `AggregatedTable`).

    `aggregate` of `Table`, `GroupedTable` and `WindowGroupedTable` returns it; continue with `select`.
    """

    def select(self, *fields: Expression[Any]) -> Table:
        """Return columns of the keys and of the aggregate's result.

        Raises:
            ValidationException: The alias has another number of columns than the function returns, or the name of a
                key; or a field calls an aggregate function.
        """
        keys, inner = _named_keys(self._keys)
        _check_names(keys, self._names)
        call = self._function_call
        fields_of_result = getattr(getattr(call.function, "result_type", None), "names", None)
        names = tuple(unique_names([*keys, *(self._names or fields_of_result or ("f0",))])[len(keys) :])
        result: Unresolved = Alias(call, names) if fields_of_result is None else Apply("FLATTEN", (call,))
        items, properties = _without_properties(fields, [*keys, *names])
        source = table_of(self._t_env, queries.Select(self._query, (*inner, result, *properties), group_by=self._keys))
        found = rel_of(source).row_type.names[len(inner) : len(rel_of(source).row_type) - len(properties)]
        if len(found) != len(names):
            raise ValidationException(
                f"The aggregate function returns the columns {found}, but its alias is {list(names)}"
            )
        renamed = with_names(source, [*keys, *names, *(item.names[0] for item in properties)])
        return table_of(self._t_env, queries.Select(queries.Resolved(rel_of(renamed)), items))


class FlatAggregateTable(_CalledStage):
    """A table with an aggregate that returns several rows (Flink: `FlatAggregateTable`).

    `flat_aggregate` of `Table`, `GroupedTable` and `WindowGroupedTable` returns it; continue with `select`.
    """

    def select(self, *fields: Expression[Any]) -> Table:
        """Return expressions over the keys, the function's columns, and the properties of a window.

        Raises:
            ValidationException: The alias has another number of columns than the function returns, or the name of a
                key; or a field calls an aggregate function.
        """
        keys, _ = _named_keys(self._keys)
        _check_names(keys, self._names)
        kind = getattr(self._function_call.function, "result_type", None)
        names = unique_names([*keys, *(self._names or getattr(kind, "names", ("f0",)))])
        call = Alias(self._function_call, tuple(names[len(keys) :]))
        items, properties = _without_properties(fields, names)
        source = table_of(self._t_env, queries.FlatAggregate(self._query, self._keys, call, properties))
        return table_of(self._t_env, queries.Select(queries.Resolved(rel_of(source)), items))


def _without_properties(
    fields: tuple[object, ...], names: list[str]
) -> tuple[tuple[Unresolved, ...], tuple[Alias, ...]]:
    """Return select items with references to properties of the window, and these properties under their names.

    Args:
        fields: The arguments of `select`.
        names: The other columns that the items refer to.

    Raises:
        ValidationException: A field calls an aggregate function.
    """
    found: list[str] = []
    window: list[Apply] = []

    def change(node: Unresolved) -> Unresolved:
        if isinstance(node, Alias):
            return replace(node, expression=change(node.expression))
        if not isinstance(node, Apply):
            return node
        if is_aggregate(node):
            raise ValidationException(
                "Aggregate functions are not supported in the select right after the aggregate or flatAggregate "
                "operation."
            )
        if not isinstance(node.function, str) or node.function not in WINDOW_PROPERTIES:
            return replace(node, operands=tuple(map(change, node.operands)))
        if node.function not in found:
            found.append(node.function)
            window.append(node)
        return Ref((f"${node.function}",))

    columns = [Ref((name,)) for name in names]
    items = [part for item in select_items(fields, names) for part in (columns if item == Star() else [change(item)])]
    return tuple(items), tuple(Alias(node, (f"${node.function}",)) for node in window)


def _check_names(keys: list[str], names: tuple[str, ...]) -> None:
    """Refuse an alias that has the name of a key."""
    for name in names:
        if name in keys:
            raise ValidationException(f"Ambiguous column name: {name}")


def _named_keys(keys: tuple[Any, ...]) -> tuple[list[str], list[Any]]:
    """Return the names of the grouping columns without windows, and their select items."""
    names, items = [], []
    for position, key in enumerate(keys):
        if isinstance(key, Alias) and getattr(key.expression, "function", None) in ("TUMBLE", "HOP", "SESSION"):
            continue
        name = key.path[-1] if isinstance(key, Ref) else key.names[0] if isinstance(key, Alias) else f"_c{position}"
        names.append(name)
        items.append(Alias(key.expression if isinstance(key, Alias) else key, (name,)))
    return names, items


def row_call(func: object, names: list[str]) -> Unresolved:
    """Return the call of a function; a function without arguments gets the whole row.

    Args:
        func: A function, or its call.
        names: The columns of the row.
    """
    node = Apply(func.in_use(), (Star(),)) if isinstance(func, UserDefinedFunctionWrapper) else node_of(func)
    if isinstance(node, Alias):
        return Alias(_with_row(node.expression, names), node.names)
    return _with_row(node, names)


def _with_row(call: Unresolved, names: list[str]) -> Unresolved:
    if isinstance(call, Apply) and call.operands == (Star(),) and isinstance(call.function, UserDefinedFunctionWrapper):
        return Apply(call.function.with_row_input(names), call.operands)
    return call


def _call_of(node: Any) -> tuple[Apply, tuple[str, ...]]:
    """Return the call of an aggregate function and the names of its result columns.

    Raises:
        ValidationException: The expression is not a call of an aggregate function.
    """
    names: tuple[str, ...] = ()
    if isinstance(node, Alias):
        node, names = node.expression, node.names
    if not isinstance(node, Apply):
        raise ValidationException(f"An aggregate function is expected, found {expression_summary(node)}")
    return node, names
