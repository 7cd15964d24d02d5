"""Positions of the log from which a source starts without a snapshot."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from firesteel.connectors.mysql_cdc.binlog import GTID_EVENTS, open_stream, random_server_id
from firesteel.connectors.mysql_cdc.server import files_like, is_mariadb, log_end, log_files
from firesteel.connectors.mysql_cdc.settings import CdcSettings, MySqlCdcError

if TYPE_CHECKING:
    from pymysql.connections import Connection
    from pymysqlreplication import BinLogStreamReader

_FIRST_PLACE = 4


def start_position(connection: Connection, settings: CdcSettings) -> int:
    """Return the position of a mode other than `initial` and `snapshot`.

    Raises:
        MySqlCdcError: the server has no such position.
    """
    file, place = log_end(connection)
    end = files_like(file).position(file, place)
    if settings.startup == "latest-offset":
        return end
    if settings.startup == "earliest-offset":
        return files_like(file).position(next(iter(log_files(connection))), _FIRST_PLACE)
    if settings.startup == "timestamp":
        return _since(connection, settings, end)
    if settings.offset.gtid_set:
        return _after_gtids(connection, settings, end)
    return _at_offset(connection, settings)


def _at_offset(connection: Connection, settings: CdcSettings) -> int:
    """Return a file and a place as a position; the place must be one where a transaction begins."""
    offset, sizes = settings.offset, log_files(connection)
    if offset.file not in sizes or not _FIRST_PLACE <= offset.position <= sizes[offset.file]:
        raise MySqlCdcError(
            f"mysql-cdc: {settings.server} has no position {offset.position} in {offset.file}; it has "
            f"{', '.join(f'{name} up to {size}' for name, size in sizes.items())}"
        )
    return files_like(offset.file).position(offset.file, offset.position)


def _after_gtids(connection: Connection, settings: CdcSettings, end: int) -> int:
    """Return the position of the first transaction that a set of GTIDs lacks; the end if it lacks none."""
    stream = open_stream(
        settings, random_server_id(), auto_position=settings.offset.gtid_set, is_mariadb=is_mariadb(connection)
    )
    return _first_transaction(stream, 0, end)


def _since(connection: Connection, settings: CdcSettings, end: int) -> int:
    """Return the position of the first transaction at or after a time: in the last file that begins before it."""
    # Rounded up: events have whole seconds, and none before the time may be read.
    seconds, place = -(-settings.start_ms // 1000), _FIRST_PLACE
    files = [*log_files(connection)]
    # From the end, as a file is as large as 1 GB and its first event tells enough.
    for file in reversed(files):
        at = {"resume_stream": True, "log_file": file, "log_pos": place}
        with closing(open_stream(settings, random_server_id(), **at)) as stream:
            begins = next(event.timestamp for event in iter(stream.fetchone, None) if event.timestamp)
        if begins < seconds or file == files[0]:
            return _first_transaction(open_stream(settings, random_server_id(), **at), seconds, end)
    return end


def _first_transaction(stream: BinLogStreamReader, seconds: int, end: int) -> int:
    """Return where the first transaction at or after a time begins; the end if there is none before it."""
    with closing(stream):
        for event in iter(stream.fetchone, None):
            # A GTID event begins each transaction: a start amid one would lack the names of its tables.
            if event.event_type in GTID_EVENTS and event.timestamp >= seconds:
                return files_like(stream.log_file).position(stream.log_file, stream.log_pos - event.packet.event_size)
    return end
