"""Plans from JSON. Only the classes of `plan_classes` are made of it, whoever wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from firesteel.columns.column_types import RowType
from firesteel.columns.rex import Literal, UserFunction
from firesteel.common.json_types import Json
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.connectors.table_connector import Column, LookupSource, ResolvedTable
from firesteel.table.planner.rel import rel
from firesteel.table.plans.former_plans import as_today
from firesteel.table.plans.plan_classes import BY_NAME
from firesteel.table.plans.plan_functions import check_calls
from firesteel.table.plans.plan_values import constant_of, type_of

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.planner.rel.rel import Rel


class PlanReader:
    """Makes the nodes of a plan.

    Args:
        catalogs: Find the tables and functions that the plan names.
        nodes: The JSON of all nodes, each after its inputs.
    """

    def __init__(self, catalogs: CatalogManager, nodes: list[Json]) -> None:
        self._catalogs = catalogs
        self._nodes: list[Rel] = []
        for node in nodes:
            assert isinstance(node, dict)
            self._nodes.append(self._node({name: part for name, part in node.items() if name != "id"}))

    def node(self, number: int) -> Rel:
        """Return a node by its number."""
        return self._nodes[number]

    def _node(self, found: dict[str, Json]) -> Rel:
        if found["class"] == "Values":
            rows = found["rows"]
            assert isinstance(rows, list)
            kind = type_of(found["row_type"])
            assert isinstance(kind, RowType)
            return rel.Values(tuple(tuple(map(constant_of, _list(row))) for row in rows), kind)
        made = self._attributes(found)
        table = made.get("table")
        if found["class"] == "TableScan":
            assert isinstance(table, ResolvedTable)
            made["source"] = self._catalogs.create_source(table)
        if found["class"] == "LookupJoin":
            assert isinstance(table, ResolvedTable)
            made["lookup"] = self._lookup(table, made["right_keys"])
        node: Rel = BY_NAME[str(found["class"])](**made)
        check_calls(node)
        return node

    def _attributes(self, found: Mapping[str, Json]) -> dict[str, object]:
        made = {name: self.value(part) for name, part in found.items() if name != "class"}
        return as_today(str(found["class"]), made)

    def _lookup(self, table: ResolvedTable, keys: object) -> object:
        source = self._catalogs.create_source(table)
        assert isinstance(source, LookupSource)
        assert isinstance(keys, tuple)
        return source.lookup([table.physical_columns[key].name for key in keys])

    def value(self, found: Json) -> object:
        """Return an attribute of a node."""
        match found:
            case list():
                return tuple(map(self.value, found))
            case {"node": int(number)}:
                return self._nodes[number]
            case {"constant": value}:
                return constant_of(value)
            case {"constants": dict(values)}:
                return {key: constant_of(value) for key, value in values.items()}
            case {"set": list(parts)}:
                return frozenset(map(self.value, parts))
            case {"type": kind}:
                return type_of(kind)
            case {"literal": value, "of": kind}:
                return Literal(constant_of(value), type_of(kind))
            case {"table": dict(table)}:
                return self.table(table)
            case {"function": list(path)}:
                return self._function(tuple(map(str, path)))
            case {"part": dict(fields)}:
                part = BY_NAME[str(fields["class"])](**self._attributes(fields))
                check_calls(part)
                return part
        return found

    def _function(self, path: tuple[str, ...]) -> UserFunction:
        function = self._catalogs.find_function(path)
        if function is None:
            raise ValidationException(f"The plan calls the function '{'.'.join(path)}', which does not exist")
        return function

    def table(self, found: Mapping[str, Json]) -> ResolvedTable:
        """Return a table: as the plan describes it, or that of the catalog if it has the same columns."""
        columns = tuple(map(_column, _list(found["columns"])))
        path = tuple(map(str, _list(found["path"])))
        if "options" in found:
            keys, partitions = (tuple(map(str, _list(found[name]))) for name in ("primary_key", "partition_keys"))
            options = _texts(found["options"])
            return ResolvedTable(path, columns, options, primary_key=keys, partition_keys=partitions)
        known = self._catalogs.find_table(path)
        if not isinstance(known, ResolvedTable):
            raise ValidationException(f"The plan reads or writes the table '{'.'.join(path)}', which does not exist")
        stored = tuple(replace(one, text="", comment=None) for one in known.columns if one.kind != "COMPUTED")
        if stored != columns:
            raise ValidationException(
                f"The table '{'.'.join(path)}' has other columns than when the plan was compiled: "
                f"{[one.name for one in stored]} instead of {[one.name for one in columns]}, or other types"
            )
        return replace(known, options={**known.options, **_texts(found.get("hints", {}))})


def _list(found: Json) -> list[Json]:
    if not isinstance(found, list):
        raise TableException(f"A compiled plan has {found!r} in the place of a list")
    return found


def _texts(found: Json) -> dict[str, str]:
    assert isinstance(found, dict)
    return {key: str(value) for key, value in found.items()}


def _column(found: Json) -> Column:
    name, kind, sort, key, is_virtual = _list(found)
    metadata_key = None if key is None else str(key)
    return Column(str(name), type_of(kind), str(sort), metadata_key=metadata_key, is_virtual=bool(is_virtual))
