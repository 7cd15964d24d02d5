"""Settings of a captured table."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.connectors.table_connector import Column

UNITS_PER_ROW = 128
"""Positions of a row: the log is counted in bytes, and chunks as if their rows had this size."""


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

    def __str__(self) -> str:
        return f"table {self.schema}.{self.table} of database {self.database} at {self.hostname}:{self.port}"


@dataclass(frozen=True)
class CdcSettings:
    """Settings of a `PostgresCdcSource`.

    Attributes:
        columns: The columns to read.
        metadata: Keys of the metadata columns after these, see `METADATA`.
        primary_key: Names of the columns of the declared key.
        startup: `initial`, `latest-offset` or `committed-offset`.
        is_parallel: Whether the snapshot is divided into chunks.
        chunk_rows: Number of rows of a chunk.
        chunk_column: The column by which chunks are divided; empty for the first one of the primary key.
        fetch_rows: Number of rows of a column batch of the snapshot.
        is_upsert: Whether updates are encoded without the old row.
        is_append_only: Whether all changes become insertions.
        kept_checkpoints: Number of completed checkpoints before the slot is advanced to one.
        publication: Name of the publication.
        creates_publication: `filtered`, `all_tables` or `disabled`.
    """

    address: Address
    slot: str
    columns: tuple[Column, ...]
    metadata: tuple[str, ...] = ()
    primary_key: tuple[str, ...] = ()
    startup: str = "initial"
    is_parallel: bool = False
    chunk_rows: int = 8096
    chunk_column: str = ""
    fetch_rows: int = 1024
    is_upsert: bool = False
    is_append_only: bool = False
    kept_checkpoints: int = 3
    publication: str = "dbz_publication"
    creates_publication: str = "filtered"
