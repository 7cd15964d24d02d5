"""Settings of a captured table."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.connectors.cdc.settings import CaptureSettings


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
        return f"table {self.schema}.{self.table} of database {self.database} at {self.hostname}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class CdcSettings(CaptureSettings):
    """Settings of a `PostgresCdcSource`. `startup` is `initial`, `latest-offset` or `committed-offset`.

    Attributes:
        address: The table.
        slot: Name of the replication slot.
        kept_checkpoints: Number of completed checkpoints before the slot is advanced to one.
        publication: Name of the publication.
        creates_publication: `filtered`, `all_tables` or `disabled`.
    """

    address: Address
    slot: str
    kept_checkpoints: int = 3
    publication: str = "dbz_publication"
    creates_publication: str = "filtered"
