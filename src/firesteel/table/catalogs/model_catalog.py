"""Models of catalogs and temporary models, by path. Flink: `CatalogManager`, its part for models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.type_text import quoted_path
from firesteel.common.table_errors import CatalogException, ValidationException
from firesteel.table.catalogs.catalog_objects import CatalogModel, ObjectPath

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager

Path = tuple[str, ...]


class ModelCatalog:
    """Models can be created, altered and described; nothing executes them.

    Args:
        catalogs: Knows the catalogs and the current one.
    """

    def __init__(self, catalogs: CatalogManager) -> None:
        self._catalogs = catalogs
        self._temporary: dict[Path, CatalogModel] = {}

    def find(self, path: Path) -> CatalogModel | None:
        """Return a model, or None; temporary ones hide others."""
        qualified = self._catalogs.qualify(path)
        return self._temporary.get(qualified) or self._stored(qualified)

    def _stored(self, path: Path) -> CatalogModel | None:
        catalog, object_path = self._catalogs.find_catalog(path[0]), ObjectPath(*path[1:])
        if catalog is None or not catalog.database_exists(path[1]) or not catalog.model_exists(object_path):
            return None
        return catalog.get_model(object_path)

    def is_temporary(self, path: Path) -> bool:
        """Return whether a path is that of a temporary model."""
        return self._catalogs.qualify(path) in self._temporary

    def names(self, database: tuple[str, str]) -> list[str]:
        """Return the names of all models of a database, temporary ones too."""
        stored = self._catalogs.catalog(database[0]).list_models(database[1])
        return sorted({*stored, *self.temporary_names(database)})

    def temporary_names(self, database: tuple[str, str]) -> list[str]:
        """Return the names of the temporary models of a database."""
        return sorted(path[2] for path in self._temporary if path[:2] == database)

    def add(self, path: Path, model: CatalogModel, is_temporary: bool, ignore_if_exists: bool) -> None:
        """Add a model.

        Args:
            path: The path of the model as it was written.
            model: The model.
            is_temporary: Whether it lives as long as the environment, and hides a model of the catalog.
            ignore_if_exists: Whether to do nothing if there is one of that path.

        Raises:
            ValidationException: there is one of that path, or no such database.
        """
        path = self._catalogs.qualify(path)
        if is_temporary:
            if path in self._temporary and not ignore_if_exists:
                raise ValidationException(f"Temporary model '{quoted_path(path)}' already exists")
            self._temporary.setdefault(path, model)
            return
        catalog = self._catalogs.catalog(path[0])
        try:
            catalog.create_model(ObjectPath(*path[1:]), model, ignore_if_exists)
        except CatalogException as error:
            raise ValidationException(f"Could not execute CreateModel in path {quoted_path(path)}: {error}") from error

    def drop(self, path: Path, is_temporary: bool, ignore_if_not_exists: bool) -> bool:
        """Remove a model and return whether it existed.

        Args:
            path: The path of the model as it was written.
            is_temporary: Whether to remove a temporary model, otherwise that of the catalog.
            ignore_if_not_exists: Whether to return False if there is none.

        Raises:
            ValidationException: there is none.
        """
        path = self._catalogs.qualify(path)
        found = path in self._temporary if is_temporary else self._stored(path) is not None
        if not found and not ignore_if_not_exists:
            kind = "Temporary model" if is_temporary else "Model"
            raise ValidationException(f"{kind} with identifier '{'.'.join(path)}' does not exist.")
        if found and is_temporary:
            del self._temporary[path]
        elif found:
            self._catalogs.catalog(path[0]).drop_model(ObjectPath(*path[1:]), ignore_if_not_exists)
        return found

    def stored(self, path: Path, ignore_if_not_exists: bool) -> CatalogModel | None:
        """Return a model that ALTER MODEL can change; None if there is none, which is ignored.

        Args:
            path: The path of the model as it was written.
            ignore_if_not_exists: Whether to return None if there is none.

        Raises:
            ValidationException: there is none, or a temporary one.
        """
        path = self._catalogs.qualify(path)
        if path in self._temporary:
            raise ValidationException(f"Model {quoted_path(path)} is a temporary model.")
        found = self._stored(path)
        if found is None and not ignore_if_not_exists:
            raise ValidationException(f"Model {quoted_path(path)} doesn't exist.")
        return found

    def replace(self, path: Path, model: CatalogModel) -> None:
        """Replace a model of a catalog."""
        path = self._catalogs.qualify(path)
        self._catalogs.catalog(path[0]).alter_model(ObjectPath(*path[1:]), model, False)

    def rename(self, path: Path, new_path: Path) -> None:
        """Rename a model within its database.

        Args:
            path: The path of the model as it was written.
            new_path: The new path; its missing parts are those of the old one.

        Raises:
            ValidationException: the new name is taken, or belongs to another database.
        """
        path = self._catalogs.qualify(path)
        target = self._catalogs.qualify((*path[: 3 - len(new_path)], *new_path))
        action = f"Could not execute ALTER MODEL {'.'.join(path)} RENAME TO {'.'.join(target)}"
        if target[:2] != path[:2]:
            raise ValidationException(f"{action}: a model can't move to another catalog or database")
        try:
            self._catalogs.catalog(path[0]).rename_model(ObjectPath(*path[1:]), target[2], False)
        except CatalogException as error:
            raise ValidationException(f"{action}: {error}") from error
