"""The errors of tables under the names of PyFlink's module `pyflink.util.exceptions`."""

from __future__ import annotations

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
    TableException,
    TableNotExistException,
    TableNotPartitionedException,
)
from firesteel.errors import FiresteelError

__all__ = [
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "JavaException",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "TableAlreadyExistException",
    "TableException",
    "TableNotExistException",
    "TableNotPartitionedException",
]

JavaException = FiresteelError
"""What all of them derive from, also in PyFlink."""
