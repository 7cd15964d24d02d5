"""The interface of catalogs; re-exported by `firesteel.table.catalog`."""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.common.table_errors import ValidationException
from firesteel.table.catalogs.catalog_objects import (
    CatalogBaseTable,
    CatalogDatabase,
    CatalogFunction,
    CatalogModel,
    CatalogPartition,
    CatalogPartitionSpec,
    ObjectPath,
    Procedure,
)
from firesteel.table.catalogs.catalog_statistics import CatalogColumnStatistics, CatalogTableStatistics


class Catalog:
    """A catalog: databases with tables, views and functions (Flink: `catalog.Catalog`).

    Derive from it to implement a custom catalog, and register that with `TableEnvironment.register_catalog`. Methods
    that are not overridden raise NotImplementedError. The exceptions below are those that callers expect. In PyFlink
    the class only wraps Java catalogs.

    Example:
        >>> from firesteel.table.catalog import GenericInMemoryCatalog
        >>> from firesteel.table import EnvironmentSettings, TableEnvironment
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> table_env.register_catalog("shop", GenericInMemoryCatalog("shop"))
        >>> table_env.use_catalog("shop")
        >>> result = table_env.execute_sql("CREATE TABLE orders (id BIGINT) WITH ('connector' = 'datagen')")
        >>> table_env.get_catalog("shop").list_tables("default")
        ['orders']
    """

    def get_default_database(self) -> str:
        """Return the name of the database that becomes current when the catalog is used."""
        raise self._unsupported("get_default_database")

    def list_databases(self) -> list[str]:
        """Return the names of all databases."""
        raise self._unsupported("list_databases")

    def get_database(self, database_name: str) -> CatalogDatabase:
        """Return a database.

        Args:
            database_name: Name of a database of this catalog.

        Raises:
            DatabaseNotExistException: The database does not exist.
        """
        raise self._unsupported("get_database")

    def database_exists(self, database_name: str) -> bool:
        """Return whether a database exists.

        Args:
            database_name: Any name, case-sensitive.
        """
        raise self._unsupported("database_exists")

    def create_database(self, name: str, database: CatalogDatabase, ignore_if_exists: bool) -> None:
        """Create a database.

        Args:
            name: The name of the database.
            database: Its properties and comment.
            ignore_if_exists: Whether to do nothing if it exists.

        Raises:
            DatabaseAlreadyExistException: The database exists.
        """
        raise self._unsupported("create_database")

    def drop_database(self, name: str, ignore_if_exists: bool) -> None:
        """Drop an empty database.

        Args:
            name: The name of the database.
            ignore_if_exists: Whether to do nothing if it does not exist.

        Raises:
            DatabaseNotExistException: The database does not exist.
            DatabaseNotEmptyException: The database has tables or views.
        """
        raise self._unsupported("drop_database")

    def alter_database(self, name: str, new_database: CatalogDatabase, ignore_if_not_exists: bool) -> None:
        """Replace the properties of a database.

        Args:
            name: Name of a database of this catalog.
            new_database: Properties and comment, which replace all present ones.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            DatabaseNotExistException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("alter_database")

    def list_tables(self, database_name: str) -> list[str]:
        """Return the names of all tables and views.

        Args:
            database_name: Name of a database of this catalog.

        Raises:
            DatabaseNotExistException: The database does not exist.
        """
        raise self._unsupported("list_tables")

    def list_views(self, database_name: str) -> list[str]:
        """Return the names of all views.

        Args:
            database_name: Name of a database of this catalog.

        Raises:
            DatabaseNotExistException: The database does not exist.
        """
        raise self._unsupported("list_views")

    def list_materialized_tables(self, database_name: str) -> list[str]:
        """Return the names of all materialized tables.

        Args:
            database_name: Name of a database of this catalog.

        Raises:
            DatabaseNotExistException: The database does not exist.
        """
        raise self._unsupported("list_materialized_tables")

    def get_table(self, table_path: ObjectPath) -> CatalogBaseTable:
        """Return a table or view.

        Args:
            table_path: Database and name of a table or view.

        Raises:
            TableNotExistException: The table or view does not exist.
        """
        raise self._unsupported("get_table")

    def table_exists(self, table_path: ObjectPath) -> bool:
        """Return whether a table or view exists.

        Args:
            table_path: Database and name; neither needs to exist.
        """
        raise self._unsupported("table_exists")

    def drop_table(self, table_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a table or view.

        Args:
            table_path: Database and name of a table or view.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            TableNotExistException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("drop_table")

    def rename_table(self, table_path: ObjectPath, new_table_name: str, ignore_if_not_exists: bool) -> None:
        """Rename a table or view within its database.

        Args:
            table_path: Database and present name.
            new_table_name: New name, without the database.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            TableNotExistException: It does not exist, and `ignore_if_not_exists` is false.
            TableAlreadyExistException: There is a table or view of the new name.
        """
        raise self._unsupported("rename_table")

    def create_table(self, table_path: ObjectPath, table: CatalogBaseTable, ignore_if_exists: bool) -> None:
        """Create a table or view.

        Args:
            table_path: Database and name.
            table: The definition, with unresolved names.
            ignore_if_exists: Whether to do nothing if it exists.

        Raises:
            TableAlreadyExistException: A table or view of this name exists.
            DatabaseNotExistException: The database does not exist.
        """
        raise self._unsupported("create_table")

    def alter_table(self, table_path: ObjectPath, new_table: CatalogBaseTable, ignore_if_not_exists: bool) -> None:
        """Replace a table or view.

        Args:
            table_path: Database and name of a table or view.
            new_table: The complete new definition, a view for a view and a table for a table.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            TableNotExistException: It does not exist, and `ignore_if_not_exists` is false.
            CatalogException: A table would become a view, or a view a table.
        """
        raise self._unsupported("alter_table")

    def list_partitions(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec | None = None
    ) -> list[CatalogPartitionSpec]:
        """Return the partitions of a table, of those that have these values.

        Args:
            table_path: Database and name.
            partition_spec: Values of some partition columns, which a partition must have; None returns all partitions.

        Raises:
            TableNotExistException: The table does not exist.
        """
        raise self._unsupported("list_partitions")

    def get_partition(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> CatalogPartition:
        """Return a partition.

        Args:
            table_path: Database and name.
            partition_spec: A value for each partition column.

        Raises:
            PartitionNotExistException: The partition does not exist.
        """
        raise self._unsupported("get_partition")

    def partition_exists(self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec) -> bool:
        """Return whether a partition exists.

        Args:
            table_path: Database and name; neither needs to exist.
            partition_spec: A value for each partition column.
        """
        raise self._unsupported("partition_exists")

    def create_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition: CatalogPartition,
        ignore_if_exists: bool,
    ) -> None:
        """Create a partition.

        Args:
            table_path: Database and name.
            partition_spec: A value for each partition column.
            partition: Properties and comment.
            ignore_if_exists: Whether to do nothing if it exists.

        Raises:
            TableNotExistException: The table does not exist.
            CatalogException: The partition exists, and `ignore_if_exists` is false.
        """
        raise self._unsupported("create_partition")

    def drop_partition(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec, ignore_if_not_exists: bool
    ) -> None:
        """Drop a partition.

        Args:
            table_path: Database and name.
            partition_spec: A value for each partition column.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            PartitionNotExistException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("drop_partition")

    def alter_partition(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        new_partition: CatalogPartition,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace a partition.

        Args:
            table_path: Database and name.
            partition_spec: A value for each partition column.
            new_partition: Properties and comment, which replace all present ones.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            PartitionNotExistException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("alter_partition")

    def list_functions(self, database_name: str) -> list[str]:
        """Return the names of all functions.

        Args:
            database_name: Name of a database of this catalog.

        Raises:
            DatabaseNotExistException: The database does not exist.
        """
        raise self._unsupported("list_functions")

    def get_function(self, function_path: ObjectPath) -> CatalogFunction:
        """Return a function.

        Args:
            function_path: Database and name; the name is not case-sensitive.

        Raises:
            FunctionNotExistException: The function does not exist.
        """
        raise self._unsupported("get_function")

    def function_exists(self, function_path: ObjectPath) -> bool:
        """Return whether a function exists.

        Args:
            function_path: Database and name; neither needs to exist.
        """
        raise self._unsupported("function_exists")

    def create_function(self, function_path: ObjectPath, function: CatalogFunction, ignore_if_exists: bool) -> None:
        """Create a function.

        Args:
            function_path: Database and name; the name is not case-sensitive.
            function: The Python object (`module.attribute`) that it refers to.
            ignore_if_exists: Whether to do nothing if it exists.

        Raises:
            FunctionAlreadyExistException: It exists, and `ignore_if_exists` is false.
            DatabaseNotExistException: The database does not exist.
        """
        raise self._unsupported("create_function")

    def alter_function(
        self, function_path: ObjectPath, new_function: CatalogFunction, ignore_if_not_exists: bool
    ) -> None:
        """Replace a function.

        Args:
            function_path: Database and name; the name is not case-sensitive.
            new_function: The Python object (`module.attribute`) that it refers to from now on.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            FunctionNotExistException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("alter_function")

    def drop_function(self, function_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a function.

        Args:
            function_path: Database and name; the name is not case-sensitive.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            FunctionNotExistException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("drop_function")

    def list_models(self, database_name: str) -> list[str]:
        """Return the names of all models.

        Args:
            database_name: Name of a database of this catalog.

        Raises:
            DatabaseNotExistException: The database does not exist.
        """
        raise self._unsupported("list_models")

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        """Return a model.

        Args:
            model_path: Database and name.

        Raises:
            CatalogException: The model does not exist.
        """
        raise self._unsupported("get_model")

    def model_exists(self, model_path: ObjectPath) -> bool:
        """Return whether a model exists.

        Args:
            model_path: Database and name; neither needs to exist.
        """
        raise self._unsupported("model_exists")

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        """Drop a model.

        Args:
            model_path: Database and name.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            CatalogException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("drop_model")

    def rename_model(self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool) -> None:
        """Rename a model.

        Args:
            model_path: Database and present name.
            new_model_name: New name, without the database.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            CatalogException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("rename_model")

    def create_model(self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool) -> None:
        """Create a model.

        Args:
            model_path: Database and name.
            model: Schemas and options.
            ignore_if_exists: Whether to do nothing if it exists.

        Raises:
            CatalogException: It exists, and `ignore_if_exists` is false.
        """
        raise self._unsupported("create_model")

    def alter_model(self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool) -> None:
        """Replace a model.

        Args:
            model_path: Database and name.
            new_model: The complete new definition.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            CatalogException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("alter_model")

    def list_procedures(self, database_name: str) -> list[str]:
        """Return the names of all procedures.

        Args:
            database_name: Name of a database of this catalog.

        Raises:
            DatabaseNotExistException: The database does not exist.
        """
        raise self._unsupported("list_procedures")

    def get_procedure(self, procedure_path: ObjectPath) -> Procedure:
        """Return a procedure.

        Args:
            procedure_path: Database and name.
        """
        raise self._unsupported("get_procedure")

    def get_table_statistics(self, table_path: ObjectPath) -> CatalogTableStatistics:
        """Return the statistics of a table.

        Args:
            table_path: Database and name.

        Raises:
            TableNotExistException: The table does not exist.
        """
        raise self._unsupported("get_table_statistics")

    def get_table_column_statistics(self, table_path: ObjectPath) -> CatalogColumnStatistics:
        """Return the statistics of a table's columns.

        Args:
            table_path: Database and name.

        Raises:
            TableNotExistException: The table does not exist.
        """
        raise self._unsupported("get_table_column_statistics")

    def get_partition_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogTableStatistics:
        """Return the statistics of a partition.

        Args:
            table_path: Database and name.
            partition_spec: A value for each partition column.

        Raises:
            PartitionNotExistException: The partition does not exist.
        """
        raise self._unsupported("get_partition_statistics")

    def bulk_get_partition_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogTableStatistics]:
        """Return the statistics of several partitions.

        Args:
            table_path: Database and name.
            partition_specs: A value for each partition column, of each partition.

        Raises:
            PartitionNotExistException: The partition does not exist.
        """
        raise self._unsupported("bulk_get_partition_statistics")

    def get_partition_column_statistics(
        self, table_path: ObjectPath, partition_spec: CatalogPartitionSpec
    ) -> CatalogColumnStatistics:
        """Return the statistics of a partition's columns.

        Args:
            table_path: Database and name.
            partition_spec: A value for each partition column.

        Raises:
            PartitionNotExistException: The partition does not exist.
        """
        raise self._unsupported("get_partition_column_statistics")

    def bulk_get_partition_column_statistics(
        self, table_path: ObjectPath, partition_specs: list[CatalogPartitionSpec]
    ) -> list[CatalogColumnStatistics]:
        """Return the statistics of the columns of several partitions.

        Args:
            table_path: Database and name.
            partition_specs: A value for each partition column, of each partition.

        Raises:
            PartitionNotExistException: The partition does not exist.
        """
        raise self._unsupported("bulk_get_partition_column_statistics")

    def alter_table_statistics(
        self, table_path: ObjectPath, table_statistics: CatalogTableStatistics, ignore_if_not_exists: bool
    ) -> None:
        """Replace the statistics of a table.

        Args:
            table_path: Database and name.
            table_statistics: The new statistics.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            TableNotExistException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("alter_table_statistics")

    def alter_table_column_statistics(
        self, table_path: ObjectPath, column_statistics: CatalogColumnStatistics, ignore_if_not_exists: bool
    ) -> None:
        """Replace the statistics of a table's columns.

        Args:
            table_path: Database and name.
            column_statistics: The new statistics.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            TableNotExistException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("alter_table_column_statistics")

    def alter_partition_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        partition_statistics: CatalogTableStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace the statistics of a partition.

        Args:
            table_path: Database and name.
            partition_spec: A value for each partition column.
            partition_statistics: The new statistics.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            PartitionNotExistException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("alter_partition_statistics")

    def alter_partition_column_statistics(
        self,
        table_path: ObjectPath,
        partition_spec: CatalogPartitionSpec,
        column_statistics: CatalogColumnStatistics,
        ignore_if_not_exists: bool,
    ) -> None:
        """Replace the statistics of a partition's columns.

        Args:
            table_path: Database and name.
            partition_spec: A value for each partition column.
            column_statistics: The new statistics.
            ignore_if_not_exists: Whether to do nothing if it does not exist.

        Raises:
            PartitionNotExistException: It does not exist, and `ignore_if_not_exists` is false.
        """
        raise self._unsupported("alter_partition_column_statistics")

    def _unsupported(self, method: str) -> Exception:
        return NotImplementedError(f"{type(self).__name__} does not support {method}()")


def check_catalog_options(
    name: str, kind: str, options: Iterable[str], known: tuple[str, ...], prefixes: tuple[str, ...]
) -> None:
    """Raise a ValidationException if CREATE CATALOG has an option that its type does not know.

    Args:
        name: The name of the catalog.
        kind: The type of the catalog.
        options: The keys of the options.
        known: The keys that the type knows.
        prefixes: Beginnings of other keys that it knows.
    """
    unknown = sorted(key for key in options if key not in known and not key.startswith(prefixes))
    if unknown:
        raise ValidationException(
            f"Unable to create catalog '{name}'. A catalog of type '{kind}' does not know {', '.join(unknown)}; its "
            f"options are {', '.join(known)}, and those that begin with {', '.join(prefixes)}"
        )
