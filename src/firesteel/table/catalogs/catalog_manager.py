"""All catalogs of a table environment, with temporary tables, views and functions. Flink: `CatalogManager`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from firesteel.columns.rex import UserFunction
from firesteel.columns.type_text import quoted_path
from firesteel.common.meant import meant
from firesteel.common.table_errors import CatalogException, DatabaseNotExistException, ValidationException
from firesteel.connectors.table_connector import ResolvedTable, ScanSource, SinkRequest, TableSink
from firesteel.connectors.table_registry import create_sink, create_source
from firesteel.table.catalogs.catalog_base import Catalog
from firesteel.table.catalogs.catalog_objects import CatalogBaseTable, ObjectPath
from firesteel.table.catalogs.memory_catalog import GenericInMemoryCatalog
from firesteel.table.catalogs.model_catalog import ModelCatalog
from firesteel.table.catalogs.schema_resolver import resolve_table
from firesteel.table.functions.function_catalog import FunctionCatalog
from firesteel.table.planner.parse.parser import parse
from firesteel.table.syntax.statements import Query
from firesteel.table.table_config import TableConfig

if TYPE_CHECKING:
    from firesteel.table.resolved_schema import ResolvedSchema

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A view: its query (a relational node where it is known) and the names of its columns, empty: the query's.

    The view of a table of the Table API has that table's schema.
    """

    query: Any
    columns: tuple[str, ...]
    schema: ResolvedSchema | None


