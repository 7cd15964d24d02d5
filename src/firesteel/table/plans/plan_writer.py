"""Plans as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from firesteel.columns.column_types import DataType
from firesteel.columns.rex import Literal
from firesteel.common.json_types import Json
from firesteel.common.table_errors import TableException
from firesteel.connectors.table_connector import ResolvedTable
from firesteel.table.functions.udf_wrappers import UserDefinedFunctionWrapper
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.plans.plan_classes import OMITTED, PARTS
from firesteel.table.plans.plan_values import constant_json, type_json

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.planner.rel.rel import Rel


class PlanWriter:
    """Writes plans, of which tables and functions are named as in the catalogs.

    Args:
        catalogs: Knows the names of functions, and the options of tables without hints.
        plans: The roots of all plans.
    """

    def __init__(self, catalogs: CatalogManager, plans: Sequence[Rel]) -> None:
        self._catalogs = catalogs
        self._nodes = inputs_first(plans)
        self._ids = {id(node): number for number, node in enumerate(self._nodes)}

    def nodes(self) -> list[Json]:
        """Return all nodes, each after its inputs.

        Raises:
            TableException: a node reads a DataStream, or calls a function that has no name.
        """
        return [{"id": number, **self._fields(node)} for number, node in enumerate(self._nodes)]

    def id_of(self, node: Rel) -> int:
        """Return the number of a node."""
        return self._ids[id(node)]

    def value(self, value: object) -> Json:
        """Return an attribute of a node as JSON."""
        if id(value) in self._ids:
            return {"node": self._ids[id(value)]}
        if value is None or isinstance(value, bool | int | str):
            return value
        if isinstance(value, float):
            return {"constant": constant_json(value)}
        if isinstance(value, tuple):
            return [self.value(part) for part in value]
        if isinstance(value, frozenset):
            return {"set": [self.value(part) for part in sorted(value)]}
        if isinstance(value, Mapping):
            return {"constants": {str(key): constant_json(one) for key, one in value.items()}}
        if isinstance(value, DataType):
            return {"type": type_json(value)}
        if isinstance(value, Literal):
            return {"literal": constant_json(value.value), "of": type_json(value.type)}
        if isinstance(value, ResolvedTable):
            return {"table": self.table(value)}
        if isinstance(value, UserDefinedFunctionWrapper):
            return {"function": list(self._function(value))}
        if isinstance(value, (*PARTS, rel.Join)):  # the join within one of a kind, such as an interval join
            return {"part": self._fields(value)}
        raise TableException(f"A compiled plan can't contain {value!r}")

    def _fields(self, value: object) -> dict[str, Json]:
        if isinstance(value, rel.StreamScan):
            raise TableException(f"The table '{value.name}' is a stream of the program, which a plan can't contain")
        if isinstance(value, rel.Values):
            rows: list[Json] = [[constant_json(cell) for cell in row] for row in value.rows]
            return {"class": "Values", "rows": rows, "row_type": type_json(value.row_type)}
        assert dataclasses.is_dataclass(value)
        omitted = frozenset[str]() if isinstance(value, rel.Union) else OMITTED
        names = [field.name for field in dataclasses.fields(value) if field.name not in omitted]
        return {"class": type(value).__name__, **{name: self.value(getattr(value, name)) for name in names}}

    def _function(self, function: UserDefinedFunctionWrapper) -> tuple[str, ...]:
        name = self._catalogs.functions.name_of(function)
        if name is None:
            raise TableException(
                f"The function '{function.name}' has no name in a catalog; a plan can only contain functions that "
                "create_temporary_system_function() or CREATE FUNCTION has named"
            )
        return name

    def table(self, table: ResolvedTable) -> dict[str, Json]:
        """Return a table: its path and columns, and what the catalog does not know of it."""
        columns: list[Json] = [
            [column.name, type_json(column.type), column.kind, column.metadata_key, column.is_virtual]
            for column in table.columns
            if column.kind != "COMPUTED"
        ]
        found: dict[str, Json] = {"path": list(table.path), "columns": columns}
        if is_anonymous(table):
            return {
                **found,
                "options": dict(table.options),
                "primary_key": list(table.primary_key),
                "partition_keys": list(table.partition_keys),
            }
        hints: dict[str, Json] = dict(_differences(table.options, self._known_options(table)))
        return {**found, "hints": hints} if hints else found

    def _known_options(self, table: ResolvedTable) -> Mapping[str, str]:
        known = self._catalogs.find_table(table.path)
        return known.options if isinstance(known, ResolvedTable) else {}


def is_anonymous(table: ResolvedTable) -> bool:
    """Return whether a table is described by the program, and in no catalog."""
    return table.path[-1].startswith("*anonymous")


def _differences(options: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in options.items() if known.get(key) != value}
