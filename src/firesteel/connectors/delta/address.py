"""Delta tables by their paths: opened, created, and asked whether what they use is supported."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError, TableNotFoundError

from firesteel.common.files.file_system_options import fsspec_options
from firesteel.common.files.file_systems import Files, scheme_of
from firesteel.common.files.local_path import local_path
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.connectors.delta.delta_types import schema_of
from firesteel.connectors.table_connector import ResolvedTable

PROPERTIES = "delta."
"""Prefix of the properties of a table."""

_SCHEMES = (None, "s3", "s3a")
_STORE = {
    "key": "AWS_ACCESS_KEY_ID",
    "secret": "AWS_SECRET_ACCESS_KEY",
    "token": "AWS_SESSION_TOKEN",
    "endpoint_url": "AWS_ENDPOINT_URL",
}
"""Options of delta-rs by those of fsspec, which are made of Flink's `s3.*`."""

_READER_FEATURES = frozenset({"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"})
_WRITER_FEATURES = _READER_FEATURES | {
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "generatedColumns",
    "identityColumns",
    "invariants",
}
"""Table features that need nothing of a writer that appends, or are seen by `_RULES`; others are refused."""

_MAPPING = "delta.columnMapping.mode"
_CONSTRAINT = "delta.constraints."
_RULES = ("delta.invariants", "delta.generationExpression", "delta.identity.")
"""Properties of columns by which a writer must check or compute values."""


@dataclass(frozen=True)
class DeltaAddress:
    """A Delta table and the access to its files.

    Attributes:
        path: The directory, local or in an object store.
        configuration: Options of the job with credentials.
    """

    path: str
    configuration: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return self.path

    def with_configuration(self, configuration: Mapping[str, str]) -> DeltaAddress:
        """Return the address for a process with other options, such as credentials of the cluster."""
        return replace(self, configuration={**self.configuration, **configuration})

    @property
    def files(self) -> Files:
        """The access to files."""
        return Files(self.configuration)

    @property
    def _uri(self) -> str:
        return self.path if scheme_of(self.path) else str(local_path(self.path))

    def _storage(self) -> dict[str, str]:
        """Return the options with which delta-rs opens the table.

        Raises:
            ValidationException: the path has another scheme.
        """
        scheme = scheme_of(self.path)
        if scheme not in _SCHEMES:
            raise ValidationException(
                f"Invalid value for option 'table-path' of 'delta': expected a local path or one of s3:// and s3a://, "
                f"found '{self.path}'"
            )
        if scheme is None:
            return {}
        given = fsspec_options("s3", self.path, self.configuration)
        options = {name: str(given[key]) for key, name in _STORE.items() if key in given}
        region = (given.get("client_kwargs") or {}).get("region_name")
        options |= {} if region is None else {"AWS_REGION": str(region)}
        options["AWS_ALLOW_HTTP"] = str(options.get("AWS_ENDPOINT_URL", "").startswith("http:")).lower()
        return options

    def opened(self, version: int | None = None) -> DeltaTable:
        """Load the table.

        Args:
            version: The version; None for the newest one.

        Raises:
            ValidationException: there is no such table or version.
        """
        found = self._found(version)
        if found is None:
            raise ValidationException(f"There is no Delta table at {self.path}")
        return found

    def _found(self, version: int | None = None) -> DeltaTable | None:
        try:
            return DeltaTable(self._uri, version, self._storage())
        except TableNotFoundError:
            return None
        except (DeltaError, OSError) as error:
            at = "" if version is None else f" at version {version}"
            raise ValidationException(f"Could not open the Delta table {self.path}{at}: {_plain(error)}") from None

    def ensure(self, table: ResolvedTable) -> DeltaTable:
        """Return the table, which is created if there is none.

        Args:
            table: The declaration of the table to create.

        Raises:
            ValidationException: a column has a type that Delta does not have.
        """
        found = self._found()
        if found is not None:
            return found
        if scheme_of(self.path) is None:
            local_path(self.path).mkdir(parents=True, exist_ok=True)
        properties = {key: value for key, value in table.options.items() if key.startswith(PROPERTIES)}
        DeltaTable.create(
            self._uri,
            schema_of(table.physical_columns),
            mode="ignore",  # another program may be faster
            partition_by=list(table.partition_keys),
            description=table.comment,
            configuration=properties,
            storage_options=self._storage(),
        )
        return self.opened()


def _plain(error: Exception) -> str:
    """Return the text of an error of delta-rs, which is a coloured tree of its causes, in one line."""
    return " ".join(re.sub(r"\x1b\[\d+m|↳", "", str(error)).split())


def check_readable(table: DeltaTable, path: str) -> None:
    """Check that data files have the rows of a table as they are.

    Raises:
        TableException: the table uses a feature that is not supported.
    """
    unknown = set(table.protocol().reader_features or ()) - _READER_FEATURES
    mapping = table.metadata().configuration.get(_MAPPING, "none")
    if unknown or mapping != "none":
        used = ", ".join(sorted(unknown)) or f"{_MAPPING} = {mapping}"
        raise TableException(f"The Delta table {path} uses {used}, which is not supported")


def check_writable(table: DeltaTable, path: str) -> None:
    """Check that rows can be appended as they are.

    Raises:
        TableException: the table uses a feature that is not supported, or has rules for its rows.
    """
    check_readable(table, path)
    used = set(table.protocol().writer_features or ()) - _WRITER_FEATURES
    used |= {key for key in table.metadata().configuration if key.startswith(_CONSTRAINT)}
    for column in table.schema().fields:
        used |= {f"{key} of column {column.name}" for key in column.metadata if key.startswith(_RULES)}
    if used:
        raise TableException(f"The Delta table {path} uses {', '.join(sorted(used))}: rows cannot be written to it")
