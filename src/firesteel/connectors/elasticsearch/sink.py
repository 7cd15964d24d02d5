"""Elasticsearch sink (module as `pyflink.datastream.connectors.elasticsearch`)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from firesteel.connectors.elasticsearch.settings import ElasticsearchEmitter, ElasticsearchSettings, FlushBackoffType
from firesteel.connectors.elasticsearch.writer import ElasticsearchWriter
from firesteel.errors import InvalidProgramError
from firesteel.functions.connector_base import DeliveryGuarantee, Sink, WriterInitContext

__all__ = [
    "Elasticsearch6SinkBuilder",
    "Elasticsearch7SinkBuilder",
    "ElasticsearchEmitter",
    "ElasticsearchSink",
    "FlushBackoffType",
]


class ElasticsearchSink(Sink[Any]):
    """Writes documents with the bulk API, at-least-once (Flink: `connector.elasticsearch.sink.ElasticsearchSink`).

    Documents with ids are effectively written once, as a replay overwrites them. Needs `pip install
    'firesteel[elasticsearch]'`.

    Attributes:
        settings: Settings of the sink.

    Example:
        >>> words = env.from_collection([{"word": "to", "count": "2"}], Types.MAP(Types.STRING(), Types.STRING()))
        >>> sink = (
        ...     Elasticsearch7SinkBuilder()
        ...     .set_emitter(ElasticsearchEmitter.static_index("words", "word"))
        ...     .set_hosts(["localhost:9200"])
        ...     .build()
        ... )
        >>> _ = words.sink_to(sink)
    """

    def __init__(self, settings: ElasticsearchSettings) -> None:
        super().__init__()
        self.settings = settings

    def create_writer(self, context: WriterInitContext) -> ElasticsearchWriter:
        """Return the writer of a subtask."""
        return ElasticsearchWriter(self.settings)


class ElasticsearchSinkBuilderBase(ABC):
    """The base class of the builders (Flink: class of the same name)."""

    @abstractmethod
    def __init__(self) -> None:
        self._settings = ElasticsearchSettings()

    def get_http_host_class(self) -> Any:
        """Raise an error: there is no Java class of hosts."""
        raise NotImplementedError("get_http_host_class: there is no Java class; set_hosts() takes addresses as text")

    def _change(self, **settings: object) -> ElasticsearchSinkBuilderBase:
        change: Callable[..., ElasticsearchSettings] = replace
        self._settings = change(self._settings, **settings)
        return self

    def set_emitter(self, emitter: ElasticsearchEmitter) -> ElasticsearchSinkBuilderBase:
        """Set the emitter, which is required.

        Args:
            emitter: Converts elements to actions.

        Raises:
            TypeError: `emitter` is not an `ElasticsearchEmitter`.
        """
        if not isinstance(emitter, ElasticsearchEmitter):
            raise TypeError(f"ElasticsearchSink: emitter must be an ElasticsearchEmitter, found {emitter!r}")
        return self._change(emitter=emitter)

    def set_hosts(self, hosts: str | list[str]) -> ElasticsearchSinkBuilderBase:
        """Set the addresses of the cluster, which are required.

        Args:
            hosts: One or several of `host:port`, `http://host:port` and `https://host:port`.

        Raises:
            ValueError: there is no address, or an address is invalid.
        """
        addresses = [hosts] if isinstance(hosts, str) else list(hosts)
        if not addresses:
            raise ValueError("ElasticsearchSink: hosts must not be empty")
        return self._change(hosts=tuple(map(address_of, addresses)))

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> ElasticsearchSinkBuilderBase:
        """Set the delivery guarantee, which is at-least-once in any case.

        Args:
            delivery_guarantee: `AT_LEAST_ONCE`, or `NONE`, which is treated the same.

        Raises:
            ValueError: the guarantee is `EXACTLY_ONCE`.
        """
        if delivery_guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            raise ValueError(
                "ElasticsearchSink: EXACTLY_ONCE is not supported; use AT_LEAST_ONCE and a key_field: a replayed "
                "document overwrites itself"
            )
        return self

    def set_bulk_flush_max_actions(self, num_max_actions: int) -> ElasticsearchSinkBuilderBase:
        """Set the maximum number of actions in a request.

        Args:
            num_max_actions: At least 1, or -1 for no limit (default 1000).

        Raises:
            ValueError: the number is out of range.
        """
        return self._change(max_actions=_limit("num_max_actions", num_max_actions))

    def set_bulk_flush_max_size_mb(self, max_size_mb: int) -> ElasticsearchSinkBuilderBase:
        """Set the approximate maximum size of a request.

        Args:
            max_size_mb: MiB, at least 1, or -1 for no limit (the default).

        Raises:
            ValueError: the number is out of range.
        """
        limit = _limit("max_size_mb", max_size_mb)
        return self._change(max_bytes=limit if limit < 0 else limit << 20)

    def set_bulk_flush_interval(self, interval_millis: int) -> ElasticsearchSinkBuilderBase:
        """Do nothing: buffered documents are sent at the end of each batch.

        Args:
            interval_millis: At least 1, or -1; only checked.

        Raises:
            ValueError: the number is out of range.
        """
        _limit("interval_millis", interval_millis)
        return self

    def set_bulk_flush_backoff_strategy(
        self, flush_backoff_type: FlushBackoffType, max_retries: int, delay_millis: int
    ) -> ElasticsearchSinkBuilderBase:
        """Set the retries of documents that a busy cluster rejected (status 429); by default they fail the job.

        Args:
            flush_backoff_type: Growth of the delay.
            max_retries: Maximum number of retries.
            delay_millis: Initial delay in milliseconds.

        Raises:
            ValueError: a number is less than 1.
        """
        if flush_backoff_type is FlushBackoffType.NONE:
            return self._change(backoff=(flush_backoff_type, 0), max_retries=0)
        for name, value in (("max_retries", max_retries), ("delay_millis", delay_millis)):
            if value < 1:
                raise ValueError(f"ElasticsearchSink: {name} must be 1 or greater, found {value}")
        return self._change(backoff=(flush_backoff_type, delay_millis), max_retries=max_retries)

    def set_connection_username(self, username: str) -> ElasticsearchSinkBuilderBase:
        """Set the user name of the connection.

        Args:
            username: Sent with the password, by basic authentication.
        """
        return self._change(user=(username, (self._settings.user or ("", ""))[1]))

    def set_connection_password(self, password: str) -> ElasticsearchSinkBuilderBase:
        """Set the password of the connection.

        Args:
            password: Sent with the user name, by basic authentication.
        """
        return self._change(user=((self._settings.user or ("", ""))[0], password))

    def set_connection_path_prefix(self, prefix: str) -> ElasticsearchSinkBuilderBase:
        """Set the path prefix of all requests.

        Args:
            prefix: A path such as `/search`, with or without slashes at its ends.
        """
        return self._change(path_prefix=prefix.strip("/"))

    def set_connection_request_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        """Do nothing: a writer never waits for a connection of its pool.

        Args:
            timeout: Milliseconds; ignored.
        """
        return self

    def set_connection_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        """Do nothing: `set_socket_timeout` covers connecting, too.

        Args:
            timeout: Milliseconds; ignored.
        """
        return self

    def set_socket_timeout(self, timeout: int) -> ElasticsearchSinkBuilderBase:
        """Set the timeout of a request, including connecting.

        Args:
            timeout: Milliseconds (default 30,000); not checked.
        """
        return self._change(timeout_s=timeout / 1000)

    def build(self) -> ElasticsearchSink:
        """Return the sink.

        Raises:
            InvalidProgramError: the hosts or the emitter are missing.
        """
        for is_there, what in ((self._settings.emitter, "set_emitter()"), (self._settings.hosts, "set_hosts()")):
            if not is_there:
                raise InvalidProgramError(f"ElasticsearchSink: call {what}")
        return ElasticsearchSink(self._settings)


class Elasticsearch6SinkBuilder(ElasticsearchSinkBuilderBase):
    """A builder of sinks for Elasticsearch 6, whose documents have a type: the emitter's, or `_doc`.

    Example:
        >>> sink = (
        ...     Elasticsearch6SinkBuilder()
        ...     .set_emitter(ElasticsearchEmitter.static_index("words", "word", "_doc"))
        ...     .set_hosts(["localhost:9200"])
        ...     .build()
        ... )
    """

    def __init__(self) -> None:
        super().__init__()

    def set_emitter(self, emitter: ElasticsearchEmitter) -> ElasticsearchSinkBuilderBase:
        """Set the emitter, which converts elements to actions."""
        super().set_emitter(emitter)
        return self._change(emitter=replace(emitter, doc_type=emitter.doc_type or "_doc"))


class Elasticsearch7SinkBuilder(ElasticsearchSinkBuilderBase):
    """A builder of sinks for Elasticsearch 7 and 8, which ignore the document type of the emitter.

    Example:
        >>> sink = (
        ...     Elasticsearch7SinkBuilder()
        ...     .set_emitter(ElasticsearchEmitter.static_index("words", "word"))
        ...     .set_hosts(["localhost:9200"])
        ...     .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        ...     .set_bulk_flush_max_actions(1000)
        ...     .build()
        ... )
    """

    def __init__(self) -> None:
        super().__init__()

    def set_emitter(self, emitter: ElasticsearchEmitter) -> ElasticsearchSinkBuilderBase:
        """Set the emitter, which converts elements to actions."""
        super().set_emitter(emitter)
        return self._change(emitter=replace(emitter, doc_type=None))


def _limit(name: str, value: int) -> int:
    if value < 1 and value != -1:
        raise ValueError(f"ElasticsearchSink: {name} must be -1 (no limit) or 1 or greater, found {value}")
    return value


def address_of(host: str) -> str:
    """Return the address of a host as a URL.

    Raises:
        ValueError: it is no address.
    """
    address = host if "://" in host else f"http://{host}"
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"ElasticsearchSink: a host must be host:port or https://host:port, found {host!r}")
    return address
