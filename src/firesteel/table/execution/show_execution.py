"""SHOW and DESCRIBE."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from firesteel.columns.functions.registry import function_names
from firesteel.columns.type_text import type_text
from firesteel.common.cases import method_case
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.common.types import Row
from firesteel.connectors.table_connector import ResolvedTable
from firesteel.table.catalogs.catalog_objects import CatalogPartitionSpec, ObjectPath
from firesteel.table.execution.executor import Executor
from firesteel.table.execution.function_description import described_function
from firesteel.table.execution.model_execution import describe_model, show_create_model
from firesteel.table.execution.print_style import PrintStyle
from firesteel.table.execution.show_create import create_catalog_text, create_table_text, create_view_text
from firesteel.table.functions.modules import Modules
from firesteel.table.resolved_schema import ResolvedSchema, column_extras, schema_of_rows, schema_of_table
from firesteel.table.syntax import statements as s
from firesteel.table.table_parts import column_of, columns_of
from firesteel.table.table_result import TableResult, texts
from firesteel.table.types import DataTypes, RowType

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager, ViewEntry
    from firesteel.table.catalogs.catalog_objects import CatalogBaseTable
    from firesteel.table.planner.translate.planner import Planner

_DESCRIBED = ("name", "type", "null", "key", "extras", "watermark")


class ShowExecutor(Executor):
    """The executor of SHOW and DESCRIBE.

    Args:
        planner: Looks up the queries of views.
        catalogs: All catalogs.
        modules: The modules of functions.
    """

    def __init__(self, planner: Planner, catalogs: CatalogManager, modules: Modules) -> None:
        self._planner = planner
        self._catalogs = catalogs
        self._modules = modules

    def _show(self, statement: s.Show) -> TableResult:
        rule = self._shows.get(statement.what)
        if rule is None:
            raise TableException(f"SHOW {statement.what} is not supported")
        return rule(self, statement)

    # --- lists -------------------------------------------------------------------------------------------------------

    def _catalog_names(self, statement: s.Show) -> TableResult:
        return _listed("catalog name", self._catalogs.list_catalogs(), statement)

    def _current_catalog(self, statement: s.Show) -> TableResult:
        return texts("current catalog name", [self._catalogs.current_catalog or ""], PrintStyle.WIDE)

    def _current_database(self, statement: s.Show) -> TableResult:
        return texts("current database name", [self._catalogs.current_database or ""], PrintStyle.WIDE)

    def _databases(self, statement: s.Show) -> TableResult:
        name = statement.path[0] if statement.path else self._catalogs.current_catalog or ""
        return _listed("database name", self._catalogs.catalog(name).list_databases(), statement)

    def _tables(self, statement: s.Show) -> TableResult:
        database = self._catalogs.qualify_database(statement.path)
        return _listed("table name", self._catalogs.list_tables(database), statement)

    def _views(self, statement: s.Show) -> TableResult:
        database = self._catalogs.qualify_database(statement.path)
        return _listed("view name", self._catalogs.list_views(database), statement)

    def _functions(self, statement: s.Show) -> TableResult:
        return _listed("function name", self.function_names(), statement)

    def function_names(self) -> list[str]:
        """Return the names of all functions, built-in ones too."""
        built_in = {name.lower() for name in function_names()}
        return sorted(built_in | set(self._catalogs.functions.user_defined()))

    def _user_functions(self, statement: s.Show) -> TableResult:
        database = self._catalogs.qualify_database(statement.path)
        return _listed("function name", self._catalogs.functions.user_defined(database), statement)

    def _used_modules(self, statement: s.Show) -> TableResult:
        return texts("module name", self._modules.used, PrintStyle.WIDE)

    def _all_modules(self, statement: s.Show) -> TableResult:
        fields = [DataTypes.FIELD("module name", DataTypes.STRING()), DataTypes.FIELD("used", DataTypes.BOOLEAN())]
        rows = [Row(name, True) for name in self._modules.used] + [Row(name, False) for name in self._modules.unused]
        return TableResult(RowType(fields), rows, style=PrintStyle.WIDE)

    def _jars(self, statement: s.Show) -> TableResult:
        return texts("jars", [], PrintStyle.WIDE)

    def _models(self, statement: s.Show) -> TableResult:
        database = self._catalogs.qualify_database(statement.path)
        return _listed("model name", self._catalogs.models.names(database), statement)

    def _procedures(self, statement: s.Show) -> TableResult:
        catalog, database = self._catalogs.qualify_database(statement.path)
        return _listed("procedure name", self._catalogs.catalog(catalog).list_procedures(database), statement)

    def _materialized_tables(self, statement: s.Show) -> TableResult:
        catalog, database = self._catalogs.qualify_database(statement.path)
        found = self._catalogs.catalog(catalog).list_materialized_tables(database)
        return _listed("materialized table", found, statement)

    def _partitions(self, statement: s.Show) -> TableResult:
        path = self._catalogs.qualify(statement.path)
        table = self._catalogs.get(statement.path)
        if table is not None and not getattr(table, "partition_keys", ()):
            raise TableException(
                f"Could not execute SHOW PARTITIONS {'.'.join(path)}. Table {'.'.join(path[1:])} in catalog {path[0]} "
                "is not partitioned."
            )
        values = {name: str(getattr(value, "value", value)) for name, value in statement.partition}
        catalog = self._catalogs.catalog(path[0])
        found = catalog.list_partitions(ObjectPath(*path[1:]), CatalogPartitionSpec(values))
        lines = ["/".join(f"{k}={v}" for k, v in spec.get_partition_spec().items()) for spec in found]
        return texts("partition name", lines, PrintStyle.WIDE)

    # --- one object --------------------------------------------------------------------------------------------------

    def _columns(self, statement: s.Show) -> TableResult:
        names, rows = self._with_comments(statement.path)
        if statement.pattern is not None:
            rows = [row for row in rows if _matches(row[0], statement)]
        return _columns_result(names, rows)

    def _describe(self, statement: s.Describe) -> TableResult:
        if statement.kind == "TABLE":
            return self._describe_table(statement)
        if statement.kind == "CATALOG":
            return self._describe_catalog(statement)
        if statement.kind == "DATABASE":
            return self._describe_database(statement)
        if statement.kind == "FUNCTION":
            rows = described_function(self._catalogs, statement.path, statement.extended)
            return _columns_result(("info name", "info value"), rows)
        if statement.kind == "MODEL":
            return describe_model(self._catalogs, statement.path)
        raise TableException(f"DESCRIBE {statement.kind} is not supported")

    def _describe_table(self, statement: s.Describe) -> TableResult:
        return _columns_result(*self._with_comments(statement.path))

    def _with_comments(self, path: tuple[str, ...]) -> tuple[tuple[str, ...], list[list[Any]]]:
        """Return the names and rows of a description, with comments if a column has one."""
        rows = self._described(path)
        found = self._catalogs.get(path)
        comments = {column.name: column.comment for column in columns_of(found.schema)} if found is not None else {}
        if not any(comments.values()):
            return _DESCRIBED, rows
        return (*_DESCRIBED, "comment"), [[*row, comments.get(row[0])] for row in rows]

    def _described(self, path: tuple[str, ...]) -> list[list[Any]]:
        found = self._catalogs.find_table(path)
        if found is None:
            name = ".".join(f"`{part}`" for part in self._catalogs.qualify(path))
            raise ValidationException(f"Tables or views with the identifier '{name}' doesn't exist.")
        if isinstance(found, ResolvedTable):
            return _descriptions(schema_of_table(found))
        return _descriptions(found.schema or schema_of_rows(self.view_row_type(found)))

    def view_row_type(self, view: ViewEntry) -> RowType:
        """Return the columns of a view."""
        node = view.query if hasattr(view.query, "row_type") else self._planner.resolve(view.query)
        names = view.columns or tuple(node.row_type.names)
        pairs = zip(names, node.row_type.field_types(), strict=True)
        return RowType([DataTypes.FIELD(name, kind) for name, kind in pairs])

    def _describe_catalog(self, statement: s.Describe) -> TableResult:
        options, comment = self._catalogs.describe_catalog(statement.path[0])
        rows: list[list[Any]] = [
            ["name", statement.path[0]],
            ["type", options.get("type", "")],
            ["comment", comment],
        ]
        if statement.extended:
            rows += [[f"option:{key}", value] for key, value in sorted(options.items()) if key != "type"]
        return _columns_result(("info name", "info value"), rows)

    def _describe_database(self, statement: s.Describe) -> TableResult:
        catalog, name = self._catalogs.qualify_database(statement.path)
        database = self._catalogs.catalog(catalog).get_database(name)
        rows: list[list[Any]] = [
            ["Catalog Name", catalog],
            ["Database Name", name],
            ["Comment", database.get_comment()],
        ]
        if statement.extended:
            rows.append(["Properties", str(tuple(sorted(database.get_properties().items())))])
        return _columns_result(("info name", "info value"), rows)

    def _create_table(self, statement: s.Show) -> TableResult:
        table = self._existing(statement.path, "Table")
        if table.is_view:
            name = self._identifier(statement.path)
            raise TableException(
                f"SHOW CREATE TABLE is only supported for tables, but {name} is a view. Please use SHOW CREATE "
                f"VIEW instead."
            )
        path = self._catalogs.qualify(statement.path)
        text = create_table_text(table, path, self._catalogs.is_temporary(path))
        return texts("result", [text], PrintStyle.RAW)

    def _create_view(self, statement: s.Show) -> TableResult:
        view = self._existing(statement.path, "View")
        if not view.is_view:
            name = self._identifier(statement.path)
            raise TableException(
                f"SHOW CREATE VIEW is only supported for views, but {name} is a table. Please use SHOW CREATE "
                f"TABLE instead."
            )
        path = self._catalogs.qualify(statement.path)
        return texts("result", [create_view_text(view, path, self._catalogs.is_temporary(path))], PrintStyle.RAW)

    def _create_model(self, statement: s.Show) -> TableResult:
        return show_create_model(self._catalogs, statement.path)

    def _create_catalog(self, statement: s.Show) -> TableResult:
        name = statement.path[0]
        return texts("result", [create_catalog_text(name, *self._catalogs.describe_catalog(name))], PrintStyle.RAW)

    def _existing(self, path: tuple[str, ...], kind: str) -> CatalogBaseTable:
        found = self._catalogs.get(path)
        if found is None:
            raise ValidationException(
                f"Could not execute SHOW CREATE {kind.upper()}. {kind} with identifier {self._identifier(path)} "
                f"does not exist."
            )
        return found

    def _identifier(self, path: tuple[str, ...]) -> str:
        return ".".join(f"`{part}`" for part in self._catalogs.qualify(path))

    rules: ClassVar[dict[type, Callable[[ShowExecutor, object], TableResult]]] = dict(
        [method_case(s.Show, _show), method_case(s.Describe, _describe)]
    )

    _shows: ClassVar[dict[str, Callable[[ShowExecutor, s.Show], TableResult]]] = {
        "CATALOGS": _catalog_names,
        "CURRENT CATALOG": _current_catalog,
        "DATABASES": _databases,
        "CURRENT DATABASE": _current_database,
        "TABLES": _tables,
        "VIEWS": _views,
        "COLUMNS": _columns,
        "FUNCTIONS": _functions,
        "USER FUNCTIONS": _user_functions,
        "MODULES": _used_modules,
        "FULL MODULES": _all_modules,
        "MODELS": _models,
        "PROCEDURES": _procedures,
        "MATERIALIZED TABLES": _materialized_tables,
        "PARTITIONS": _partitions,
        "JARS": _jars,
        "CREATE TABLE": _create_table,
        "CREATE VIEW": _create_view,
        "CREATE CATALOG": _create_catalog,
        "CREATE MODEL": _create_model,
    }


def _descriptions(schema: ResolvedSchema) -> list[list[object]]:
    primary = schema.get_primary_key()
    keys = primary.get_columns() if primary is not None else []
    watermarks = {
        mark.get_rowtime_attribute(): mark.get_watermark_expression().as_summary_string()
        for mark in schema.get_watermark_specs()
    }
    rows: list[list[object]] = []
    for column in map(column_of, schema.get_columns()):
        key = f"PRI({', '.join(keys)})" if column.name in keys else None
        shown = type_text(column.type.nullable())
        extras, watermark = column_extras(column), watermarks.get(column.name)
        rows.append([column.name, shown, column.type.is_nullable, key, extras, watermark])
    return rows


def _columns_result(names: Iterable[str], rows: list[list[object]]) -> TableResult:
    fields = [DataTypes.FIELD(name, DataTypes.BOOLEAN() if name == "null" else DataTypes.STRING()) for name in names]
    return TableResult(RowType(fields), [Row(*row) for row in rows], style=PrintStyle.WIDE)


def _listed(column: str, names: Iterable[str], statement: s.Show) -> TableResult:
    return texts(column, [name for name in names if _matches(name, statement)], PrintStyle.WIDE)


def _matches(name: str, statement: s.Show) -> bool:
    """Return whether a name fits LIKE: `%` is any text, `_` any character."""
    if statement.pattern is None:
        return True
    parts = {"%": ".*", "_": "."}
    pattern = "".join(parts.get(character, re.escape(character)) for character in statement.pattern)
    flags = re.DOTALL | (re.IGNORECASE if statement.ignore_case else 0)
    return (re.fullmatch(pattern, name, flags) is not None) != statement.negated
