"""What the builders of DataStream sources have in common."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Self

from firesteel.common.time import Duration
from firesteel.connectors.cdc.debezium import DebeziumDeserializationSchema
from firesteel.connectors.cdc.record_values import DECIMALS
from firesteel.connectors.cdc.startup_options import StartupOptions

_DECIMALS = "decimal.handling.mode"


def listed(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the names in texts, each of which has one or several separated by commas."""
    return tuple(one.strip() for each in texts for one in each.split(",") if one.strip())


class CaptureSourceBuilder:
    """Sets what a source needs; a subclass builds it. Methods are those of Flink CDC in Python's style."""

    connector = ""
    default_port = 0
    modes: Sequence[str] = ()

    def __init__(self) -> None:
        self._hostname = self._username = self._password = ""
        self._port = self.default_port
        self._tables: tuple[str, ...] = ()
        self._deserializer: DebeziumDeserializationSchema[object] | None = None
        self._startup = StartupOptions.initial()
        self._split_size, self._fetch_size = 8096, 1024
        self._timeout_s, self._retries = 30, 3
        self._decimals = "precise"

    def hostname(self, hostname: str) -> Self:
        """Set the host of the server."""
        self._hostname = hostname
        return self

    def port(self, port: int) -> Self:
        """Set the port of the server."""
        self._port = port
        return self

    def username(self, username: str) -> Self:
        """Set the name of the user."""
        self._username = username
        return self

    def password(self, password: str) -> Self:
        """Set the password of the user."""
        self._password = password
        return self

    def table_list(self, *tables: str) -> Self:
        """Set the tables: regular expressions for `<database or schema>.<table>`, also separated by commas."""
        self._tables = listed(tables)
        return self

    def deserializer(self, deserializer: DebeziumDeserializationSchema[object]) -> Self:
        """Set what makes elements of changes."""
        self._deserializer = deserializer
        return self

    def startup_options(self, options: StartupOptions) -> Self:
        """Set where the source starts."""
        self._startup = options
        return self

    def split_size(self, rows: int) -> Self:
        """Set the number of rows of a chunk."""
        self._split_size = rows
        return self

    def fetch_size(self, rows: int) -> Self:
        """Set the number of rows that are handed on at a time."""
        self._fetch_size = rows
        return self

    def connect_timeout(self, timeout: Duration) -> Self:
        """Set the time limit of a connection."""
        self._timeout_s = max(1, -(-timeout.to_millis() // 1000))
        return self

    def connect_max_retries(self, retries: int) -> Self:
        """Set the number of further attempts to connect."""
        self._retries = retries
        return self

    def connection_pool_size(self, size: int) -> Self:
        """Do nothing: a subtask has one connection at a time."""
        return self

    def close_idle_readers(self, enabled: bool) -> Self:
        """Do nothing: an idle subtask has at most a connection at rest."""
        return self

    def debezium_properties(self, properties: Mapping[str, str]) -> Self:
        """Set properties of Debezium.

        Raises:
            ValueError: a property is not `decimal.handling.mode`, or its value is unknown.
        """
        for key, value in properties.items():
            if key != _DECIMALS or value not in DECIMALS:
                raise ValueError(
                    f"{self.connector}: Debezium is not used; its property '{_DECIMALS}' may be "
                    f"{', '.join(DECIMALS)}, found {key} = {value}"
                )
            self._decimals = value
        return self

    def include_schema_changes(self, enabled: bool) -> Self:
        """Accept False.

        Raises:
            ValueError: schema changes are wanted; they are refused.
        """
        return self._refused(enabled, "schema changes are refused")

    def scan_newly_added_table_enabled(self, enabled: bool) -> Self:
        """Accept False.

        Raises:
            ValueError: tables that are added later are wanted; they are not captured.
        """
        return self._refused(enabled, "tables that are added later are not captured")

    def _refused(self, enabled: bool, reason: str) -> Self:
        if enabled:
            raise ValueError(f"{self.connector}: {reason}")
        return self

    def _checked(self, **needed: object) -> DebeziumDeserializationSchema[object]:
        """Return the deserializer, after all that is needed was set."""
        given = {"hostname": self._hostname, "username": self._username, "table_list": self._tables, **needed}
        missing = [name for name, value in {**given, "deserializer": self._deserializer}.items() if not value]
        if missing or self._deserializer is None:
            raise ValueError(f"{self.connector}: set {', '.join(missing)}")
        if self._startup.mode not in self.modes:
            raise ValueError(f"{self.connector}: starts at {', '.join(self.modes)}, found {self._startup.mode}")
        return self._deserializer

    def _pattern(self, databases: Sequence[str] = ()) -> str:
        """Return a regular expression for whole names of tables."""
        tables = "|".join(f"(?:{table})" for table in self._tables)
        names = "|".join(f"(?:{database})" for database in databases)
        pattern = rf"(?=(?:{names})\.)(?:{tables})" if names else tables
        re.compile(pattern)
        return pattern
