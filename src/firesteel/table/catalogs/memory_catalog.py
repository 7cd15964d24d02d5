"""A catalog in memory; re-exported by `firesteel.table.catalog`. Flink: `GenericInMemoryCatalog`."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.common.table_errors import (
    CatalogException,
    DatabaseAlreadyExistException,
    DatabaseNotEmptyException,
    DatabaseNotExistException,
    FunctionAlreadyExistException,
    FunctionNotExistException,
    ModelAlreadyExistException,
    ModelNotExistException,
    PartitionAlreadyExistsException,
    PartitionNotExistException,
    PartitionSpecInvalidException,
    TableAlreadyExistException,
    TableNotExistException,
    TableNotPartitionedException,
)
from firesteel.table.catalogs.catalog_base import Catalog
from firesteel.table.catalogs.catalog_objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    ObjectPath,
)


@dataclass
class _Database:
    database: CatalogDatabase
    tables: dict[str, CatalogBaseTable] = field(default_factory=dict)
    functions: dict[str, CatalogFunction] = field(default_factory=dict)
    models: dict[str, CatalogModel] = field(default_factory=dict)
    partitions: dict[str, dict[CatalogPartitionSpec, CatalogPartition]] = field(default_factory=dict)


class GenericInMemoryCatalog(Catalog):
    """A catalog in memory, whose databases, tables, views and functions are lost when the program ends.

    Args:
        name: The name of the catalog, for messages.
        default_database: The name of its first database.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> table_env.register_catalog("shop", GenericInMemoryCatalog("shop", "sales"))
        >>> table_env.use_catalog("shop")
        >>> table_env.get_current_database()
        'sales'
    """

    def __init__(self, name: str, default_database: str = "default") -> None:
        self._name = name
        self._default_database = default_database
        self._databases = {default_database: _Database(CatalogDatabase({}))}

    def get_default_database(self) -> str:
        """Return the name of the first database."""
        return self._default_database

    # --- databases ---------------------------------------------------------------------------------------------------

    def _of(self, database: str) -> _Database:
        if database not in self._databases:
            raise DatabaseNotExistException(self._name, database)
        return self._databases[database]

    def list_databases(self) -> list[str]:
        """Return the names of all databases."""
        return sorted(self._databases)

    def get_database(self, database_name: str) -> CatalogDatabase:
        """Return a database."""
        return self._of(database_name).database

    def database_exists(self, database_name: str) -> bool:
        """Return whether a database exists."""
        return database_name in self._databases

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Create a database."""
        if name not in self._databases:
            self._databases[name] = _Database(database)
        elif not ignore_if_exists:
            raise DatabaseAlreadyExistException(self._name, name)

    def drop_database(self, name: str, ignore_if_exists: bool, cascade: bool = False) -> None:
        """Drop a database; `cascade` also drops its objects."""
        found = self._databases.get(name)
        if found is None:
            if not ignore_if_exists:
                raise DatabaseNotExistException(self._name, name)
            return
        if (found.tables or found.functions) and not cascade:
            raise DatabaseNotEmptyException(self._name, name)
        del self._databases[name]

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        """Replace the properties of a database."""
        if name in self._databases or not ignore_if_not_exists:
            self._of(name).database = new_database

    # --- tables ------------------------------------------------------------------------------------------------------

    def list_tables(self, database_name: str) -> list[str]:
        """Return the names of all tables and views."""
        return sorted(self._of(database_name).tables)

    def list_views(self, database_name: str) -> list[str]:
        """Return the names of all views."""
        return sorted(name for name, table in self._of(database_name).tables.items() if table.is_view)

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """Return the names of all materialized tables: there are none."""
        self._of(database_name)
        return []

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Return whether a table or view exists."""
        found = self._databases.get(table_path.get_database_name())
        return found is not None and table_path.get_object_name() in found.tables

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """Return a table or view."""
        if not self.table_exists(table_path):
            raise TableNotExistException(self._name, table_path.get_full_name())
        return self._of(table_path.get_database_name()).tables[table_path.get_object_name()]

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        """Create a table or view."""
        database = self._of(table_path.get_database_name())
        if table_path.get_object_name() not in database.tables:
            database.tables[table_path.get_object_name()] = table
        elif not ignore_if_exists:
            raise TableAlreadyExistException(self._name, table_path.get_full_name())

    def alter_table(self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool) -> None:
        """Replace a table or view by another of the same kind."""
        if self._is_there(table_path, ignore_if_not_exists):
            kinds = ["view" if table.is_view else "table" for table in (self.get_table(table_path), new_table)]
            if kinds[0] != kinds[1]:
                raise CatalogException(
                    f"Table types don't match. Existing table is '{kinds[0]}' and new table is '{kinds[1]}'."
                )
            self._of(table_path.get_database_name()).tables[table_path.get_object_name()] = new_table

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a table or view."""
        if self._is_there(table_path, ignore_if_not_exists):
            database = self._of(table_path.get_database_name())
            del database.tables[table_path.get_object_name()]
            database.partitions.pop(table_path.get_object_name(), None)

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        """Rename a table or view."""
        if not self._is_there(table_path, ignore_if_not_exists):
            return
        database = self._of(table_path.get_database_name())
        if new_table_name in database.tables:
            target = f"{table_path.get_database_name()}.{new_table_name}"
            raise TableAlreadyExistException(self._name, target)
        database.tables[new_table_name] = database.tables.pop(table_path.get_object_name())
        database.partitions[new_table_name] = database.partitions.pop(table_path.get_object_name(), {})

    def _is_there(self, table_path: ObjectPath, ignore: bool) -> bool:
        if self.table_exists(table_path):
            return True
        if not ignore:
            raise TableNotExistException(self._name, table_path.get_full_name())
        return False

    # --- partitions --------------------------------------------------------------------------------------------------

    def _partitions(self, path: ObjectPath) -> dict[CatalogPartitionSpec, CatalogPartition]:
        self.get_table(path)
        return self._of(path.get_database_name()).partitions.setdefault(path.get_object_name(), {})

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """Return the partitions of a table that have these values."""
        if partition_spec is None:
            self.get_table(table_path)
        if not self._keys(table_path):
            raise TableNotPartitionedException(self._name, table_path.get_full_name())
        wanted = {} if partition_spec is None else partition_spec.get_partition_spec()
        found = self._partitions(table_path)
        return [spec for spec in found if wanted.items() <= spec.get_partition_spec().items()]

    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        """Return whether a partition exists."""
        return bool(self._keys(table_path)) and partition_spec in self._partitions(table_path)

    def _keys(self, table_path: ObjectPath) -> tuple[str, ...]:
        """Return the partition columns of a table, none: it is not partitioned, or there is no such table."""
        return self.get_table(table_path).partition_keys if self.table_exists(table_path) else ()

    def get_partition(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> CatalogPartition:
        """Return a partition."""
        if not self.partition_exists(table_path, partition_spec):
            values = partition_spec.get_partition_spec()
            raise PartitionNotExistException(self._name, table_path.get_full_name(), values)
        return self._partitions(table_path)[partition_spec]

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        """Create a partition."""
        found, keys, name = self._partitions(table_path), self._keys(table_path), table_path.get_full_name()
        if not keys:
            raise TableNotPartitionedException(self._name, name)
        if partition_spec.get_partition_spec().keys() != set(keys):
            raise PartitionSpecInvalidException(self._name, name, keys, partition_spec.get_partition_spec())
        if partition_spec in found and not ignore_if_exists:
            raise PartitionAlreadyExistsException(self._name, name, partition_spec.get_partition_spec())
        found.setdefault(partition_spec, partition)

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace a partition."""
        if not ignore_if_not_exists:
            self.get_partition(table_path, partition_spec)
        if self.partition_exists(table_path, partition_spec):
            self._partitions(table_path)[partition_spec] = new_partition

    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec, ignore_if_not_exists: bool
    ) -> None:
        """Drop a partition."""
        if not ignore_if_not_exists:
            self.get_partition(table_path, partition_spec)
        if self.table_exists(table_path):
            self._partitions(table_path).pop(partition_spec, None)

    # --- functions ---------------------------------------------------------------------------------------------------

    def list_functions(self, database_name: str) -> list[str]:
        """Return the names of all functions."""
        return sorted(self._of(database_name).functions)

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Return whether a function exists; names do not depend on case."""
        found = self._databases.get(function_path.get_database_name())
        return found is not None and function_path.get_object_name().lower() in found.functions

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """Return a function."""
        if not self.function_exists(function_path):
            raise FunctionNotExistException(self._name, function_path.get_full_name())
        return self._of(function_path.get_database_name()).functions[function_path.get_object_name().lower()]

    def create_function(self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool) -> None:
        """Create a function."""
        functions, name = self._of(function_path.get_database_name()).functions, function_path.get_object_name().lower()
        if name not in functions:
            functions[name] = function
        elif not ignore_if_exists:
            raise FunctionAlreadyExistException(self._name, function_path.get_full_name())

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        """Replace a function."""
        if not ignore_if_not_exists:
            self.get_function(function_path)
        if self.function_exists(function_path):
            name = function_path.get_object_name().lower()
            self._of(function_path.get_database_name()).functions[name] = new_function

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a function."""
        if not ignore_if_not_exists:
            self.get_function(function_path)
        if self.function_exists(function_path):
            del self._of(function_path.get_database_name()).functions[function_path.get_object_name().lower()]

    # --- models ------------------------------------------------------------------------------------------------------

    def list_models(self, database_name: str) -> list[str]:
        """Return the names of all models."""
        return sorted(self._of(database_name).models)

    def model_exists(self, model_path: ObjectPath) -> bool:
        """Return whether a model exists."""
        found = self._databases.get(model_path.get_database_name())
        return found is not None and model_path.get_object_name() in found.models

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        """Return a model."""
        if not self.model_exists(model_path):
            raise ModelNotExistException(self._name, model_path.get_full_name())
        return self._of(model_path.get_database_name()).models[model_path.get_object_name()]

    def create_model(self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool) -> None:
        """Create a model."""
        if self.model_exists(model_path) and not ignore_if_exists:
            raise ModelAlreadyExistException(self._name, model_path.get_full_name())
        self._of(model_path.get_database_name()).models.setdefault(model_path.get_object_name(), model)

    def alter_model(self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool) -> None:
        """Replace a model."""
        if not ignore_if_not_exists:
            self.get_model(model_path)
        if self.model_exists(model_path):
            self._of(model_path.get_database_name()).models[model_path.get_object_name()] = new_model

    def rename_model(self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool) -> None:
        """Rename a model."""
        if not ignore_if_not_exists:
            self.get_model(model_path)
        if not self.model_exists(model_path):
            return
        models = self._of(model_path.get_database_name()).models
        if new_model_name in models:
            raise ModelAlreadyExistException(self._name, f"{model_path.get_database_name()}.{new_model_name}")
        models[new_model_name] = models.pop(model_path.get_object_name())

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a model."""
        if not ignore_if_not_exists:
            self.get_model(model_path)
        if self.database_exists(model_path.get_database_name()):
            self._of(model_path.get_database_name()).models.pop(model_path.get_object_name(), None)

    def list_procedures(self, database_name: str) -> list[str]:
        """Return the names of all procedures: there are none."""
        self._of(database_name)
        return []
