"""Reads the log of the server, with the library `mysql-replication`.

The library decodes events. Here is what it leaves open: where transactions begin, when a range of the log ends, and
what of the log cannot be read as rows, which is refused.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firesteel.connectors.cdc.errors import ANEW, schema_change
from firesteel.connectors.cdc.splits import KnownTable
from firesteel.connectors.mysql_cdc.columns_of_log import signature
from firesteel.connectors.mysql_cdc.layout import Layouts
from firesteel.connectors.mysql_cdc.server import LogFiles, connection_arguments, pymysql_library
from firesteel.connectors.mysql_cdc.settings import CdcSettings, MySqlCdcError
from firesteel.connectors.mysql_cdc.shapes import GENERATED

if TYPE_CHECKING:
    from pymysqlreplication import BinLogStreamReader
    from pymysqlreplication.event import BinLogEvent
    from pymysqlreplication.row_event import RowsEvent

Image = Mapping[str, object]
"""The values of a row by column."""

_QUERY, _XID, _XA_PREPARE = 0x02, 0x10, 0x26
_FILE_BEGINS = frozenset({0x04, 0x0F})
_SET = 248
_MIN_WAIT_S = 60.0
GTID_EVENTS = frozenset({0x21, 0x22, 0xA2})
_INSERTS, _UPDATES, _DELETES = frozenset({0x17, 0x1E}), frozenset({0x18, 0x1F}), frozenset({0x19, 0x20})
_REFUSED = {
    0x1A: "an incident: the server has lost changes",
    0x27: "a part of a JSON value (binlog_row_value_options)",
    0x28: "a compressed transaction (binlog_transaction_compression)",
    **dict.fromkeys(range(0xA5, 0xAC), "compressed events (log_bin_compress)"),
}
_STATEMENT = re.compile(
    r"\s*(?:/\*.*?\*/\s*|SET\s+STATEMENT\s.*?\sFOR\s+)*"
    r"(TRUNCATE|DROP\s+TABLE|CREATE\s+OR\s+REPLACE\s+TABLE|RENAME|ALTER|INSERT|UPDATE|DELETE|REPLACE|LOAD|WITH)\b(.*)",
    re.I | re.S,
)
_CHANGES_ROWS = re.compile(
    r"(DROP|TRUNCATE|EXCHANGE|CONVERT)\s+PARTITION|(DISCARD|IMPORT)\s+TABLESPACE"
    r"|RENAME(?!\s+(COLUMN|INDEX|KEY)\b)",
    re.I,
)
"""What of ALTER TABLE takes rows away or brings them, or gives a table another name."""


@dataclass(frozen=True, slots=True)
class LoggedRows:
    """Changes of rows of one table by one statement.

    Attributes:
        table: `<database>.<table>`.
        event: The event, for the columns.
        rows: The rows before and after each change; None where there is none.
        transaction: Position of the transaction.
        time_ms: Time of the change.
    """

    table: str
    event: RowsEvent
    rows: Sequence[tuple[Image | None, Image | None]]
    transaction: int
    time_ms: int


def random_server_id() -> int:
    """Return an id to join the cluster with."""
    return 5400 + secrets.randbelow(2**31)


def open_stream(settings: CdcSettings, server_id: int, **more: object) -> BinLogStreamReader:
    """Return a stream of events.

    Args:
        settings: The settings of the source.
        server_id: The id to join the cluster with.
        more: Arguments of `BinLogStreamReader`.
    """
    pymysql_library()
    from pymysqlreplication import BinLogStreamReader

    logging.getLogger("pymysqlreplication").setLevel(logging.ERROR)  # It asks for names of columns in the log.
    # What is read is there already, and later the server says that it is alive.
    wait = {"read_timeout": max(_MIN_WAIT_S, 3 * settings.heartbeat_s)} if settings.heartbeat_s else {}
    return BinLogStreamReader(
        connection_settings=connection_arguments(settings.server) | wait,
        server_id=server_id,
        filter_non_implemented_events=False,
        enable_logging=False,
        pymysql_wrapper=_Connector(settings),
        **more,
    )


def _plain(row: Mapping[str, Image], prefix: str) -> Image:
    return row[f"{prefix}values"]


def _with_empty_sets(row: Mapping[str, Image], prefix: str) -> Image:
    """Return the values of a row; for the library an empty set is None, as NULL is, and it says so beside it."""
    reasons = row[f"{prefix}none_sources"]
    return {**row[f"{prefix}values"], **{name: set() for name, reason in reasons.items() if reason == "empty set"}}


class _Connector:
    """Connects once for events and once for questions: the library would connect again and again."""

    def __init__(self, settings: CdcSettings) -> None:
        self._settings = settings
        self._left = 2

    def __call__(self, **arguments: object) -> object:
        if not self._left:
            raise MySqlCdcError(f"mysql-cdc: the connection to {self._settings.server} was lost")
        self._left -= 1
        given = {"database" if name == "db" else name: value for name, value in arguments.items()}  # its old name
        return pymysql_library().connect(**given)


class Binlog:
    """The changes of some tables from a position on.

    Args:
        settings: The settings of the source.
        files: The names of the files of the log.
        tables: The tables.
        position: Where to start: where a transaction begins.
        server_id: The id to join the cluster with.

    Attributes:
        position: The position up to which the log was read.
        layouts: The columns of tables of which the log has no names.
    """

    def __init__(
        self,
        settings: CdcSettings,
        files: LogFiles,
        tables: Mapping[str, KnownTable],
        position: int,
        server_id: int,
    ) -> None:
        self._settings = settings
        self._files = files
        self._tables = tables
        self._position = self._transaction = self.position = position
        self._is_inside = self._has_rows = self._has_sets = False
        self._checked: object = None
        self.layouts = Layouts(settings, {name: table.layout for name, table in tables.items()})
        file, place = files.file(position)
        names = [name.partition(".") for name in tables]
        from firesteel.connectors.mysql_cdc.row_packet import RowPacket  # it needs the library

        self._packet = RowPacket
        self._stream = open_stream(
            settings,
            server_id,
            blocking=True,
            resume_stream=True,
            log_file=file,
            log_pos=place,
            freeze_schema=True,  # a table has another number when its columns have changed
            slave_heartbeat=settings.heartbeat_s or None,
            only_schemas=sorted({database for database, _, _ in names}),
            only_tables=sorted({name for _, _, name in names}),
        )

    def read(self, end: int) -> Iterator[LoggedRows]:
        """Yield the changes up to a position, where a transaction ends.

        Raises:
            MySqlCdcError: a change is refused, or the log is lost.
        """
        self.position = -1  # until all of it was read
        while self._position < end:
            event = self._stream.fetchone()
            before, self._position = self._position, self._files.position(self._stream.log_file, self._stream.log_pos)
            kind = event.event_type
            if kind in _REFUSED:
                raise self._refused(f"the log has {_REFUSED[kind]}, which cannot be read")
            if kind in _INSERTS or kind in _UPDATES or kind in _DELETES:
                table = f"{event.schema}.{event.table}"
                if table in self._tables:
                    self._has_rows = True
                    yield LoggedRows(table, event, self._rows(table, event), self._transaction, 1000 * event.timestamp)
            else:
                self._note(event, before)
        self.position = end

    def _note(self, event: BinLogEvent, before: int) -> None:
        """Note where transactions begin and end."""
        kind = event.event_type
        text = event.query if kind == _QUERY else ""
        if kind in _FILE_BEGINS:
            # The library keeps numbers of tables over a crash, after which others have them, if it skips those.
            self._stream.table_map.clear()
        if (kind in GTID_EVENTS or text == "BEGIN") and not self._is_inside:
            self._transaction, self._is_inside, self._has_rows = before, True, False
        elif kind == _XA_PREPARE and self._has_rows and not event.one_phase:
            raise self._refused("the log has a prepared transaction (XA PREPARE), which may be rolled back")
        elif kind in (_XID, _XA_PREPARE) or (kind == _QUERY and text != "BEGIN"):
            self._is_inside = False
            if text not in ("", "COMMIT", "ROLLBACK"):
                self._check_statement(event.schema, text)

    def _check_statement(self, schema: bytes, text: str) -> None:
        """Refuse statements that change rows, or which rows there are, and that the log has as text alone."""
        found = _STATEMENT.match(text)
        if found is None:
            return
        verb, rest = found[1].upper(), found[2]
        for table in self._tables:
            database, _, name = table.partition(".")
            qualified = rf"[`\"]?{re.escape(database)}[`\"]?\s*\.\s*[`\"]?{re.escape(name)}(?![\w$])"
            plain = rf"(?<![\w$.`\"])[`\"]?{re.escape(name)}(?![\w$])"
            pattern = f"{qualified}|{plain}" if schema.decode() == database else qualified
            if re.search(pattern, rest):
                if verb == "ALTER" and not _CHANGES_ROWS.search(rest):
                    self.layouts.alter(table)
                    continue
                if verb.startswith(("TRUNCATE", "DROP", "CREATE", "RENAME", "ALTER")):
                    what = f"{table} was changed by {verb}, and the log does not say which rows it had"
                else:
                    what = f"{table} was changed by {verb} in a session whose binlog_format is not ROW"
                raise self._refused(f"{what}: {ANEW}")

    def _rows(self, table: str, event: RowsEvent) -> Sequence[tuple[Image | None, Image | None]]:
        if event.columns is not self._checked:
            self._check_columns(table, event)
            self._checked = event.columns
            self._has_sets = any(column.type == _SET for column in event.columns)
        maps = (event.columns_present_bitmap, getattr(event, "columns_present_bitmap2", None))
        if any(bits is not None and sum(map(int.bit_count, bits)) < len(event.columns) for bits in maps):
            raise self._refused(f"the log of {table} lacks columns: a session has another binlog_row_image than FULL")
        event.packet = self._packet(event.packet)
        kind, rows = event.event_type, event.rows
        image = _with_empty_sets if self._has_sets else _plain
        if kind in _INSERTS:
            return [(None, image(row, "")) for row in rows]
        if kind in _DELETES:
            return [(image(row, ""), None) for row in rows]
        return [(image(row, "before_"), image(row, "after_")) for row in rows]

    def _check_columns(self, table: str, event: RowsEvent) -> None:
        """Check that a table has the columns that it had."""
        known = self._tables[table].columns
        if any(column.name is None for column in event.columns):
            self.layouts.name(table, event.columns)
        found = {column.name: signature(column) for column in event.columns}
        for name in [*known, *found]:
            before, now = known.get(name), found.get(name)
            if before in (GENERATED, now) or (before == "" and now is not None):
                continue
            raise self._refused(schema_change(f"{name!r} of {table}", before, now))

    def _refused(self, what: str) -> MySqlCdcError:
        return MySqlCdcError(f"mysql-cdc: {what}")

    def close(self) -> None:
        """Close the connections."""
        with suppress(Exception):
            self._stream.close()
