"""Functions of the user by name. Flink: `FunctionCatalog`."""

from __future__ import annotations

import copy
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.functions.definition_names import sql_name
from firesteel.columns.functions.registry import find_function as find_scalar
from firesteel.columns.rex import UserFunction
from firesteel.common.table_errors import ValidationException
from firesteel.table.catalogs.catalog_objects import CatalogFunction, ObjectPath
from firesteel.table.functions.function_loading import as_function

if TYPE_CHECKING:
    from firesteel.table.catalogs.catalog_manager import CatalogManager

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionEntry:
    """A function that was found by name.

    Attributes:
        function: The function of the user, or the built-in one.
        declared: Its class and language, None if it is a system function or was registered as an object.
    """

    function: Any
    is_system: bool
    is_temporary: bool
    declared: CatalogFunction | None = None


class FunctionCatalog:
    """Temporary system functions, temporary functions of catalogs, and functions of catalogs.

    Args:
        catalogs: Knows the catalogs and the current one.
    """

    def __init__(self, catalogs: CatalogManager) -> None:
        self._catalogs = catalogs
        self._system: dict[str, UserFunction] = {}
        self._temporary: dict[Path, UserFunction] = {}
        self._declared: dict[Path, CatalogFunction] = {}
        self._loaded: dict[tuple[str, str], UserFunction] = {}

    def find(self, path: Path) -> UserFunction | None:
        """Return a function; None: there is none, or a built-in one goes before it.

        A name alone is looked up among temporary system functions, then built-in ones, temporary ones of the current
        database, and those of the catalog.
        """
        if len(path) == 1:
            name = path[0].lower()
            if name in self._system:
                return self._system[name]
            if find_scalar(name) is not None or find_aggregate(name) is not None or sql_name(name) is not None:
                return None
        if len(path) > 3:
            return None
        qualified = self._key(path)
        return self._temporary[qualified] if qualified in self._temporary else self._stored(qualified)

    def system(self, name: str) -> UserFunction | None:
        """Return a temporary system function, which goes before the built-in one of that name."""
        return self._system.get(name.lower())

    def name_of(self, function: object) -> Path | None:
        """Return the path by which `find` gives a function, None: it has no name."""
        named: list[Path] = [(name,) for name, known in self._system.items() if known is function]
        named += [path for path, known in self._temporary.items() if known is function]
        stored = (path for path in map(self._key, ((name,) for name in self.user_defined())) if path not in named)
        return next((path for path in (*named, *stored) if self.find(path) is function), None)

    def entry(self, path: Path) -> FunctionEntry | None:
        """Return the function of a path, built-in ones included, or None.

        Raises:
            ValidationException: the function of a catalog can't be loaded.
        """
        if len(path) == 1:
            name = path[0].lower()
            if name in self._system:
                return FunctionEntry(self._system[name], True, True)
            built_in = find_scalar(name) or find_aggregate(name)
            if built_in is not None:
                return FunctionEntry(built_in, True, False)
        if len(path) > 3:
            return None
        key = self._key(path)
        if key in self._temporary:
            return FunctionEntry(self._temporary[key], False, True, self._declared.get(key))
        declared = self._stored_declaration(key)
        if declared is None:
            return None
        try:
            return FunctionEntry(self._load(key[-1], declared), False, False, declared)
        except (ValidationException, TypeError) as error:
            raise ValidationException(f"Cannot instantiate user-defined function '{'.'.join(key)}'. {error}") from error

    def _key(self, path: Path) -> Path:
        *database, name = self._catalogs.qualify(path)
        return (*database, name.lower())

    def _stored(self, path: Path) -> UserFunction | None:
        declared = self._stored_declaration(path)
        return None if declared is None else self._load(path[-1], declared)

    def _load(self, name: str, declared: CatalogFunction) -> UserFunction:
        """Return the function of a declaration, always the same one, so that `name_of` finds it."""
        key = (name, declared.get_class_name())
        if key not in self._loaded:
            _check_language(declared)
            self._loaded[key] = _named(load_function(declared.get_class_name()), name)
        return self._loaded[key]

    def _stored_declaration(self, path: Path) -> CatalogFunction | None:
        catalog, object_path = self._catalogs.find_catalog(path[0]), ObjectPath(*path[1:])
        if catalog is None or not catalog.database_exists(path[1]) or not catalog.function_exists(object_path):
            return None
        return catalog.get_function(object_path)

    def add_system(self, name: str, function: object, ignore_if_exists: bool = False) -> None:
        """Add a temporary system function.

        Raises:
            ValidationException: there is one of that name.
        """
        if name.lower() in self._system and not ignore_if_exists:
            raise ValidationException(
                f"Could not register temporary system function. A function named '{name}' does already exist."
            )
        self._system.setdefault(name.lower(), _named(as_function(function), name.lower()))

    def add_temporary(
        self, path: Path, function: object, ignore_if_exists: bool = False, declared: CatalogFunction | None = None
    ) -> None:
        """Add a temporary function of a database.

        Args:
            path: The path of the function.
            function: The function.
            ignore_if_exists: Whether to do nothing if there is one of that path.
            declared: Its class and language, if SQL declared it.

        Raises:
            ValidationException: there is one of that name.
        """
        key = self._key(path)
        if key in self._temporary and not ignore_if_exists:
            raise ValidationException(
                f"Could not register temporary catalog function. A function '{'.'.join(key)}' does already exist."
            )
        if key in self._temporary:
            return
        self._temporary[key] = _named(as_function(function), key[-1])
        if declared is not None:
            self._declared[key] = declared

    def add_stored(self, path: Path, function: CatalogFunction, ignore_if_exists: bool) -> None:
        """Add a function to a catalog."""
        _check_language(function)
        qualified = self._catalogs.qualify(path)
        catalog = self._catalogs.catalog(qualified[0])
        catalog.create_function(ObjectPath(*qualified[1:]), function, ignore_if_exists)

    def alter_stored(self, path: Path, function: CatalogFunction, ignore_if_not_exists: bool) -> None:
        """Replace a function of a catalog."""
        _check_language(function)
        qualified = self._catalogs.qualify(path)
        catalog = self._catalogs.catalog(qualified[0])
        catalog.alter_function(ObjectPath(*qualified[1:]), function, ignore_if_not_exists)

    def drop_system(self, name: str) -> bool:
        """Remove a temporary system function and return whether it existed."""
        return self._system.pop(name.lower(), None) is not None

    def drop_temporary(self, path: Path) -> bool:
        """Remove a temporary function of a database and return whether it existed."""
        self._declared.pop(self._key(path), None)
        return self._temporary.pop(self._key(path), None) is not None

    def drop_stored(self, path: Path, ignore_if_not_exists: bool) -> bool:
        """Remove a function of a catalog and return whether it existed."""
        qualified = self._catalogs.qualify(path)
        catalog, object_path = self._catalogs.catalog(qualified[0]), ObjectPath(*qualified[1:])
        found = catalog.function_exists(object_path)
        catalog.drop_function(object_path, ignore_if_not_exists)
        return found

    def user_defined(self, database: tuple[str, str] | None = None) -> list[str]:
        """Return the names of the user's functions: of the system and of a database, by default the current one."""
        database = self._catalogs.qualify_database(()) if database is None else database
        catalog = self._catalogs.catalog(database[0])
        names = {*self._system, *catalog.list_functions(database[1])}
        return sorted(names | {path[2] for path in self._temporary if path[:2] == database})


def _check_language(function: CatalogFunction) -> None:
    language = function.get_function_language()
    if language.upper() != "PYTHON":
        raise ValidationException(
            f"Function {function.get_class_name()} is written in {language}; only LANGUAGE PYTHON is supported"
        )


def _named(function: UserFunction, name: str) -> UserFunction:
    """Return a function that plans and errors call by its name in the catalog."""
    named = copy.copy(function)
    named.name = name
    return named


def load_function(name: str) -> UserFunction:
    """Return the function of `module.attribute`.

    Raises:
        ValidationException: there is no such module or attribute.
    """
    module, _, attribute = name.rpartition(".")
    try:
        return as_function(getattr(importlib.import_module(module), attribute))
    except (ImportError, AttributeError, ValueError) as error:
        raise ValidationException(
            f"Could not load the Python function '{name}': it must be module.attribute ({error})"
        ) from error
