"""Settings of captured tables of MySQL and MariaDB."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from firesteel.connectors.cdc.errors import CdcError
from firesteel.connectors.cdc.settings import CaptureSettings

_UTC = ZoneInfo("UTC")


class MySqlCdcError(CdcError):
    """Changes of a table of MySQL or MariaDB could not be read."""


@dataclass(frozen=True)
class Server:
    """A server of MySQL or MariaDB.

    Attributes:
        timeout_s: Time limit in seconds for a connection.
        retries: Number of further attempts to connect.
        properties: Properties of JDBC, which are translated.
    """

    hostname: str
    port: int
    username: str
    password: str = field(repr=False)
    timeout_s: int = 30
    retries: int = 3
    properties: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return f"{self.hostname}:{self.port}"


@dataclass(frozen=True)
class StartOffset:
    """Where the log is read from in the mode `specific-offset`: a file and a position in it, or a set of GTIDs."""

    file: str = ""
    position: int = 4
    gtid_set: str = ""


@dataclass(frozen=True, kw_only=True)
class CdcSettings(CaptureSettings):
    """Settings of a `MySqlCdcSource`.

    Attributes:
        server: The server.
        tables: A regular expression (Python syntax) that the whole of `<database>.<table>` must match.
        server_ids: The first and the last id with which readers join the cluster; None for random ones.
        offset: Of the mode `specific-offset`.
        start_ms: Of the mode `timestamp`: the time in ms of the first change.
        time_zone: The zone of values of TIMESTAMP where no zone is declared.
        heartbeat_s: Interval in seconds at which the server says that it is alive.
    """

    server: Server
    tables: str
    server_ids: tuple[int, int] | None = None
    offset: StartOffset = StartOffset()
    start_ms: int = 0
    time_zone: ZoneInfo = _UTC
    heartbeat_s: float = 30.0

    @property
    def is_bounded(self) -> bool:
        """Whether only the snapshot is read."""
        return self.startup == "snapshot"

    @property
    def begins_now(self) -> bool:
        """Whether the log is read from where it ends when the source begins, and not from an earlier position."""
        return self.startup in ("initial", "snapshot", "latest-offset")


def server_ids(text: str) -> tuple[int, int] | None:
    """Return a number, or the ends of a range such as `5400-5408`; None for an empty text.

    Raises:
        ValueError: it is neither.
    """
    if not text:
        return None
    found = re.fullmatch(r"(\d+)(?:\s*-\s*(\d+))?", text.strip())
    first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not 0 < first <= last < 2**32:
        raise ValueError(f"a server id is a number such as '5400', or a range such as '5400-5408', found {text!r}")
    return first, last


def names_of(table: str) -> Mapping[str, str]:
    """Return the names of `<database>.<table>` that are metadata.

    Example:
        >>> names_of("shop.orders")
        {'database_name': 'shop', 'table_name': 'orders'}
    """
    database, _, name = table.partition(".")
    return {"database_name": database, "table_name": name}
