"""Tables of MySQL and MariaDB with their changes, as a DataStream. Flink CDC: `MySqlSource`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self
from zoneinfo import ZoneInfo

from firesteel.common.system_time_zone import system_time_zone
from firesteel.common.time import Duration
from firesteel.connectors.cdc.capture_source import CaptureSource
from firesteel.connectors.cdc.record_reader import METADATA, RecordReader
from firesteel.connectors.cdc.source_builder import CaptureSourceBuilder, listed
from firesteel.connectors.mysql_cdc.settings import CdcSettings, Server, StartOffset, server_ids
from firesteel.functions.source_reading import SourceEnumerator, SourceReader, SourceReaderContext


class MySqlSource(CaptureSource[CdcSettings]):
    """Reads tables of MySQL or MariaDB, then their changes. Flink CDC: `MySqlSource`; made by `builder`.

    What the server needs, and what is refused, is said of the table connector `mysql-cdc`.

    Example:
        >>> from firesteel.datastream.connectors.cdc import JsonDebeziumDeserializationSchema
        >>> source = (
        ...     MySqlSource.builder()
        ...     .hostname("localhost")
        ...     .database_list("shop")
        ...     .table_list("shop.orders", "shop.item_.*")
        ...     .username("app")
        ...     .password("secret")
        ...     .deserializer(JsonDebeziumDeserializationSchema())
        ...     .build()
        ... )
        >>> changes = env.from_source(source, WatermarkStrategy.no_watermarks(), "changes")
    """

    @staticmethod
    def builder() -> MySqlSourceBuilder:
        """Return a builder."""
        return MySqlSourceBuilder()

    def is_bounded(self) -> bool:
        """Return whether only the snapshot is read."""
        return self._settings.is_bounded

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of chunks and of the log."""
        from firesteel.connectors.mysql_cdc.enumerator import MySqlCdcEnumerator

        return MySqlCdcEnumerator(self._settings)

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        from firesteel.connectors.mysql_cdc.record_reader import MySqlRecordReader

        reader = MySqlRecordReader(self._settings, context.subtask_index, self._decimals)
        return RecordReader(reader, self._deserializer)


class MySqlSourceBuilder(CaptureSourceBuilder):
    """Builds a `MySqlSource`. Flink CDC: `MySqlSourceBuilder`."""

    connector = "MySqlSource"
    default_port = 3306
    modes = ("initial", "earliest-offset", "latest-offset", "specific-offset", "timestamp", "snapshot")

    def __init__(self) -> None:
        super().__init__()
        self._databases: Sequence[str] = ()
        self._server_id = ""
        self._time_zone = ""
        self._heartbeat_s = 30.0
        self._properties: Mapping[str, str] = {}

    def database_list(self, *databases: str) -> Self:
        """Set the databases: regular expressions, also separated by commas."""
        self._databases = listed(databases)
        return self

    def server_id(self, server_id: str) -> Self:
        """Set the id of a reader, or a range such as `5400-5408`."""
        self._server_id = server_id
        return self

    def server_time_zone(self, time_zone: str) -> Self:
        """Do nothing: TIMESTAMP is always written in UTC."""
        self._time_zone = time_zone
        return self

    def heartbeat_interval(self, interval: Duration) -> Self:
        """Set the interval at which the server says that it is alive."""
        self._heartbeat_s = interval.to_millis() / 1000
        return self

    def jdbc_properties(self, properties: Mapping[str, str]) -> Self:
        """Set properties of JDBC, which are translated."""
        self._properties = properties
        return self

    def build(self) -> MySqlSource:
        """Return the source.

        Raises:
            ValueError: something is missing or invalid.
        """
        deserializer = self._checked(database_list=self._databases)
        at = (self._hostname, self._port, self._username, self._password, self._timeout_s, self._retries)
        start = self._startup
        settings = CdcSettings(
            columns=(),
            metadata=METADATA,
            startup=start.mode,
            is_parallel=True,
            chunk_rows=self._split_size,
            fetch_rows=self._fetch_size,
            server=Server(*at, tuple(sorted(self._properties.items()))),
            tables=self._pattern(self._databases),
            server_ids=server_ids(self._server_id),
            offset=StartOffset(start.file, start.position, start.gtid_set),
            start_ms=start.timestamp_ms,
            time_zone=ZoneInfo(self._time_zone or system_time_zone()),
            heartbeat_s=self._heartbeat_s,
        )
        return MySqlSource(settings, self._decimals, deserializer)
