"""The connectors `elasticsearch-6`, `-7`, `-8` and `opensearch`. Flink: `ElasticsearchDynamicSink`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.elasticsearch.index_names import IndexNames
from firesteel.connectors.elasticsearch.settings import (
    ELASTICSEARCH,
    OPENSEARCH,
    ElasticsearchSettings,
    FlushBackoffType,
)
from firesteel.connectors.elasticsearch.sink import address_of
from firesteel.connectors.elasticsearch.table_writer import ElasticsearchTableSink, RowActions
from firesteel.connectors.key_texts import KeyTexts
from firesteel.connectors.option_table import OptionTable, message_format
from firesteel.connectors.table_connector import INSERT_ONLY, UPSERT, ResolvedTable, SinkRequest
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.streams.stream_base import DataStreamSink

_OPTIONAL = ("document-id.key-delimiter", "username", "password", "sink.bulk-flush.max-actions",
             "sink.bulk-flush.max-size", "connection.path-prefix", "socket.timeout",
             "sink.delivery-guarantee")  # fmt: skip
_BACKOFF = tuple(f"sink.bulk-flush.backoff.{name}" for name in ("strategy", "max-retries", "delay"))
_UNUSED = {
    "sink.flush-on-checkpoint": "rows are always sent before a checkpoint",
    "sink.bulk-flush.interval": "rows are sent at the end of each batch",
    "connection.request-timeout": "a writer never waits for a connection of its pool",
    "connection.timeout": "socket.timeout covers connecting, too",
}
_UNUSED_8 = {
    "sink.bulk-flush.max-buffered-actions": "a writer buffers no more than a request contains",
    "sink.bulk-flush.max-in-flight-actions": "a writer sends one request at a time",
}
_REFUSED = {
    "failure-handler": "rejected documents fail the job; sink.bulk-flush.backoff.strategy retries busy clusters",
    **dict.fromkeys(
        ("lookup.cache", "lookup.max-retries", *(f"lookup.partial-cache.{name}" for name in (
            "cache-missing-key", "expire-after-access", "expire-after-write", "max-rows"))),
        "an index can only be written",
    ),
}  # fmt: skip


def _options(*more: str, required: tuple[str, ...] = (), unused: Mapping[str, str] | None = None) -> OptionTable:
    return OptionTable(
        required=("hosts", "index", *required),
        optional=(*_OPTIONAL, *more),
        unused={**_UNUSED, **(unused or {})},
        refused=_REFUSED,
        formats=("format",),
    )


OPTIONS = {
    "elasticsearch-6": _options(*_BACKOFF, "connection.skip-verify-ssl", required=("document-type",)),
    "elasticsearch-7": _options(*_BACKOFF, "connection.skip-verify-ssl"),
    "elasticsearch-8": _options("ssl.certificate-fingerprint", unused=_UNUSED_8),
    "opensearch": _options(*_BACKOFF, "allow-insecure"),
}


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> ElasticsearchTable:
    """Return the sink that writes an index."""
    return ElasticsearchTable(table, context)


class ElasticsearchTable:
    """An index, or several by a column or the time. With a primary key documents are updated, else added."""

    def __init__(self, table: ResolvedTable, context: ConnectorContext) -> None:
        name = table.options["connector"]
        options = OPTIONS[name].read(table.options, name)
        columns, key = table.physical_columns, table.primary_key
        delimiter = options.text("document-id.key-delimiter", "_")
        self._has_key = bool(key)
        self._settings = _settings(options, name)
        self._indices = IndexNames(options.text("index"), columns, context.config.get_configuration().to_dict())
        self._actions = RowActions(
            self._indices,
            message_format(options, columns, "json"),
            KeyTexts.of(columns, key, delimiter) if key else None,
            options.values.get("document-type"),
        )

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return the upsert kinds if there is a key.

        Raises:
            ValidationException: rows are updated, but their index depends on the time at which they are written.
        """
        if self._indices.is_of_clock and kinds != INSERT_ONLY:
            raise ValidationException("Dynamic indexing based on system time only works on append only stream.")
        return UPSERT if self._has_key else INSERT_ONLY

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches."""
        return stream.sink_to(ElasticsearchTableSink(self._settings, self._actions)).name(name)


def _settings(options: Options, name: str) -> ElasticsearchSettings:
    options.choice("sink.delivery-guarantee", ("none", "at-least-once"), "at-least-once")
    try:
        hosts = tuple(address_of(host) for host in options.text("hosts").split(";"))
    except ValueError:
        raise options.invalid("hosts", "addresses such as http://localhost:9200, separated by ;") from None
    settings = ElasticsearchSettings(
        hosts=hosts,
        max_actions=_limit(options, "sink.bulk-flush.max-actions", options.number("sink.bulk-flush.max-actions", 1000)),
        max_bytes=_limit(options, "sink.bulk-flush.max-size", options.size_bytes("sink.bulk-flush.max-size", "2mb")),
        user=_user(options),
        path_prefix=options.text("connection.path-prefix").strip("/"),
        timeout_s=(options.duration_ms("socket.timeout", 30_000) or 30_000) / 1000,
        product=OPENSEARCH if name == "opensearch" else ELASTICSEARCH,
        tls=tls_of(options),
    )
    return _with_backoff(settings, options)


def _limit(options: Options, key: str, number: int) -> int:
    """Return a limit of requests: 0 and -1 stand for none."""
    if number < -1:
        raise options.invalid(key, "0 for no limit, or more")
    return number or -1


def _user(options: Options) -> tuple[str, str] | None:
    user, password = options.text("username").strip(), options.text("password")
    if bool(user) != bool(password.strip()):
        raise ValidationException("'username' and 'password' must be set at the same time")
    return (user, password) if user else None


def tls_of(options: Options) -> dict[str, object]:
    """Return the arguments of the client for connections by https."""
    found: dict[str, object] = {}
    if options.flag("connection.skip-verify-ssl") or options.flag("allow-insecure"):
        found |= {"verify_certs": False, "ssl_show_warn": False}
    if "ssl.certificate-fingerprint" in options.values:
        found["ssl_assert_fingerprint"] = options.text("ssl.certificate-fingerprint").replace(":", "").lower()
    return found


def _with_backoff(settings: ElasticsearchSettings, options: Options) -> ElasticsearchSettings:
    strategy, retries, delay = _BACKOFF
    kind = options.choice(strategy, ("disabled", "none", "constant", "exponential"), "none")
    if kind in ("disabled", "none"):
        return settings
    delay_ms = options.duration_ms(delay, 50)
    assert delay_ms is not None
    backoff = (FlushBackoffType[kind.upper()], delay_ms)
    return replace(settings, backoff=backoff, max_retries=options.positive(retries, 8))
