"""Tables of PostgreSQL with their changes, as a DataStream. Flink CDC: `PostgresSourceBuilder`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self

from firesteel.connectors.cdc.capture_source import CaptureSource
from firesteel.connectors.cdc.record_reader import METADATA, RecordReader
from firesteel.connectors.cdc.source_builder import CaptureSourceBuilder, listed
from firesteel.connectors.postgres_cdc.settings import Address, CdcSettings
from firesteel.functions.connector_base import Committer
from firesteel.functions.source_reading import SourceEnumerator, SourceReader, SourceReaderContext


class PostgresIncrementalSource(CaptureSource[CdcSettings]):
    """Reads tables of PostgreSQL, then their changes. Flink CDC: the class of this name; made by `builder`.

    What the server needs, and what is refused, is said of the table connector `postgres-cdc`.

    Example:
        >>> from firesteel.datastream.connectors.cdc import JsonDebeziumDeserializationSchema, PostgresSourceBuilder
        >>> source = (
        ...     PostgresSourceBuilder.PostgresIncrementalSource.builder()
        ...     .hostname("localhost")
        ...     .database("shop")
        ...     .schema_list("public")
        ...     .table_list("public.orders", "public.item_.*")
        ...     .username("app")
        ...     .password("secret")
        ...     .slot_name("shop")
        ...     .decoding_plugin_name("pgoutput")
        ...     .deserializer(JsonDebeziumDeserializationSchema())
        ...     .build()
        ... )
        >>> changes = env.from_source(source, WatermarkStrategy.no_watermarks(), "changes")
    """

    @staticmethod
    def builder() -> PostgresIncrementalSourceBuilder:
        """Return a builder."""
        return PostgresIncrementalSourceBuilder()

    def is_bounded(self) -> bool:
        """Return False: changes may always come."""
        return False

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of chunks and of the log."""
        from firesteel.connectors.postgres_cdc.enumerator import CdcEnumerator

        return CdcEnumerator(self._settings)

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        from firesteel.connectors.postgres_cdc.record_reader import PostgresRecordReader

        return RecordReader(PostgresRecordReader(self._settings, self._decimals), self._deserializer)

    def create_position_committer(self, configuration: Mapping[str, str]) -> Committer:
        """Return the committer that advances the slot."""
        from firesteel.connectors.postgres_cdc.committer import SlotCommitter

        return SlotCommitter(self._settings)


class PostgresIncrementalSourceBuilder(CaptureSourceBuilder):
    """Builds a `PostgresIncrementalSource`. Flink CDC: `PostgresSourceBuilder`."""

    connector = "PostgresIncrementalSource"
    default_port = 5432
    modes = ("initial", "latest-offset", "committed-offset")

    def __init__(self) -> None:
        super().__init__()
        self._database = self._slot = ""
        self._schemas: Sequence[str] = ()
        self._kept_checkpoints = 3

    def database(self, database: str) -> Self:
        """Set the database."""
        self._database = database
        return self

    def schema_list(self, *schemas: str) -> Self:
        """Set the schemas: regular expressions, also separated by commas; by default all."""
        self._schemas = listed(schemas)
        return self

    def slot_name(self, slot: str) -> Self:
        """Set the replication slot, which is created if there is none."""
        self._slot = slot
        return self

    def decoding_plugin_name(self, plugin: str) -> Self:
        """Accept `pgoutput`.

        Raises:
            ValueError: it is another plugin.
        """
        return self._refused(plugin != "pgoutput", f"the plugin must be pgoutput, found {plugin!r}")

    def lsn_commit_checkpoints_delay(self, checkpoints: int) -> Self:
        """Set the number of checkpoints, besides the newest, that the slot keeps the log for."""
        self._kept_checkpoints = checkpoints
        return self

    def build(self) -> PostgresIncrementalSource:
        """Return the source.

        Raises:
            ValueError: something is missing or invalid.
        """
        deserializer = self._checked(database=self._database, slot_name=self._slot)
        address = Address(
            self._hostname, self._port, self._username, self._password, self._database, "", "", self._timeout_s,
            self._retries,
        )  # fmt: skip
        settings = CdcSettings(
            columns=(),
            metadata=METADATA,
            startup=self._startup.mode,
            is_parallel=True,
            chunk_rows=self._split_size,
            fetch_rows=self._fetch_size,
            address=address,
            slot=self._slot,
            tables=self._pattern(self._schemas),
            kept_checkpoints=self._kept_checkpoints,
        )
        return PostgresIncrementalSource(settings, self._decimals, deserializer)


class PostgresSourceBuilder:
    """Has `PostgresIncrementalSource`, as in Flink CDC."""

    PostgresIncrementalSource = PostgresIncrementalSource
