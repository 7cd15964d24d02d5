"""Catalogs, functions and modules of a table environment; part of `TableEnvironment`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.common.table_errors import ValidationException
from firesteel.datastream.data_stream import DataStream
from firesteel.table.catalogs.catalog_objects import CatalogBaseTable, CatalogModel
from firesteel.table.module import Module, ModuleEntry
from firesteel.table.schema import Schema
from firesteel.table.syntax import statements as s
from firesteel.table.syntax.identifiers import parse_path
from firesteel.table.syntax.statements import ColumnDefinition
from firesteel.table.table_parts import rel_of

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_base import Catalog
    from firesteel.table.catalogs.catalog_manager import CatalogManager
    from firesteel.table.catalogs.catalog_objects import CatalogDescriptor
    from firesteel.table.execution.statement_execution import StatementExecutor
    from firesteel.table.model_descriptor import ModelDescriptor
    from firesteel.table.table import Table


class CatalogMethods:
    """The methods of a table environment for catalogs, tables, functions and modules.

    A path is `name`, `database.name` or `catalog.database.name`. Missing parts are the current database and catalog.
    """

    _catalogs: CatalogManager
    _executor: StatementExecutor

    # --- catalogs ----------------------------------------------------------------------------------------------------

    def create_catalog(self, catalog_name: str, catalog_descriptor: CatalogDescriptor) -> None:
        """Create a catalog from a descriptor.

        Args:
            catalog_name: The name of the new catalog.
            catalog_descriptor: Its type and options; the types are `generic_in_memory`, `iceberg`, `jdbc` and `spark`.
        """
        options = tuple(catalog_descriptor.configuration.to_dict().items())
        self._executor.execute(s.CreateCatalog(catalog_name, options, catalog_descriptor.comment))

    def register_catalog(self, catalog_name: str, catalog: Catalog) -> None:
        """Register a catalog object.

        Args:
            catalog_name: A name that is not in use.
            catalog: For example an object of a Python class derived from `Catalog`.

        Raises:
            CatalogException: there is a catalog of this name.
        """
        self._catalogs.register_catalog(catalog_name, catalog)

    def get_catalog(self, catalog_name: str) -> Catalog | None:
        """Return a catalog.

        Args:
            catalog_name: Name of the catalog, case-sensitive.

        Returns:
            None if there is no catalog of this name.
        """
        return self._catalogs.find_catalog(catalog_name)

    def list_catalogs(self) -> list[str]:
        """Return the names of all catalogs."""
        return self._catalogs.list_catalogs()

    def get_current_catalog(self) -> str | None:
        """Return the name of the current catalog."""
        return self._catalogs.current_catalog

    def use_catalog(self, catalog_name: str) -> None:
        """Make a catalog the current one, and its default database the current database.

        Args:
            catalog_name: Name of the catalog, case-sensitive.

        Raises:
            CatalogException: there is no catalog of this name.
        """
        self._catalogs.use_catalog(catalog_name)

    def get_current_database(self) -> str | None:
        """Return the name of the current database."""
        return self._catalogs.current_database

    def use_database(self, database_name: str) -> None:
        """Make a database of the current catalog the current database.

        Args:
            database_name: Name of the database, without the catalog.

        Raises:
            CatalogException: there is no database of this name.
        """
        self._catalogs.use_database((database_name,))

    def list_databases(self) -> list[str]:
        """Return the names of all databases of the current catalog."""
        return self._catalogs.catalog(self._database()[0]).list_databases()

    def _database(self) -> tuple[str, str]:
        return self._catalogs.qualify_database(())

    # --- tables and views --------------------------------------------------------------------------------------------

    def list_tables(self) -> list[str]:
        """Return the names of all tables and views of the current database."""
        return self._catalogs.list_tables(self._database())

    def list_views(self) -> list[str]:
        """Return the names of all views of the current database."""
        return self._catalogs.list_views(self._database())

    def list_materialized_tables(self) -> list[str]:
        """Return an empty list, as there are no materialized tables."""
        return []

    def list_temporary_tables(self) -> list[str]:
        """Return the names of all temporary tables and views of the current database."""
        return self._catalogs.list_temporary(self._database())

    def list_temporary_views(self) -> list[str]:
        """Return the names of all temporary views of the current database."""
        return self._catalogs.list_temporary(self._database(), views_only=True)

    def create_view(self, view_path: str, table: Table, ignore_if_exists: bool | None = False) -> None:
        """Create a view of a table in a catalog.

        Args:
            view_path: The path of the view.
            table: The query.
            ignore_if_exists: Whether to do nothing if the view exists; otherwise that is an error.
        """
        self._register_view(view_path, table, False, bool(ignore_if_exists))

    def create_temporary_view(
        self, view_path: str, table_or_data_stream: Table | DataStream[Any], *fields_or_schema: object
    ) -> None:
        """Register a table or a stream as a temporary view, which hides a permanent one of the same path.

        Args:
            view_path: The path of the view.
            table_or_data_stream: A table, or with `StreamTableEnvironment` a stream.
            fields_or_schema: For a stream, as for `StreamTableEnvironment.from_data_stream`.

        Raises:
            TypeError: `table_or_data_stream` is neither.
        """
        table: Any = table_or_data_stream
        if isinstance(table, DataStream) and hasattr(self, "from_data_stream"):
            table = self.from_data_stream(table, *fields_or_schema)
        if not hasattr(table, "_query"):
            raise TypeError(f"A view needs a Table, found {table!r}; streams need a StreamTableEnvironment")
        self._register_view(view_path, table, True)

    def _register_view(self, path: str, table: Table, is_temporary: bool, ignore_if_exists: bool = False) -> None:
        node = rel_of(table)
        names, types = node.row_type.names, node.row_type.field_types()
        shown = table.get_resolved_schema()
        schema = Schema(tuple(map(ColumnDefinition, names, types)))
        view = CatalogBaseTable(schema, {}, query=node, view_columns=tuple(names), view_schema=shown)
        self._catalogs.create_table(parse_path(path), view, is_temporary, ignore_if_exists)

    def drop_temporary_view(self, view_path: str) -> bool:
        """Drop a temporary view and return whether it existed.

        Args:
            view_path: Path of the view.
        """
        return self._catalogs.drop_table(parse_path(view_path), True, True, True)

    def drop_temporary_table(self, table_path: str) -> bool:
        """Drop a temporary table and return whether it existed.

        Args:
            table_path: Path of the table.
        """
        return self._catalogs.drop_table(parse_path(table_path), False, True, True)

    def drop_table(self, table_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drop a table and return whether it existed.

        Args:
            table_path: Path of the table; a view is not dropped. A temporary view only hides it from queries.
            ignore_if_not_exists: Whether to return False if it does not exist; None means False.

        Raises:
            ValidationException: it does not exist, or a temporary table has the same path.
        """
        return self._catalogs.drop_table(parse_path(table_path), False, False, bool(ignore_if_not_exists))

    def drop_view(self, view_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drop a view and return whether it existed.

        Args:
            view_path: Path of the view; a table is not dropped. A temporary table only hides it from queries.
            ignore_if_not_exists: Whether to return False if it does not exist; None means False.

        Raises:
            ValidationException: it does not exist, or a temporary view has the same path.
        """
        return self._catalogs.drop_table(parse_path(view_path), True, False, bool(ignore_if_not_exists))

    # --- functions ---------------------------------------------------------------------------------------------------

    def create_temporary_system_function(self, name: str, function: object) -> None:
        """Register a function that takes precedence over all other functions of its name.

        Args:
            name: The name of the function.
            function: A function made by `udf`, `udtf`, `udaf` or `udtaf`, or a `UserDefinedFunction`.
        """
        self._catalogs.functions.add_system(name, function)

    def create_temporary_function(self, path: str, function: object) -> None:
        """Register a function in a database for the lifetime of this environment.

        Args:
            path: The path of the function.
            function: A function made by `udf`, `udtf`, `udaf` or `udtaf`, or a `UserDefinedFunction`.
        """
        self._catalogs.functions.add_temporary(parse_path(path), function)

    def drop_temporary_system_function(self, name: str) -> bool:
        """Drop a temporary system function and return whether it existed.

        Args:
            name: Name of the function, not case-sensitive.
        """
        return self._catalogs.functions.drop_system(name)

    def drop_temporary_function(self, path: str) -> bool:
        """Drop a temporary function and return whether it existed.

        Args:
            path: Path of the function, whose name is not case-sensitive.
        """
        return self._catalogs.functions.drop_temporary(parse_path(path))

    def drop_function(self, path: str) -> bool:
        """Drop a function of a catalog and return whether it existed.

        Args:
            path: Path of the function; temporary functions are not dropped.

        Raises:
            CatalogException: the catalog does not exist.
        """
        return self._catalogs.functions.drop_stored(parse_path(path), True)

    def list_user_defined_functions(self) -> list[str]:
        """Return the names of all user-defined functions."""
        return self._catalogs.functions.user_defined()

    def list_functions(self) -> list[str]:
        """Return the names of all functions, including built-in ones."""
        return self._executor.shows.function_names()

    def create_java_function(self, path: str, function_class_name: str, ignore_if_exists: bool | None = None) -> None:
        """Raise an error: Java functions are not available.

        Args:
            path: Only named for compatibility.
            function_class_name: Only named in the error.
            ignore_if_exists: Only named for compatibility.

        Raises:
            NotImplementedError: always.
        """
        raise _no_java(function_class_name)

    def create_java_temporary_function(self, path: str, function_class_name: str) -> None:
        """Raise an error: Java functions are not available.

        Args:
            path: Only named for compatibility.
            function_class_name: Only named in the error.

        Raises:
            NotImplementedError: always.
        """
        raise _no_java(function_class_name)

    def create_java_temporary_system_function(self, name: str, function_class_name: str) -> None:
        """Raise an error: Java functions are not available.

        Args:
            name: Only named for compatibility.
            function_class_name: Only named in the error.

        Raises:
            NotImplementedError: always.
        """
        raise _no_java(function_class_name)

    # --- modules -----------------------------------------------------------------------------------------------------

    def load_module(self, module_name: str, module: Module) -> None:
        """Load a module of functions; the only one is `core`.

        Args:
            module_name: `core`, after it was unloaded.
            module: Ignored.

        Raises:
            ValidationException: the module is loaded already, or is not `core`.
        """
        self._executor.ddl.modules.load(module_name)

    def unload_module(self, module_name: str) -> None:
        """Remove a module from the lists of modules; as in Flink, built-in functions can still be called.

        Args:
            module_name: Name of a loaded module.

        Raises:
            ValidationException: the module is not loaded.
        """
        self._executor.ddl.modules.unload(module_name)

    def use_modules(self, *module_names: str) -> None:
        """Set which modules are listed as used; as in Flink, built-in functions can be called in any case.

        Args:
            module_names: Names of loaded modules.

        Raises:
            ValidationException: a module is not loaded, or is named twice.
        """
        self._executor.ddl.modules.use(module_names)

    def list_modules(self) -> list[str]:
        """Return the names of the modules in which functions are looked up."""
        return self._executor.ddl.modules.used

    def list_full_modules(self) -> list[ModuleEntry]:
        """Return all loaded modules."""
        modules = self._executor.ddl.modules
        return [ModuleEntry(name, True) for name in modules.used] + [
            ModuleEntry(name, False) for name in modules.unused
        ]

    # --- models ------------------------------------------------------------------------------------------------------

    def create_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool | None = False
    ) -> None:
        """Store a model in a catalog; models cannot be executed.

        Args:
            model_path: Path of the model.
            model_descriptor: Schemas and options; both schemas are required.
            ignore_if_exists: Whether to do nothing if it exists; None means False.

        Raises:
            ValidationException: a schema is missing, or the model exists.
            CatalogException: the catalog does not exist.
        """
        model = _model_of(model_descriptor)
        self._catalogs.models.add(parse_path(model_path), model, False, bool(ignore_if_exists))

    def create_temporary_model(
        self, model_path: str, model_descriptor: ModelDescriptor, ignore_if_exists: bool | None = False
    ) -> None:
        """Register a model for the lifetime of this environment; it hides a model of a catalog of the same path.

        Args:
            model_path: Path of the model.
            model_descriptor: Schemas and options; both schemas are required.
            ignore_if_exists: Whether to do nothing if there is such a temporary model; None means False.

        Raises:
            ValidationException: a schema is missing, or the temporary model exists.
        """
        model = _model_of(model_descriptor)
        self._catalogs.models.add(parse_path(model_path), model, True, bool(ignore_if_exists))

    def drop_model(self, model_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Drop a model of a catalog and return whether it existed.

        Args:
            model_path: Path of the model.
            ignore_if_not_exists: Whether to return False if it does not exist; None means False.

        Raises:
            ValidationException: the model does not exist.
        """
        return self._catalogs.models.drop(parse_path(model_path), False, bool(ignore_if_not_exists))

    def drop_temporary_model(self, model_path: str) -> bool:
        """Drop a temporary model and return whether it existed.

        Args:
            model_path: Path of the model.
        """
        return self._catalogs.models.drop(parse_path(model_path), True, True)

    def list_models(self) -> list[str]:
        """Return the names of all models of the current database."""
        return self._catalogs.models.names(self._database())

    def list_temporary_models(self) -> list[str]:
        """Return the names of the temporary models of the current database."""
        return self._catalogs.models.temporary_names(self._database())


def _model_of(descriptor: ModelDescriptor) -> CatalogModel:
    inputs, outputs = descriptor.get_input_schema(), descriptor.get_output_schema()
    if inputs is None or outputs is None:
        raise ValidationException("A model needs an input schema and an output schema")
    return CatalogModel(inputs, outputs, descriptor.get_options(), descriptor.get_comment())


def _no_java(name: str) -> NotImplementedError:
    return NotImplementedError(f"Java functions are not available; write {name} in Python with udf()")