class CatalogManager:
    """The registry of catalogs, which looks up tables, views and functions by path.

    Args:
        config: Options of the environment.
        is_streaming: Whether tables have time attributes.
        catalog: Name of the first catalog.
        database: Name of its first database.

    Attributes:
        functions: All functions of the user.
        models: All models.
        current_catalog: The catalog of paths without a catalog.
        current_database: The database of names without a database.
    """

    def __init__(self, config: TableConfig, is_streaming: bool, catalog: str, database: str) -> None:
        self.config = config
        self.is_streaming = is_streaming
        self._catalogs: dict[str, Catalog] = {catalog: GenericInMemoryCatalog(catalog, database)}
        self._descriptions: dict[str, tuple[dict[str, str], str | None]] = {}
        self._temporary: dict[Path, CatalogBaseTable] = {}
        self._anonymous: dict[Path, CatalogBaseTable] = {}
        self.current_catalog: str | None = catalog
        self.current_database: str | None = database
        self.functions = FunctionCatalog(self)
        self.models = ModelCatalog(self)

    # --- paths -------------------------------------------------------------------------------------------------------

    def qualify(self, path: Path) -> Path:
        """Return catalog, database and name.

        Raises:
            ValidationException: there is no current catalog or database, or the path has more parts.
        """
        if not 1 <= len(path) <= 3 or not all(path):
            raise ValidationException(
                f"A path has one to three parts (catalog, database, name), found {'.'.join(path)}"
            )
        current = (self.current_catalog, self.current_database)
        missing = current[: 3 - len(path)]
        if None in missing:
            raise ValidationException(
                "A current catalog and database have not been set. Please use a fully qualified identifier (such as "
                "'my_catalog.my_database.my_table') or set a current catalog and database."
            )
        return (*(part for part in missing if part), *path)

    def qualify_database(self, path: Path) -> tuple[str, str]:
        """Return catalog and database; of an empty path the current ones."""
        catalog, database, _ = self.qualify((*path, "_"))
        return catalog, database

    # --- catalogs and databases --------------------------------------------------------------------------------------

    def list_catalogs(self) -> list[str]:
        """Return the names of all catalogs."""
        return sorted(self._catalogs)

    def find_catalog(self, name: str) -> Catalog | None:
        """Return a catalog, None if there is none of that name."""
        return self._catalogs.get(name)

    def catalog(self, name: str) -> Catalog:
        """Return a catalog.

        Raises:
            CatalogException: there is none of that name.
        """
        if name not in self._catalogs:
            raise CatalogException(f"Catalog {name} does not exist.")
        return self._catalogs[name]

    def register_catalog(
        self, name: str, catalog: Catalog, options: dict[str, str] | None = None, comment: str | None = None
    ) -> None:
        """Add a catalog.

        Raises:
            CatalogException: there is one of that name.
        """
        if name in self._catalogs:
            raise CatalogException(f"Catalog {name} already exists.")
        self._catalogs[name] = catalog
        self._descriptions[name] = (options or {}, comment)

    def describe_catalog(self, name: str) -> tuple[dict[str, str], str | None]:
        """Return options and comment of a catalog."""
        self.catalog(name)
        return self._descriptions.get(name, ({"type": "generic_in_memory"}, None))

    def alter_catalog(self, name: str, options: dict[str, str], comment: str | None) -> None:
        """Replace options and comment of a catalog."""
        self.catalog(name)
        self._descriptions[name] = (options, comment)

    def drop_catalog(self, name: str) -> None:
        """Remove a catalog.

        Raises:
            CatalogException: there is none of that name, or it is the current one.
        """
        self.catalog(name)
        if name == self.current_catalog:
            raise CatalogException(f"Cannot drop a catalog which is currently in use: {name}")
        del self._catalogs[name]

    def use_catalog(self, name: str) -> None:
        """Make a catalog and its default database the current ones."""
        catalog = self.catalog(name)
        self.current_catalog, self.current_database = name, catalog.get_default_database()

    def use_database(self, path: Path) -> None:
        """Make a database, and its catalog, the current one.

        Raises:
            CatalogException: there is none of that name.
        """
        catalog, database = self.qualify_database(path)
        if not self.catalog(catalog).database_exists(database):
            raise CatalogException(f"A database with name [{database}] does not exist in the catalog: [{catalog}].")
        self.current_catalog, self.current_database = catalog, database

    # --- tables and views --------------------------------------------------------------------------------------------

    def get(self, path: Path) -> CatalogBaseTable | None:
        """Return the declaration of a table or view, or None; temporary ones hide others."""
        qualified = self.qualify(path)
        if qualified in self._temporary:
            return self._temporary[qualified]
        if qualified in self._anonymous:
            return self._anonymous[qualified]
        return self._permanent(qualified)

    def _permanent(self, qualified: Path) -> CatalogBaseTable | None:
        catalog, object_path = self._catalogs.get(qualified[0]), ObjectPath(*qualified[1:])
        # In this order: catalogs raise when they are asked for a table of a database that they do not have.
        if catalog is None or not catalog.database_exists(qualified[1]) or not catalog.table_exists(object_path):
            return None
        return catalog.get_table(object_path)

    def is_temporary(self, path: Path) -> bool:
        """Return whether a path is that of a temporary table or view."""
        return self.qualify(path) in self._temporary

    def find_table(self, path: Path) -> ResolvedTable | ViewEntry | None:
        """Return a table with its types, or a view; None if the path does not exist."""
        found = self.get(path) if 1 <= len(path) <= 3 else None
        if found is None:
            return None
        if found.is_view:
            query = _view_query(found.query) if isinstance(found.query, str) else found.query
            return ViewEntry(query, found.view_columns, found.view_schema)
        return resolve_table(found, self.qualify(path), self)

    def hint_near(self, path: Path) -> str:
        """Return a hint at tables that resemble a path which does not exist, or nothing."""
        try:
            names = self.list_tables(self.qualify_database(path[:-1]))
        except ValidationException:
            return ""
        return meant(path[-1], names, most=2)

    def create_table(
        self, path: Path, table: CatalogBaseTable, is_temporary: bool = False, ignore_if_exists: bool = False
    ) -> None:
        """Add a table or view after resolving its columns.

        Raises:
            ValidationException: there is one of that path, or a column does not fit.
        """
        path = self.qualify(path)
        if not table.is_view:
            resolve_table(table, path, self)
        if is_temporary:
            if path in self._temporary and not ignore_if_exists:
                raise ValidationException(f"Temporary table '{quoted_path(path)}' already exists")
            self._temporary.setdefault(path, table)
            return
        catalog = self._catalog_for("CreateTable", path)
        try:
            catalog.create_table(ObjectPath(*path[1:]), table, ignore_if_exists)
        except CatalogException as error:
            raise ValidationException(f"Could not execute CreateTable in path {quoted_path(path)}: {error}") from error

    def _catalog_for(self, action: str, path: Path) -> Catalog:
        if path[0] not in self._catalogs:
            raise ValidationException(f"Catalog {path[0]} does not exist.")
        catalog = self._catalogs[path[0]]
        if not catalog.database_exists(path[1]):
            cause = DatabaseNotExistException(path[0], path[1])
            raise ValidationException(f"Could not execute {action} in path {quoted_path(path)}: {cause}") from cause
        return catalog

    def add_anonymous(self, path: Path, table: CatalogBaseTable) -> None:
        """Add a table without a user-visible name, which lists omit."""
        resolve_table(table, path, self)
        self._anonymous[path] = table

    def replace_table(self, path: Path, table: CatalogBaseTable) -> None:
        """Replace a table or view after resolving its columns."""
        path = self.qualify(path)
        if not table.is_view:
            resolve_table(table, path, self)
        if path in self._temporary:
            self._temporary[path] = table
        else:
            self.catalog(path[0]).alter_table(ObjectPath(*path[1:]), table, False)

    def drop_table(self, path: Path, is_view: bool, is_temporary: bool, ignore_if_not_exists: bool) -> bool:
        """Remove a table or view, and return whether it existed.

        Raises:
            ValidationException: there is none, or it is hidden by a temporary one.
        """
        path, kind = self.qualify(path), "View" if is_view else "Table"
        if is_temporary:
            found = self._temporary.get(path)
            if found is not None and found.is_view == is_view:
                del self._temporary[path]
                return True
            if not ignore_if_not_exists:
                raise ValidationException(
                    f"Temporary {kind.lower()} with identifier '{'.'.join(path)}' does not exist."
                )
            return False
        if path in self._temporary and self._temporary[path].is_view == is_view:
            raise ValidationException(
                f"Temporary {kind.lower()} with identifier '{quoted_path(path)}' exists. Drop it first before removing "
                f"the permanent {kind.lower()}."
            )
        found = self._permanent(path)
        if found is None or found.is_view != is_view:
            if not ignore_if_not_exists:
                raise ValidationException(f"{kind} with identifier '{'.'.join(path)}' does not exist.")
            return False
        self.catalog(path[0]).drop_table(ObjectPath(*path[1:]), ignore_if_not_exists)
        return True

    def rename_table(self, path: Path, new_path: Path) -> None:
        """Rename a table or view within its database.

        Raises:
            ValidationException: it is temporary, would move to another database, or the new name is taken.
        """
        path = self.qualify(path)
        target = self.qualify((*path[: 3 - len(new_path)], *new_path))
        if path in self._temporary:
            kind = "View" if self._temporary[path].is_view else "Table"
            raise ValidationException(f"{kind} {quoted_path(path)} doesn't exist or is a temporary {kind.lower()}.")
        if target[:2] != path[:2]:
            raise ValidationException("The table can't be renamed into another catalog or database")
        self.catalog(path[0]).rename_table(ObjectPath(*path[1:]), target[2], False)

    def list_tables(self, database: tuple[str, str]) -> list[str]:
        """Return the names of all tables and views of a database, temporary ones too."""
        stored = self._stored(database)
        return sorted({*stored.list_tables(database[1]), *self.list_temporary(database)})

    def list_views(self, database: tuple[str, str]) -> list[str]:
        """Return the names of all views of a database, temporary ones too."""
        stored = self._stored(database)
        return sorted({*stored.list_views(database[1]), *self.list_temporary(database, views_only=True)})

    def list_temporary(self, database: tuple[str, str], views_only: bool = False) -> list[str]:
        """Return the names of the temporary tables and views of a database, or of the views only."""
        items = self._temporary.items()
        return sorted(path[2] for path, table in items if path[:2] == database and (table.is_view or not views_only))

    def _stored(self, database: tuple[str, str]) -> Catalog:
        catalog = self.catalog(database[0])
        if not catalog.database_exists(database[1]):
            raise ValidationException(f"Database '{database[1]}' does not exist in catalog '{database[0]}'.")
        return catalog

    # --- interface of the planner
    # --------------------------------------------------------------------------------------

    def create_source(self, table: ResolvedTable) -> ScanSource:
        """Return the source that reads a table."""
        return create_source(table, self.config, self.is_streaming)

    def create_sink(self, table: ResolvedTable, request: SinkRequest) -> TableSink:
        """Return the sink that writes a table."""
        return create_sink(table, request, self.config, self.is_streaming)

    def find_function(self, path: Path) -> UserFunction | None:
        """Return a function of the user, or None if there is none or a built-in one takes precedence."""
        return self.functions.find(path)


def _view_query(text: str) -> object:
    statement = parse(text)
    if not isinstance(statement, Query):
        raise ValidationException(f"A view needs a query, found: {text}")
    return statement.query
