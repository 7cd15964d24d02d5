"""Options that the connectors which capture tables have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from firesteel.connectors.table_connector import Column, ScanRequest
from firesteel.connectors.table_options import Options

INCREMENTAL = "scan.incremental.snapshot."
_APPEND_ONLY = "scan.read-changelog-as-append-only.enabled"
_EVEN = "keys divide the table by counting, whether they are even or not"

READING_OPTIONS = (
    "connect.timeout",
    "connect.max-retries",
    "scan.startup.mode",
    f"{INCREMENTAL}enabled",
    f"{INCREMENTAL}chunk.size",
    f"{INCREMENTAL}chunk.key-column",
    "scan.snapshot.fetch.size",
    _APPEND_ONLY,
)

UNUSED: Mapping[str, str] = {
    "connection.pool.size": "a subtask has one connection at a time",
    "chunk-meta.group.size": "chunks are part of checkpoints and are not sent in messages",
    f"{INCREMENTAL}unbounded-chunk-first.enabled": "all chunks have the same number of rows",
    "scan.incremental.close-idle-reader.enabled": "an idle subtask has at most a connection at rest",
    "chunk-key.even-distribution.factor.upper-bound": _EVEN,
    "chunk-key.even-distribution.factor.lower-bound": _EVEN,
}


class Reading(TypedDict):
    """Attributes of `CaptureSettings` that come from options of all these connectors."""

    columns: tuple[Column, ...]
    metadata: tuple[str, ...]
    is_parallel: bool
    chunk_rows: int
    chunk_column: str
    fetch_rows: int
    is_append_only: bool


def is_append_only(options: Options) -> bool:
    """Return whether all changes become insertions."""
    return options.flag(_APPEND_ONLY)


def reading_options(options: Options, request: ScanRequest, is_parallel: bool) -> Reading:
    """Return what the options say, besides the server and its log.

    Args:
        options: The options.
        request: What is read of the table.
        is_parallel: The default of `scan.incremental.snapshot.enabled`.

    Raises:
        ValidationException: a value is invalid.
    """
    return Reading(
        columns=request.columns,
        metadata=tuple(key for key, _ in request.metadata),
        is_parallel=options.flag(f"{INCREMENTAL}enabled", is_parallel),
        chunk_rows=options.positive(f"{INCREMENTAL}chunk.size", 8096),
        chunk_column=options.text(f"{INCREMENTAL}chunk.key-column"),
        fetch_rows=options.positive("scan.snapshot.fetch.size", 1024),
        is_append_only=is_append_only(options),
    )


def connecting(options: Options) -> tuple[int, int]:
    """Return the time limit of a connection in seconds, and the number of further attempts.

    Raises:
        ValidationException: a value is invalid.
    """
    timeout_ms, retries = options.duration_ms("connect.timeout", 30_000), options.number("connect.max-retries", 3)
    if not timeout_ms:
        raise options.invalid("connect.timeout", "a duration above zero")
    if retries < 0:
        raise options.invalid("connect.max-retries", "an integer of zero or more")
    return -(-timeout_ms // 1000), retries
