"""CREATE, DROP, USE and modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from firesteel.columns.type_text import quoted_path
from firesteel.common.cases import method_case
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.connectors.iceberg.package import iceberg_module
from firesteel.table.catalogs.catalog_base import Catalog
from firesteel.table.catalogs.catalog_objects import CatalogBaseTable, CatalogDatabase, CatalogFunction
from firesteel.table.catalogs.jdbc_catalog import JdbcCatalog
from firesteel.table.catalogs.memory_catalog import GenericInMemoryCatalog
from firesteel.table.execution.executor import Executor
from firesteel.table.execution.table_like import merge_like
from firesteel.table.execution.view_paths import with_full_paths
from firesteel.table.functions.function_catalog import load_function
from firesteel.table.functions.modules import Modules
from firesteel.table.planner.rel.time_attributes import without_time_attribute
from firesteel.table.schema import Schema, key_name
from firesteel.table.syntax import statements as s
from firesteel.table.syntax.statements import ColumnDefinition
from firesteel.table.table_parts import columns_of, constraint_of, primary_key_of, watermarks_of
from firesteel.table.table_result import TableResult, ok

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.planner.rel.rel import Rel
    from firesteel.table.planner.translate.planner import Planner


class DdlExecutor(Executor):
    """The executor of statements that create, drop and select objects of catalogs.

    Args:
        planner: Looks up the queries of views.
        catalogs: All catalogs.

    Attributes:
        modules: The modules of functions.
    """

    def __init__(self, planner: Planner, catalogs: CatalogManager, modules: Modules) -> None:
        self._planner = planner
        self._catalogs = catalogs
        self.modules = modules

    # --- tables ------------------------------------------------------------------------------------------------------

    def _create_table(self, statement: s.CreateTable) -> TableResult:
        self._replace_or_create(statement, self._declared(statement))
        return ok()

    def _replace_or_create(self, statement: s.CreateTable, table: CatalogBaseTable) -> None:
        if statement.or_replace and statement.query is not None:  # Flink replaces by AS only
            self._catalogs.drop_table(statement.path, False, statement.is_temporary, True)
        self._catalogs.create_table(statement.path, table, statement.is_temporary, statement.if_not_exists)

    def _full_name(self, path: tuple[str, ...]) -> str:
        return quoted_path(self._catalogs.qualify(path))

    def _declared(self, statement: s.CreateTable) -> CatalogBaseTable:
        schema = _schema_of(statement)
        table = CatalogBaseTable(
            schema,
            dict(statement.options),
            statement.partitioned_by,
            statement.comment,
            distribution=statement.distribution,
        )
        if statement.like is None:
            return table
        source = self._catalogs.get(statement.like.source)
        if source is None:
            path = self._full_name(statement.like.source)
            raise ValidationException(
                f"Source table '{path}' of the LIKE clause not found in the catalog, at line 1, column 1"
            )
        if source.is_view:
            raise ValidationException(
                f"Source table '{self._full_name(statement.like.source)}' of the LIKE clause can not be a VIEW"
            )
        return merge_like(table, source, statement.like.options)

    def create_table_as(self, statement: s.CreateTable, node: Rel) -> bool:
        """Create the table of CREATE TABLE AS, and return whether there is anything to insert.

        The columns of the query come after declared ones, unless these have the same name.
        """
        if statement.if_not_exists and self._catalogs.get(statement.path) is not None:
            return False
        declared = self._declared(statement)
        kinds = [without_time_attribute(kind) for kind in node.row_type.field_types()]
        found = [ColumnDefinition(name, kind) for name, kind in zip(node.row_type.names, kinds, strict=True)]
        by_name = {column.name: column for column in columns_of(declared.schema)}
        own = [column for column in columns_of(declared.schema) if column.name not in node.row_type.names]
        columns = (*own, *(by_name.get(column.name, column) for column in found))
        if statement.column_names:
            columns = _in_order(columns, statement.column_names)
        declared.schema = Schema(
            columns, watermarks_of(declared.schema), primary_key_of(declared.schema), constraint_of(declared.schema)
        )
        self._replace_or_create(statement, declared)
        return True

    def create_view(self, statement: s.CreateView) -> TableResult:
        """Create a view; its query is looked up now to check it, and again whenever the view is used."""
        query = with_full_paths(statement.query, self._catalogs)
        node = self._planner.resolve(query)
        names = statement.columns or tuple(node.row_type.names)
        if len(names) != len(node.row_type):
            raise ValidationException(
                f"VIEW definition and input fields not match:\n\tDef fields: [{', '.join(names)}].\n"
                f"\tInput fields: [{', '.join(node.row_type.names)}]."
            )
        schema = Schema(tuple(map(ColumnDefinition, names, node.row_type.field_types())))
        view = CatalogBaseTable(
            schema, {}, comment=statement.comment, query=query, text=statement.text, view_columns=names
        )
        self._catalogs.create_table(statement.path, view, statement.is_temporary, statement.if_not_exists)
        return ok()

    # --- catalogs, databases, functions ------------------------------------------------------------------------------

    def _create_catalog(self, statement: s.CreateCatalog) -> TableResult:
        if statement.if_not_exists and self._catalogs.find_catalog(statement.name) is not None:
            return ok()
        options = dict(statement.options)
        kind = options.get("type")
        if kind is None:
            raise ValidationException(
                f"Unable to create catalog '{statement.name}'. The option 'type' is missing; supported: "
                f"{', '.join(_CATALOGS)}"
            )
        make = _CATALOGS.get(kind)
        if make is None:
            known = "\n".join(_CATALOGS)
            raise ValidationException(
                f"Unable to create catalog '{statement.name}'. Could not find any factory for identifier '{kind}' that "
                f"implements 'CatalogFactory'.\n\nAvailable factory identifiers are:\n\n{known}"
            )
        catalog = make(statement.name, options, self._catalogs.config.get_configuration().to_dict())
        self._catalogs.register_catalog(statement.name, catalog, options, statement.comment)
        return ok()

    def _create_database(self, statement: s.CreateDatabase) -> TableResult:
        catalog, database = self._catalogs.qualify_database(statement.path)
        found = CatalogDatabase(dict(statement.options), statement.comment)
        self._catalogs.catalog(catalog).create_database(database, found, statement.if_not_exists)
        return ok()

    def _create_function(self, statement: s.CreateFunction) -> TableResult:
        functions = self._catalogs.functions
        declared = CatalogFunction(statement.class_name, statement.language)
        if not statement.is_temporary:
            functions.add_stored(statement.path, declared, statement.if_not_exists)
            return ok()
        if statement.language.upper() != "PYTHON":
            raise TableException(
                f"Function {statement.class_name} is written in {statement.language}; only LANGUAGE PYTHON is supported"
            )
        function = load_function(statement.class_name)
        if statement.is_system:
            functions.add_system(statement.path[-1], function, statement.if_not_exists)
        else:
            functions.add_temporary(statement.path, function, statement.if_not_exists, declared)
        return ok()

    # --- DROP and USE ------------------------------------------------------------------------------------------------

    def _drop(self, statement: s.Drop) -> TableResult:
        self._drops[statement.kind](self, statement)
        return ok()

    def _drop_table(self, statement: s.Drop) -> None:
        self._catalogs.drop_table(statement.path, statement.kind == "VIEW", statement.is_temporary, statement.if_exists)

    def _drop_catalog(self, statement: s.Drop) -> None:
        name = statement.path[0]
        if self._catalogs.find_catalog(name) is not None or not statement.if_exists:
            self._catalogs.drop_catalog(name)

    def _drop_database(self, statement: s.Drop) -> None:
        name, database = self._catalogs.qualify_database(statement.path)
        if (name, database) == (self._catalogs.current_catalog, self._catalogs.current_database):
            raise ValidationException(f"Cannot drop a database which is currently in use: {name}.{database}")
        catalog = self._catalogs.catalog(name)
        if isinstance(catalog, GenericInMemoryCatalog):
            catalog.drop_database(database, statement.if_exists, statement.cascade)
        else:
            catalog.drop_database(database, statement.if_exists)

    def _drop_function(self, statement: s.Drop) -> None:
        functions, name = self._catalogs.functions, ".".join(statement.path)
        if statement.is_system:
            found, kind = functions.drop_system(statement.path[-1]), "Temporary system function"
        elif statement.is_temporary:
            found, kind = functions.drop_temporary(statement.path), "Temporary catalog function"
        else:
            functions.drop_stored(statement.path, statement.if_exists)
            return
        if not found and not statement.if_exists:
            raise ValidationException(f"{kind} {name} doesn't exist")

    def _use(self, statement: s.Use) -> TableResult:
        if statement.kind == "CATALOG":
            self._catalogs.use_catalog(statement.path[0])
        elif statement.kind == "MODULES":
            self.modules.use(statement.path)
        else:
            self._catalogs.use_database(statement.path)
        return ok()

    def _load_module(self, statement: s.LoadModule) -> TableResult:
        if statement.unload:
            self.modules.unload(statement.name)
        else:
            self.modules.load(statement.name)
        return ok()

    rules: ClassVar[dict[type, Callable[[DdlExecutor, object], TableResult]]] = dict(
        [
            method_case(s.CreateTable, _create_table),
            method_case(s.CreateView, create_view),
            method_case(s.CreateCatalog, _create_catalog),
            method_case(s.CreateDatabase, _create_database),
            method_case(s.CreateFunction, _create_function),
            method_case(s.Drop, _drop),
            method_case(s.Use, _use),
            method_case(s.LoadModule, _load_module),
        ]
    )

    _drops: ClassVar[dict[str, Callable[[DdlExecutor, s.Drop], None]]] = {
        "TABLE": _drop_table,
        "VIEW": _drop_table,
        "CATALOG": _drop_catalog,
        "DATABASE": _drop_database,
        "FUNCTION": _drop_function,
    }


def _schema_of(statement: s.CreateTable) -> Schema:
    name = statement.constraint_name
    if name is None and statement.primary_key:
        name = key_name(statement.primary_key)
    return Schema(statement.columns, statement.watermarks, statement.primary_key, name)


def _in_order(columns: tuple[ColumnDefinition, ...], names: tuple[str, ...]) -> tuple[ColumnDefinition, ...]:
    by_name = {column.name: column for column in columns}
    missing = [name for name in names if name not in by_name]
    if missing or len(names) != len(by_name):
        raise ValidationException(
            f"The column identifiers {list(names)} of CREATE TABLE AS must be the columns of the query {list(by_name)}"
        )
    return tuple(by_name[name] for name in names)


def _in_memory(name: str, options: dict[str, str], configuration: dict[str, str]) -> Catalog:
    return GenericInMemoryCatalog(name, options.get("default-database", "default"))


def _iceberg(name: str, options: dict[str, str], configuration: dict[str, str]) -> Catalog:
    catalog: Catalog = iceberg_module("firesteel.table.catalogs.iceberg_catalog").IcebergCatalog.of_options(
        name, options
    )
    return catalog


def _jdbc(name: str, options: dict[str, str], configuration: dict[str, str]) -> Catalog:
    return JdbcCatalog.of_options(name, options)


def _spark(name: str, options: dict[str, str], configuration: dict[str, str]) -> Catalog:
    from firesteel.table.catalogs.spark_catalog import SparkCatalog  # late import: PySpark is slow

    return SparkCatalog.of_options(name, options, configuration)


_CATALOGS: dict[str, Callable[[str, dict[str, str], dict[str, str]], Catalog]] = {
    "generic_in_memory": _in_memory,
    "iceberg": _iceberg,
    "jdbc": _jdbc,
    "spark": _spark,
}
"""The factories of catalogs by type; they get the name, the options and the configuration of the environment."""
