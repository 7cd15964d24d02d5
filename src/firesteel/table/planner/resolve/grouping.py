"""Resolution of a SELECT with groups: keys, grouping sets, time windows and aggregate calls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from firesteel.columns.column_types import (
    BigIntType,
    BooleanType,
    DataType,
    LocalZonedTimestampType,
    TimestampKind,
    TimestampType,
)
from firesteel.columns.rex import Deferred, InputRef, Literal, OuterRef, Rex, SubqueryValue
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.outer_refs import split_operands
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import result_row_type, row_type, transform, unique_names, with_operands
from firesteel.table.planner.rel.time_attributes import with_kind
from firesteel.table.planner.resolve.group_calls import GroupCall, group_call
from firesteel.table.planner.resolve.group_projection import GroupProjection
from firesteel.table.planner.resolve.group_windows import group_window_of
from firesteel.table.planner.resolve.over_calls import OverCalls
from firesteel.table.planner.resolve.resolve_expressions import WINDOW_STARTS, ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope, typed
from firesteel.table.planner.resolve.subqueries import subqueries_of
from firesteel.table.planner.resolve.unresolved_tools import (
    group_window,
    has_aggregate,
    is_aggregate,
    name_of,
    user_function,
)
from firesteel.table.syntax import queries as q
from firesteel.table.syntax.unresolved import Alias, Apply, Lit, OverCall, Ref, Unresolved, where

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.resolve_queries import QueryResolver


class GroupedResolver(ExpressionResolver):
    """Resolves select items over groups: keys, aggregates, and expressions over them."""

    def __init__(self, layer: GroupedSelect) -> None:
        super().__init__(layer.scope, layer.context.catalogs, subqueries_of(layer.queries, layer.scope))
        self._layer = layer

    def resolve(self, expression: Unresolved) -> Rex:
        """Return the expression over the groups; keys and calls are `Deferred`."""
        layer = self._layer
        if is_aggregate(expression, self.catalogs):
            return layer.call(expression)
        if isinstance(expression, Apply) and isinstance(expression.function, str):
            name = expression.function.upper()
            if name in WINDOW_STARTS and layer.window is not None:
                layer.check_auxiliary(expression, name)
                return layer.property(WINDOW_STARTS[name], name.startswith("WINDOW_"))
            if name in ("GROUPING", "GROUPING_ID", "GROUP_ID"):
                return layer.grouping(expression)
        # Literals are no keys even if GROUP BY has an equal one, so that they stay constants for rules.
        if not isinstance(expression, Lit | OverCall) and not has_aggregate(expression, self.catalogs):
            key = layer.key_of(expression)
            if key is not None:
                return key
        if isinstance(expression, Ref):
            # A column of a query around the groups is one value for all of their rows.
            value = self.scope.find(expression)
            if isinstance(value, OuterRef):
                return value
            raise ValidationException(
                f"SQL validation failed. {where(expression.position)}Expression '{'.'.join(expression.path)}' is not "
                "being grouped"
            )
        if isinstance(expression, InputRef):
            names = [c.name for c in self.scope.columns if c.rex == expression]
            raise ValidationException(f"SQL validation failed. Expression '{names[0]}' is not being grouped")
        return super().resolve(expression)

    def _over(self, call: OverCall) -> Rex:
        return self._layer.overs.add(call, self)


class GroupedSelect:
    """The groups of a SELECT and the expressions over them."""

    def __init__(
        self, queries: QueryResolver, node: Rel, scope: Scope, query: q.Select, state_ttl: str | None = None
    ) -> None:
        self._state_ttl = state_ttl
        self.queries = queries
        self.context = queries.context
        self.node = node
        self.scope = scope
        self.overs = OverCalls(query.windows, self.context)
        self._plain = ExpressionResolver(scope, self.context.catalogs)
        self._inputs = ExpressionResolver(scope, self.context.catalogs, subqueries_of(queries, scope))
        self._calls: list[GroupCall] = []
        self._properties: list[str] = []
        self.window: rel.Window | None = None
        self._keys: list[Rex] = []
        self._names: list[str] = []
        self._sets: list[frozenset[int]] | None = None
        self._take_keys(query.group_by or ())
        if query.distinct_groups and self._sets is not None:
            self._sets = list(dict.fromkeys(self._sets))
        self.resolver = GroupedResolver(self)

    def _take_keys(self, items: tuple[Unresolved | q.GroupingSets, ...]) -> None:
        sets: list[list[frozenset[int]]] = []
        for item in items:
            window = group_window(item)
            if window is not None:
                self.window = self._window_of(window)
            elif isinstance(item, q.GroupingSets):
                sets.append([frozenset(self._key(part) for part in one) for one in item.sets])
            else:
                sets.append([frozenset({self._key(item)})])
        if any(isinstance(item, q.GroupingSets) for item in items):
            self._sets = [frozenset().union(*parts) for parts in product(*sets)]

    def _window_of(self, call: Apply) -> rel.Window:
        return group_window_of(call, self._plain.resolve(call.operands[0]), self.context.is_streaming)

    def _key(self, item: Unresolved) -> int:
        rex = typed(self._inputs.resolve(item))
        # `GROUP BY a, a` has one key, and so do grouping sets that name a column twice.
        if rex not in self._keys:
            self._keys.append(rex)
            self._names.append(name_of(item) or f"EXPR${len(self._names)}")
        return self._keys.index(rex)

    # --- references of items ---------------------------------------------------------------------------------------

    def key_of(self, expression: Unresolved) -> Rex | None:
        """Return the reference to the key that equals an expression, or None."""
        try:
            rex = self._plain.resolve(expression)
        except ValidationException:
            if isinstance(expression, Ref):
                raise
            return None
        if rex in self._keys:
            index = self._keys.index(rex)
            return Deferred(("key", index), self._key_type(index))
        return None

    def _key_type(self, index: int) -> DataType:
        kind = self._keys[index].type
        if self._sets is not None and not all(index in one for one in self._sets):
            kind = kind.nullable()
        return kind

    def check_auxiliary(self, call: Apply, name: str) -> None:
        """Check that a call such as `TUMBLE_START(...)` is about the window of GROUP BY.

        Raises:
            ValidationException: it is about another one.
        """
        kind = name.rpartition("_")[0]
        if kind != "WINDOW" and self._window_of(replace(call, function=kind)) != self.window:
            raise ValidationException(
                f"SQL validation failed. {where(call.position)}Call to auxiliary group function '{name}' must have "
                f"matching call to group function '${kind}' in GROUP BY clause"
            )

    def property(self, name: str, nullable: bool) -> Rex:
        """Return a window property: start, end, rowtime or proctime; those of the Table API are nullable."""
        assert self.window is not None
        if name not in self._properties:
            self._properties.append(name)
        kind = self._property_type(name)
        kind = kind.nullable() if nullable else kind
        return Deferred(("property", name), kind)

    def _property_type(self, name: str) -> DataType:
        if name in ("start", "end"):
            return TimestampType(3, False)
        assert self.window is not None
        kind = self.node.row_type.fields[self.window.time].data_type
        if name == "rowtime":
            assert isinstance(kind, TimestampType | LocalZonedTimestampType)
            return type(kind)(3, kind.is_nullable, kind=kind.kind)
        return with_kind(LocalZonedTimestampType(3, False), TimestampKind.PROCTIME)

    def grouping(self, call: Apply) -> Rex:
        """Return GROUPING or GROUPING_ID: a bit per key, set if the key is not in the grouping set of the row.

        GROUP_ID tells equal grouping sets apart: 0 for the first one.
        """
        operands = [self._plain.resolve(operand) for operand in call.operands]
        if any(operand not in self._keys for operand in operands):
            raise ValidationException(
                f"SQL validation failed. {where(call.position)}Argument to {str(call.function).upper()} operator must "
                "be a grouped expression"
            )
        if self._sets is None:
            return Literal(0, BigIntType(False))
        id_ref = Deferred(("grouping id",), BigIntType(False))
        if str(call.function).upper() == "GROUP_ID":
            return self._plain.call("/", (id_ref, Literal(2 ** len(self._keys), BigIntType(False))))
        if not call.operands:
            raise ValidationException(
                f"SQL validation failed. {where(call.position)}Invalid number of arguments to function "
                f"'{call.function}'. Was expecting 1 arguments"
            )
        result: Rex | None = None
        for operand in operands:
            index = self._keys.index(operand)
            weight = Literal(2 ** (len(self._keys) - 1 - index), BigIntType(False))
            two = Literal(2, BigIntType(False))
            bit = self._plain.call("MOD", (self._plain.call("/", (id_ref, weight)), two))
            result = bit if result is None else self._plain.call("+", (self._plain.call("*", (result, two)), bit))
        assert result is not None
        return result

    def call(self, call: Apply) -> Rex:
        """Add an aggregate call and return the reference to its result."""
        made = group_call(self._inputs, call, bool(self._keys) or self.window is not None)
        # SUM(v) in SELECT and in HAVING is computed once.
        if made not in self._calls:
            self._calls.append(made)
        return Deferred(("call", self._calls.index(made)), made.type)

    # --- nodes -----------------------------------------------------------------------------------------------------

    def finish(self, names: list[str], rexes: list[Rex], having: Rex | None) -> Rel:
        """Return the node that computes the columns."""
        node, place = self._aggregate()
        self.overs.replace(place)
        if having is not None:
            if not isinstance(having.type, BooleanType):
                raise ValidationException("SQL validation failed. HAVING clause must be a condition")
            node = rel.Filter(node, transform(having, place))
        node, rexes = self.overs.attach(node, [transform(rex, place) for rex in rexes])
        # ORDER BY may need columns that SELECT does not have; they are dropped above the Sort.
        names = [*names, *(f"$sort{i}" for i in range(len(rexes) - len(names)))]
        return rel.Project(node, tuple(rexes), row_type(names, [rex.type for rex in rexes]))

    def _in_group(self, rex: Rex) -> Rex | None:
        """Return a value of the source that a subquery reads as one of the groups, which has to be a key."""
        if rex in self._keys:
            return InputRef(self._keys.index(rex), self._key_type(self._keys.index(rex)))
        if isinstance(rex, InputRef):
            names = [c.name for c in self.scope.columns if c.rex == rex]
            raise ValidationException(f"SQL validation failed. Expression '{names[0]}' is not being grouped")
        return None

    def flat(self, query: q.FlatAggregate) -> Rel:
        """Return the node of a table aggregate function: keys, the function's columns, and properties of the window."""
        alias = query.call if isinstance(query.call, Alias) else None
        call = alias.expression if alias is not None else query.call
        made = group_call(self._inputs, self._table_aggregate(call), bool(self._keys) or self.window is not None)
        self._calls = [made]
        for item in query.properties:
            self.resolver.resolve(item)
        node, _ = self._aggregate()
        assert isinstance(node, rel.Aggregate | rel.WindowAggregate)
        assert not isinstance(made.function, str)
        result = result_row_type(made.function)
        names = list(alias.names) if alias is not None else result.names
        if len(names) != len(result):
            raise ValidationException(
                "List of column aliases must have same degree as table; the returned table of function "
                f"'{made.function.name}' has {len(result)} columns, whereas alias list has {len(names)} columns"
            )
        kinds = [self._key_type(i) for i in range(len(self._keys))]
        properties = [self._property_type(name) for name in self._properties]
        kind = row_type(
            unique_names([*self._names, *names, *(item.names[0] for item in query.properties)]),
            [*kinds, *result.field_types(), *properties],
        )
        return replace(node, row_type=kind, flat=True)

    def _table_aggregate(self, call: Unresolved) -> Apply:
        """Return an expression that is the call of a table aggregate function; Flink refuses all others."""
        if isinstance(call, Apply):
            by_name = isinstance(call.function, str)
            function = user_function(call, self.context.catalogs) if by_name else call.function
            if getattr(function, "is_table_aggregate", False):
                return call
        raise ValidationException(
            "A flatAggregate only accepts an expression which defines a table aggregate function that might be "
            "followed by some alias."
        )

    def _aggregate(self) -> tuple[Rel, Callable[[Rex], Rex | None]]:
        source = GroupProjection(self.node)
        keys = tuple(source.column(rex, name) for rex, name in zip(self._keys, self._names, strict=True))
        if self._sets is not None:
            source.keep_apart()
        calls = tuple(call.over(source) for call in self._calls)
        window = self.window and replace(self.window, time=source.column(self._time(self.window), "$time"))
        node = source.node()
        count, types = len(keys), [self._key_type(i) for i in range(len(keys))]
        if self._sets is not None and keys:
            node, keys = self._expanded(node, keys)
        id_types = [BigIntType(False)] * (len(keys) - count)
        names = [*self._names, *["$e"] * len(id_types), *(f"EXPR${len(keys) + i}" for i in range(len(calls)))]
        types = [*types, *id_types, *(call.type for call in calls), *(self._property_type(p) for p in self._properties)]
        kind = row_type(unique_names([*names, *(f"w${p}" for p in self._properties)]), types)
        grouped: rel.Grouped
        if window is not None:
            grouped = rel.WindowAggregate(node, keys, calls, window, tuple(self._properties), kind)
        else:
            grouped = rel.Aggregate(node, keys, calls, kind, state_ttl=self._state_ttl)
        place = self._placer(len(keys), count, len(calls))
        if self._sets is None or keys:
            return grouped, place
        # Without keys there is a row for each set, also if there are no rows to group.
        return self._expanded(grouped, ())[0], place

    def _placer(self, width: int, keys: int, calls: int) -> Callable[[Rex], Rex | None]:
        def place(rex: Rex) -> Rex | None:
            if isinstance(rex, SubqueryValue):
                compared, outer = split_operands(rex)
                over = (
                    *(transform(one, place) for one in compared),
                    *(transform(one, self._in_group) for one in outer),
                )
                return with_operands(rex, over)
            if not isinstance(rex, Deferred):
                return None
            match rex.number:
                case ("grouping id",):
                    return InputRef(keys or calls + len(self._properties), rex.type)
                case ("key", int(index)):
                    return InputRef(index, rex.type)
                case ("call", int(index)):
                    return InputRef(width + index, rex.type)
                case ("property", str(name)):
                    return InputRef(width + calls + self._properties.index(name), rex.type)
            return None

        return place

    def _time(self, window: rel.Window) -> Rex:
        return InputRef(window.time, self.node.row_type.fields[window.time].data_type)

    def _expanded(self, node: Rel, keys: tuple[int, ...]) -> tuple[Rel, tuple[int, ...]]:
        assert self._sets is not None
        sets = tuple(frozenset(keys[i] for i in one) for one in self._sets)
        bits = [sum(2 ** (len(keys) - 1 - i) for i in range(len(keys)) if i not in one) for one in self._sets]
        # Above the bits of the keys, the number of equal sets before: GROUP_ID tells them apart, and so do the groups.
        ids = tuple(bit + 2 ** len(keys) * bits[:place].count(bit) for place, bit in enumerate(bits))
        types = node.row_type.field_types()
        for key in keys:
            types[key] = types[key].nullable()
        kind = row_type([*node.row_type.names, "$e"], [*types, BigIntType(False)])
        return rel.Expand(node, keys, sets, ids, kind), (*keys, len(types))
