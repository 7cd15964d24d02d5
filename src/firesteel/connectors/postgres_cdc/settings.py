"""Settings of a captured table."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from firesteel.connectors.cdc.settings import CaptureSettings
from firesteel.connectors.table_connector import Column


@dataclass(frozen=True)
class Address:
    """A table of a PostgreSQL database.

    Attributes:
        timeout_s: Time limit in seconds for a connection.
        retries: Number of further attempts to connect.
    """

    hostname: str
    port: int
    username: str
    password: str = field(repr=False)
    database: str
    schema: str
    table: str
    timeout_s: int = 30
    retries: int = 3

    @property
    def table_name(self) -> str:
        """Schema and name of the table."""
        return f"{self.schema}.{self.table}"

    @property
    def names(self) -> dict[str, str]:
        """The names that are metadata."""
        return {"table_name": self.table, "schema_name": self.schema, "database_name": self.database}

    def __str__(self) -> str:
        table = f"table {self.table_name}" if self.table else "tables"
        return f"{table} of database {self.database} at {self.hostname}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class CdcSettings(CaptureSettings):
    """Settings of a `PostgresCdcSource`. `startup` is `initial`, `latest-offset` or `committed-offset`.

    Attributes:
        address: The table.
        slot: Name of the replication slot.
        tables: A regular expression (Python syntax) that the whole of `<schema>.<table>` must match, if there may be
            several tables: those of the address are then empty.
        kept_checkpoints: Number of completed checkpoints before the slot is advanced to one.
        publication: Name of the publication.
        creates_publication: `filtered`, `all_tables` or `disabled`.
    """

    address: Address
    slot: str
    tables: str = ""
    kept_checkpoints: int = 3
    publication: str = "dbz_publication"
    creates_publication: str = "filtered"

    def of_table(self, name: str, columns: tuple[Column, ...] | None = None) -> CdcSettings:
        """Return the settings of one table, `<schema>.<table>`, with other columns if they are given."""
        schema, _, table = name.partition(".")
        address = replace(self.address, schema=schema, table=table)
        return replace(self, address=address, tables="", columns=self.columns if columns is None else columns)
