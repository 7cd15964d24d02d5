"""Errors of tables and SQL, under the names of Flink's exceptions.

```
TableException
├── SqlParserException      a statement that can't be parsed
├── ValidationException     a query, table or option that does not fit; also ValueError
└── CatalogException        something that is missing in a catalog, or is there already
```
"""

from __future__ import annotations

from firesteel.errors import FiresteelError

__all__ = [
    "CatalogException",
    "SqlParserError",
    "SqlParserException",
    "TableException",
    "ValidationException",
]


class TableException(FiresteelError):
    """A table program can't be carried out. Flink: `table.api.TableException`."""


class ValidationException(TableException, ValueError):
    """A query, a table or an option is not valid. Flink: `table.api.ValidationException`."""


class SqlParserException(TableException, ValueError):
    """A statement can't be parsed; the text names line and column. Flink: `table.api.SqlParserException`."""


SqlParserError = SqlParserException


class CatalogException(ValidationException):
    """An object of a catalog is missing, or exists already. Flink: `CatalogException` and its relatives."""


class DatabaseNotExistException(CatalogException):
    """A database does not exist in its catalog."""

    def __init__(self, catalog: str, database: str) -> None:
        super().__init__(f"Database {database} does not exist in Catalog {catalog}.")


class DatabaseAlreadyExistException(CatalogException):
    """A database exists already."""

    def __init__(self, catalog: str, database: str) -> None:
        super().__init__(f"Database {database} already exists in Catalog {catalog}.")


class DatabaseNotEmptyException(CatalogException):
    """A database that is to be dropped holds tables or functions."""

    def __init__(self, catalog: str, database: str) -> None:
        super().__init__(f"Database {database} in catalog {catalog} is not empty.")


class TableNotExistException(CatalogException):
    """A table or view does not exist in its catalog."""

    def __init__(self, catalog: str, name: str) -> None:
        super().__init__(f"Table (or view) {name} does not exist in Catalog {catalog}.")


class TableAlreadyExistException(CatalogException):
    """A table or view exists already."""

    def __init__(self, catalog: str, name: str) -> None:
        super().__init__(f"Table (or view) {name} already exists in Catalog {catalog}.")


class FunctionNotExistException(CatalogException):
    """A function does not exist in its catalog."""

    def __init__(self, catalog: str, name: str) -> None:
        super().__init__(f"Function {name} does not exist in Catalog {catalog}.")


class FunctionAlreadyExistException(CatalogException):
    """A function exists already."""

    def __init__(self, catalog: str, name: str) -> None:
        super().__init__(f"Function {name} already exists in Catalog {catalog}.")


class ModelNotExistException(CatalogException):
    """A model does not exist in its catalog."""

    def __init__(self, catalog: str, name: str) -> None:
        super().__init__(f"Model {name} does not exist in Catalog {catalog}.")


class ModelAlreadyExistException(CatalogException):
    """A model exists already."""

    def __init__(self, catalog: str, name: str) -> None:
        super().__init__(f"Model {name} already exists in Catalog {catalog}.")


class TableNotPartitionedException(CatalogException):
    """A table has no partitions."""

    def __init__(self, catalog: str, name: str) -> None:
        super().__init__(f"Table {name} in catalog {catalog} is not partitioned.")


class PartitionSpecInvalidException(CatalogException):
    """A partition does not have the keys of its table."""

    def __init__(self, catalog: str, name: str, keys: tuple[str, ...], partition: dict[str, str]) -> None:
        columns = f"[{', '.join(keys)}]"
        super().__init__(
            f"PartitionSpec {_shown(partition)} does not match partition keys {columns} of table {name} in catalog "
            f"{catalog}."
        )


class PartitionAlreadyExistsException(CatalogException):
    """A partition exists already."""

    def __init__(self, catalog: str, name: str, partition: dict[str, str]) -> None:
        super().__init__(f"Partition {_shown(partition)} of table {name} in catalog {catalog} already exists.")


class PartitionNotExistException(CatalogException):
    """A partition does not exist in its table."""

    def __init__(self, catalog: str, name: str, partition: dict[str, str]) -> None:
        super().__init__(f"Partition {_shown(partition)} of table {name} in catalog {catalog} does not exist.")


def _shown(partition: dict[str, str]) -> str:
    values = ", ".join(f"{key}={partition[key]}" for key in sorted(partition))
    return f"CatalogPartitionSpec{{{{{values}}}}}"
