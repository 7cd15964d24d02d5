"""ALTER statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from firesteel.common.cases import method_case
from firesteel.common.table_errors import ValidationException
from firesteel.table.catalogs.catalog_objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogPartition,
    CatalogPartitionSpec,
    ObjectPath,
)
from firesteel.table.execution.alter_schema import added, dropped, modified, renamed_column
from firesteel.table.execution.executor import Executor
from firesteel.table.execution.view_paths import with_full_paths
from firesteel.table.schema import Schema
from firesteel.table.syntax import statements as s
from firesteel.table.syntax.statements import ColumnDefinition
from firesteel.table.table_result import TableResult, ok

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.planner.translate.planner import Planner


class AlterExecutor(Executor):
    """The executor of ALTER statements.

    Args:
        planner: Looks up the queries of views.
        catalogs: All catalogs.
    """

    def __init__(self, planner: Planner, catalogs: CatalogManager) -> None:
        self._planner = planner
        self._catalogs = catalogs

    def _table(self, statement: s.AlterTable) -> TableResult:
        table = self._catalogs.get(statement.path)
        if table is None or table.is_view:
            if statement.if_exists:
                return ok()
            name = ".".join(f"`{part}`" for part in self._catalogs.qualify(statement.path))
            raise ValidationException(f"Table {name} doesn't exist or is a temporary table.")
        if statement.action == "RENAME":
            self._catalogs.rename_table(statement.path, statement.value)
        elif statement.action.endswith("PARTITION"):
            self._partition(statement)
        else:
            changed = table.copy()
            _ACTIONS[statement.action](changed, statement.value)
            self._catalogs.replace_table(statement.path, changed)
        return ok()

    def _partition(self, statement: s.AlterTable) -> None:
        path = self._catalogs.qualify(statement.path)
        catalog, object_path = self._catalogs.catalog(path[0]), ObjectPath(*path[1:])
        value = statement.value
        spec = CatalogPartitionSpec({k: str(getattr(v, "value", v)) for k, v in value["values"].items()})
        if statement.action == "ADD PARTITION":
            catalog.create_partition(object_path, spec, CatalogPartition(dict(value["options"])), bool(value["ignore"]))
        else:
            catalog.drop_partition(object_path, spec, bool(value["ignore"]))

    def _view(self, statement: s.AlterView) -> TableResult:
        view = self._catalogs.get(statement.path)
        if view is None or not view.is_view:
            name = ".".join(f"`{part}`" for part in self._catalogs.qualify(statement.path))
            raise ValidationException(f"View {name} doesn't exist or is a temporary view.")
        if statement.action == "RENAME":
            self._catalogs.rename_table(statement.path, statement.value)
            return ok()
        query, text = statement.value
        query = with_full_paths(query, self._catalogs)
        row_type = self._planner.resolve(query).row_type
        schema = Schema(tuple(map(ColumnDefinition, row_type.names, row_type.field_types())))
        changed = CatalogBaseTable(
            schema, {}, comment=view.comment, query=query, text=text, view_columns=tuple(row_type.names)
        )
        self._catalogs.replace_table(statement.path, changed)
        return ok()

    def _database(self, statement: s.AlterDatabase) -> TableResult:
        catalog_name, database = self._catalogs.qualify_database(statement.path)
        catalog = self._catalogs.catalog(catalog_name)
        before = catalog.get_database(database)
        properties = {**before.get_properties(), **dict(statement.options)}
        catalog.alter_database(database, CatalogDatabase(properties, before.get_description()), False)
        return ok()

    def _function(self, statement: s.AlterFunction) -> TableResult:
        if statement.is_temporary:
            kind = "system" if statement.is_system else "catalog"
            raise ValidationException(f"Alter temporary {kind} function is not supported")
        function = CatalogFunction(statement.class_name, statement.language)
        self._catalogs.functions.alter_stored(statement.path, function, statement.if_exists)
        return ok()

    def _catalog(self, statement: s.AlterCatalog) -> TableResult:
        options, comment = self._catalogs.describe_catalog(statement.name)
        if statement.action == "SET":
            options = {**options, **dict(statement.value)}
        elif statement.action == "RESET":
            options = {key: value for key, value in options.items() if key not in statement.value}
        else:
            comment = statement.value
        self._catalogs.alter_catalog(statement.name, options, comment)
        return ok()

    rules: ClassVar[dict[type, Callable[[AlterExecutor, object], TableResult]]] = dict(
        [
            method_case(s.AlterTable, _table),
            method_case(s.AlterView, _view),
            method_case(s.AlterDatabase, _database),
            method_case(s.AlterFunction, _function),
            method_case(s.AlterCatalog, _catalog),
        ]
    )


def _set_options(table: CatalogBaseTable, options: s.Options) -> None:
    table.options = {**table.options, **dict(options)}


def _reset_options(table: CatalogBaseTable, keys: tuple[str, ...]) -> None:
    if "connector" in keys:
        raise ValidationException("ALTER TABLE RESET does not support changing 'connector'")
    table.options = {key: value for key, value in table.options.items() if key not in keys}


def _drop(table: CatalogBaseTable, names: tuple[str, ...]) -> None:
    for name in names:
        if name in table.partition_keys:
            raise ValidationException(
                f"Failed to execute ALTER TABLE statement.\nThe column `{name}` is used as the partition keys."
            )
    table.schema = dropped(table.schema, names)


def _rename_column(table: CatalogBaseTable, names: tuple[str, str]) -> None:
    if names[0] in table.partition_keys:
        table.partition_keys = tuple(names[1] if key == names[0] else key for key in table.partition_keys)
    table.schema = renamed_column(table.schema, *names)


def _add(table: CatalogBaseTable, items: s.AlterItems) -> None:
    table.schema = added(table.schema, items)


def _modify(table: CatalogBaseTable, items: s.AlterItems) -> None:
    table.schema = modified(table.schema, items)


_ACTIONS: dict[str, Callable[[CatalogBaseTable, Any], None]] = {
    "SET": _set_options,
    "RESET": _reset_options,
    "ADD": _add,
    "MODIFY": _modify,
    "DROP": _drop,
    "RENAME COLUMN": _rename_column,
}
