"""Catalogs of type `hadoop`: directories of tables, which are only read. Iceberg: `HadoopCatalog`, `HadoopTables`.

A database is a directory in the warehouse, and a table one with a directory `metadata`. There, versions of a table are
files with a number, and `version-hint.text` has the last one, or one shortly before. A commit renames a file, which no
other writer may have done meanwhile; object stores and pyiceberg cannot.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType
from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.serializers import FromInputFile
from pyiceberg.table import Table

from firesteel.common.table_errors import CatalogException

if TYPE_CHECKING:
    from pyiceberg.typedef import Identifier

_VERSION = re.compile(r"v(\d+)(\.gz)?\.metadata\.json(\.gz)?")
_METADATA = "metadata"


def _refused(self: HadoopCatalog, *_: object, **__: object) -> NoReturn:
    raise CatalogException(
        f"Iceberg catalog '{self.name}' is of type 'hadoop' and can only be read; use one of type rest, hive, glue or "
        "jdbc to create and write tables"
    )


class HadoopCatalog(Catalog):
    """The tables below a warehouse.

    Args:
        name: The name of the catalog.
        properties: Properties of pyiceberg; `warehouse` is the directory.
    """

    def __init__(self, name: str, **properties: str) -> None:
        super().__init__(name, **properties)
        self._io = PyArrowFileIO(properties)
        self._warehouse = properties["warehouse"].rstrip("/")

    def list_namespaces(self, namespace: str | Identifier = ()) -> list[Identifier]:
        """Return the databases that are directly in one."""
        names = self.identifier_to_tuple(namespace)
        return [(*names, name) for name in self._directories(names) if not self.table_exists((*names, name))]

    def namespace_exists(self, namespace: str | Identifier) -> bool:
        """Return whether there is a directory that is no table."""
        names = self.identifier_to_tuple(namespace)
        return self._info(*names).type is FileType.Directory and not self.table_exists(names)

    def load_namespace_properties(self, namespace: str | Identifier) -> dict[str, str]:
        """Return the directory of a database."""
        self._check_namespace(self.identifier_to_tuple(namespace))
        return {"location": self._location(*self.identifier_to_tuple(namespace))}

    def list_tables(self, namespace: str | Identifier) -> list[Identifier]:
        """Return the tables of a database."""
        names = self.identifier_to_tuple(namespace)
        self._check_namespace(names)
        return [(*names, name) for name in self._directories(names) if self.table_exists((*names, name))]

    def table_exists(self, identifier: str | Identifier) -> bool:
        """Return whether a directory has versions of a table."""
        return next(self._versions(self.identifier_to_tuple(identifier)), None) is not None

    def load_table(self, identifier: str | Identifier) -> Table:
        """Return the last version of a table.

        Raises:
            NoSuchTableError: there is no such table.
        """
        names = self.identifier_to_tuple(identifier)
        versions = dict(self._versions(names))
        if not versions:
            raise NoSuchTableError(f"Table does not exist: {'.'.join(names)}")
        location = self._location(*names, _METADATA, versions[max(versions)])
        metadata = FromInputFile.table_metadata(self._io.new_input(location))
        return Table(names, metadata, location, self._load_file_io({**metadata.properties}, location), self)

    def _versions(self, names: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        """Yield the number and the name of each version; `version-hint.text` may be behind, so it is not asked."""
        for one in self._entries(*names, _METADATA):
            found = _VERSION.fullmatch(one.base_name)
            if found and one.type is FileType.File:
                yield int(found[1]), one.base_name

    def _directories(self, names: tuple[str, ...]) -> list[str]:
        entries = self._entries(*names)
        return sorted(
            one.base_name for one in entries if one.type is FileType.Directory and one.base_name[0] not in "._"
        )

    def _check_namespace(self, names: tuple[str, ...]) -> None:
        if not self.namespace_exists(names):
            raise NoSuchNamespaceError(f"Namespace does not exist: {'.'.join(names)}")

    def _location(self, *names: str) -> str:
        return "/".join((self._warehouse, *names))

    def _entries(self, *names: str) -> list[FileInfo]:
        files, path = self._file_system(*names)
        found: list[FileInfo] = files.get_file_info(FileSelector(path, allow_not_found=True))
        return found

    def _info(self, *names: str) -> FileInfo:
        files, path = self._file_system(*names)
        return files.get_file_info(path)

    def _file_system(self, *names: str) -> tuple[FileSystem, str]:
        scheme, netloc, path = PyArrowFileIO.parse_location(self._location(*names), self.properties)
        return self._io.fs_by_scheme(scheme, netloc), path

    def list_views(self, namespace: str | Identifier) -> list[Identifier]:
        """Return an empty list: there are no views."""
        return []

    def view_exists(self, identifier: str | Identifier) -> bool:
        """Return False."""
        return False

    def supports_server_side_planning(self) -> bool:
        """Return False."""
        return False

    commit_table = create_namespace = create_table = create_table_transaction = create_view = _refused
    drop_namespace = drop_table = drop_view = load_view = purge_table = register_table = register_view = _refused
    rename_table = update_namespace_properties = _refused
