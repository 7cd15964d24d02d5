"""Settings of captured tables that do not depend on the server."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.connectors.table_connector import Column


@dataclass(frozen=True, kw_only=True)
class CaptureSettings:
    """What is read of captured tables, and how.

    Attributes:
        columns: The columns to read.
        metadata: Keys of the metadata columns after these.
        primary_key: Names of the columns of the declared key.
        startup: The mode of `scan.startup.mode`.
        is_parallel: Whether the snapshot is divided into chunks.
        chunk_rows: Number of rows of a chunk.
        chunk_column: The column by which chunks are divided; empty for the first one of the primary key.
        fetch_rows: Number of rows of a column batch of the snapshot.
        is_upsert: Whether updates are encoded without the old row.
        is_append_only: Whether all changes become insertions.
    """

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
