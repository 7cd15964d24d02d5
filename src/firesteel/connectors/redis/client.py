"""The client of Redis, and what finds and writes rows with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.pylist import pylist
from firesteel.common.optional_package import optional_package
from firesteel.connectors.formats.text_values import reader_of, writer_of
from firesteel.connectors.redis.commands import RedisCommand
from firesteel.errors import FiresteelError
from firesteel.functions.connector_base import Sink, SinkWriter, WriterInitContext

if TYPE_CHECKING:
    import redis


class _Pipeline(Protocol):
    """A buffer of commands."""

    def execute_command(self, *arguments: str) -> object:
        """Buffer a command."""


_COMMANDS_AT_ONCE = 1_000
_REMOVING = (Kind.DELETE, Kind.UPDATE_BEFORE)


class RedisError(FiresteelError):
    """Redis rejected a command or did not respond."""


@dataclass(frozen=True)
class RedisAddress:
    """A server of Redis.

    Attributes:
        host: Name or address.
        port: Its port.
        database: Number of the database.
        password: None for none.
        timeout_s: Timeout of connecting and of each command, in seconds.
        max_retries: How often commands are repeated after a lost connection.
    """

    host: str
    port: int
    database: int
    password: str | None = field(repr=False)
    timeout_s: float
    max_retries: int

    def connect(self) -> redis.Redis:
        """Return a client, which connects with its first command.

        Raises:
            ModuleNotFoundError: the package redis is not installed.
        """
        with optional_package("Redis", "redis", "redis"):
            import redis
            from redis.backoff import ConstantBackoff
            from redis.retry import Retry
        return redis.Redis(
            self.host,
            self.port,
            self.database,
            self.password,
            socket_timeout=self.timeout_s,
            socket_connect_timeout=self.timeout_s,
            retry=Retry(ConstantBackoff(1), self.max_retries),
        )

    def __str__(self) -> str:
        return f"{self.host}:{self.port}/{self.database}"


class RedisFinder:
    """Finds the value of each key.

    Args:
        address: The server.
        command: The command whose columns are looked up.
        types: The types of all columns.
        places: Positions, within keys of lookups, of the columns that the command gets.
        others: Positions in rows of the other columns of keys, with their positions within keys.
    """

    def __init__(
        self,
        address: RedisAddress,
        command: RedisCommand,
        types: tuple[DataType, ...],
        places: tuple[int, ...],
        others: tuple[tuple[int, int], ...],
    ) -> None:
        self._address = address
        self._command = command
        self._types = types
        self._places = places
        self._others = others
        self._client: redis.Redis | None = None

    def __getstate__(self) -> dict[str, Cell]:
        """Return the state without the client."""
        return {**self.__dict__, "_client": None}

    def find(self, keys: Sequence[tuple[Cell, ...]]) -> list[list[tuple[Cell, ...]]]:
        """Return the row of each key, none if Redis has no value."""
        if self._client is None:
            self._client = self._address.connect()
        pipeline = self._client.pipeline(transaction=False)
        writers = [writer_of(kind) for kind in self._types]
        for key in keys:
            texts = [writers[index](key[place]) for index, place in enumerate(self._places)]
            _add(pipeline, self._command.find, texts)
        return [self._rows(key, value) for key, value in zip(keys, pipeline.execute(), strict=True)]

    def _rows(self, key: tuple[Cell, ...], value: bytes | None) -> list[tuple[Cell, ...]]:
        if value is None:
            return []
        found = (*(key[place] for place in self._places), reader_of(self._types[-1])(value.decode()))
        return [found] if all(found[index] == key[place] for index, place in self._others) else []

    def is_transient(self, error: Exception) -> bool:
        """Return False: the client itself repeats commands."""
        return False

    def close(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            client.close()


@dataclass(frozen=True)
class RedisRows:
    """What becomes of the rows of a table.

    Attributes:
        command: The command.
        add: The name of the command for rows that are added or updated.
        types: The types of the columns.
        ttl_s: Time in seconds after which keys expire; None for never.
    """

    command: RedisCommand
    add: str
    types: tuple[DataType, ...]
    ttl_s: int | None


class RedisSink(Sink[ColumnBatch]):
    """Writes rows as commands, at-least-once."""

    def __init__(self, address: RedisAddress, rows: RedisRows) -> None:
        super().__init__()
        self._address = address
        self._rows = rows

    def create_writer(self, context: WriterInitContext) -> RedisWriter:
        """Return the writer of a subtask."""
        return RedisWriter(self._address, self._rows)


class RedisWriter(SinkWriter[ColumnBatch]):
    """Buffers commands and sends them when there are many and at the end of each batch."""

    def __init__(self, address: RedisAddress, rows: RedisRows) -> None:
        self._address = address
        self._rows = rows
        self._client = address.connect()
        # Without MULTI: a server runs a transaction of many commands at once, and answers nobody else meanwhile.
        self._pipeline = self._client.pipeline(transaction=False)
        self._writers = [writer_of(kind) for kind in rows.types]

    def write(self, element: ColumnBatch, timestamp: int | None) -> None:
        """Write the rows of a batch.

        Raises:
            RedisError: Redis rejected a command or did not respond.
            ValueError: a column of the key, or the value of a row that is added, is NULL.
        """
        columns = [pylist(array) for array in element.columns]
        for kind, row in zip(element.kinds_or_inserts().tolist(), zip(*columns, strict=True), strict=True):
            self._add(kind in _REMOVING, row)
            if len(self._pipeline) >= _COMMANDS_AT_ONCE:
                self._send()

    def _add(self, is_removed: bool, row: tuple[Cell, ...]) -> None:
        command = self._rows.command
        values = row[: command.kept] if is_removed else row
        if None in values:
            raise ValueError(f"Redis has no NULL, found {row!r} for {', '.join(command.arguments)}")
        texts = [write(value) for write, value in zip(self._writers, values, strict=False)]
        _add(self._pipeline, command.remove if is_removed else self._rows.add, texts)
        if self._rows.ttl_s is not None and not is_removed:
            self._pipeline.expire(texts[0], self._rows.ttl_s)

    def flush(self, end_of_input: bool) -> None:
        """Send the buffered commands, as a checkpoint may follow."""
        self._send()

    def _send(self) -> None:
        if not len(self._pipeline):
            return
        try:
            self._pipeline.execute()
        except Exception as error:
            raise RedisError(f"Redis at {self._address}: {type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Close the connections; unsent commands are written again after a restart."""
        self._client.close()


def _add(pipeline: _Pipeline, command: str, arguments: Sequence[str]) -> None:
    pipeline.execute_command(command, *arguments)
