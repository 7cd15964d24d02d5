"""The connector `redis`, which Flink has not, with the options of the public flink-connector-redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from firesteel.columns.batch import Kind
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.key_lookup import KeyLookup, Retries
from firesteel.connectors.lookup_cache import OPTIONS as LOOKUP_OPTIONS
from firesteel.connectors.lookup_cache import lookup_cache
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.redis.client import RedisAddress, RedisFinder, RedisRows, RedisSink
from firesteel.connectors.redis.commands import COMMANDS, REFUSED, RedisCommand
from firesteel.connectors.scalar_columns import check_scalars
from firesteel.connectors.table_connector import (
    INSERT_ONLY,
    UPSERT,
    ResolvedTable,
    ScanRequest,
    SinkRequest,
)
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink

_NO_CLUSTER = "only single servers are supported"
_NO_SCAN = "tables of Redis can be written and looked up, but not read as a whole"
OPTIONS = {
    "redis": OptionTable(
        required=("host", "command"),
        optional=("port", "password", "database", "timeout", "redis-mode", "value.data.structure", "set.if.absent",
                  "ttl", "sink.max-retries", *LOOKUP_OPTIONS),
        unused=dict.fromkeys(("io.pool.size", "event.pool.size"), "the client has no pools of threads"),
        refused={
            **dict.fromkeys(("cluster-nodes", "master.name", "sentinels.info", "sentinels.password"), _NO_CLUSTER),
            **dict.fromkeys(("scan.key", "scan.addition.key", "scan.range.start", "scan.range.stop", "scan.count"),
                            _NO_SCAN),
            **dict.fromkeys(("ttl.on.time", "ttl.key.not.absent"), "a key expires ttl seconds after it was written"),
            **dict.fromkeys(("sink.limit", "sink.limit.max-num", "sink.limit.interval", "sink.limit.max-online"),
                            "writers have no limits"),
            "lookup.cache.load-all": "the cache has the keys that were looked up",
            "zset.zremrangeby": "there are no sorted sets",
        },
    )
}  # fmt: skip


def source(table: ResolvedTable, context: ConnectorContext) -> RedisTable:
    """Return the table whose rows are looked up by key."""
    return RedisTable(table)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> RedisTable:
    """Return the sink that writes rows as commands."""
    return RedisTable(table)


class RedisTable:
    """Keys, hashes, lists or sets of a server, by the command of the table; a sink and a lookup table."""

    kinds: frozenset[Kind] = INSERT_ONLY
    is_bounded = True

    def __init__(self, table: ResolvedTable) -> None:
        self._table = table
        self._options = OPTIONS["redis"].read(table.options, "redis")
        self._options.choice("redis-mode", ("single",), "single")
        self._options.choice("value.data.structure", ("column",), "column")
        self._command = _command(self._options)
        self._types = tuple(column.type for column in table.physical_columns)
        self._names = [column.name for column in table.physical_columns]
        self._check_columns()
        self._add = self._command_of_rows()
        self._ttl_s = self._options.positive("ttl", 1) if "ttl" in self._options.values else None

    def _command_of_rows(self) -> str:
        if not self._options.flag("set.if.absent"):
            return self._command.add
        if not self._command.add_if_absent:
            raise self._options.invalid("set.if.absent", "false, unless the command is set or hset")
        return self._command.add_if_absent

    def _check_columns(self) -> None:
        command, name = self._command, self._options.text("command")
        if len(self._names) != len(command.arguments):
            raise ValidationException(
                f"The command '{name}' needs the columns {', '.join(command.arguments)}; the table has "
                f"{', '.join(self._names)}"
            )
        check_scalars(self._table.physical_columns, "connector 'redis'", has_arrays=False)
        key = self._table.primary_key
        if key and set(key) != set(self._names[: command.kept]):
            wanted = ", ".join(self._names[: command.kept])
            raise ValidationException(
                f"The primary key of a table with the command '{name}' must be ({wanted}), found ({', '.join(key)})"
                if wanted
                else f"A table with the command '{name}' cannot have a primary key: nothing of it can be replaced"
            )

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> NoReturn:
        """Raise a ValidationException: a server is not read as a whole."""
        raise ValidationException(f"Connector 'redis': {_NO_SCAN}. Use it in a join FOR SYSTEM_TIME AS OF")

    def lookup(self, keys: list[str]) -> KeyLookup:
        """Return the lookup of the value of a key, or of a field of a hash.

        Raises:
            ValidationException: the command finds nothing, the keys lack a column, or an option is invalid.
        """
        command = self._command
        if not command.find:
            raise ValidationException(f"The command '{self._options.text('command')}' cannot be used in lookups")
        wanted = self._names[: command.kept]
        if missing := [name for name in wanted if name not in keys]:
            raise ValidationException(f"A lookup in Redis needs a condition = on {', '.join(missing)}")
        # The public connector counts seconds in a plain number, and Flink's durations milliseconds.
        if self._options.values.get("lookup.cache.ttl", "").strip().isdigit():
            raise self._options.invalid("lookup.cache.ttl", "a duration with a unit, such as '10 s'")
        others = tuple((self._names.index(key), i) for i, key in enumerate(keys) if key not in wanted)
        finder = RedisFinder(
            self._address("lookup.max-retries"), command, self._types, tuple(map(keys.index, wanted)), others
        )
        return KeyLookup(finder, self._types, lookup_cache(self._options), Retries(0, float), "Redis")

    def _address(self, retries: str) -> RedisAddress:
        options = self._options
        return RedisAddress(
            options.text("host"),
            options.positive("port", 6379),
            options.number("database", 0),
            options.values.get("password"),
            options.positive("timeout", 2000) / 1000,
            options.number(retries, 1),
        )

    # --- writing -----------------------------------------------------------------------------------------------------

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return the upsert kinds if there is a key."""
        return UPSERT if self._table.primary_key else INSERT_ONLY

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches."""
        rows = RedisRows(self._command, self._add, self._types, self._ttl_s)
        return stream.sink_to(RedisSink(self._address("sink.max-retries"), rows)).name(name)


def _command(options: Options) -> RedisCommand:
    name = options.text("command").lower()
    if name in REFUSED:
        raise ValidationException(f"The command '{name}' is not supported: {REFUSED[name]}")
    return COMMANDS[options.choice("command", tuple(COMMANDS), "")]
