"""Connectors of `connect()`: Kafka, files, Elasticsearch, and those described by properties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from firesteel.pyflink1.removed import Removed, note
from firesteel.pyflink1.tables.descriptors.base import ConnectorDescriptor

_INSTEAD = "TableDescriptor.for_connector(), or CREATE TABLE"


class Kafka(ConnectorDescriptor):
    """Topics of Apache Kafka."""

    def __init__(
        self,
        version: str | None = None,
        topic: str | None = None,
        properties: Mapping[str, str] | None = None,
        start_from_earliest: bool = False,
        start_from_latest: bool = False,
        start_from_group_offsets: bool = True,
        start_from_specific_offsets_dict: Mapping[int, int] | None = None,
        start_from_timestamp: int | None = None,
        sink_partitioner_fixed: bool | None = None,
        sink_partitioner_round_robin: bool | None = None,
        custom_partitioner_class_name: str | None = None,
    ) -> None:
        note("descriptors.Kafka", _INSTEAD)
        super().__init__("kafka")
        self._offsets: dict[int, int] = {}
        # As in PyFlink, the last start that is set counts: offsets of the group, unless they are switched off.
        self._apply(
            version=version,
            topic=topic,
            properties=properties,
            start_from_earliest=start_from_earliest,
            start_from_latest=start_from_latest,
            start_from_group_offsets=start_from_group_offsets and (start_from_earliest or start_from_latest),
            start_from_specific_offsets=start_from_specific_offsets_dict,
            start_from_timestamp=start_from_timestamp,
            sink_partitioner_fixed=sink_partitioner_fixed,
            sink_partitioner_round_robin=sink_partitioner_round_robin,
            sink_partitioner_custom=custom_partitioner_class_name,
        )

    def version(self, version: str) -> Kafka:
        """Accept any version; the client is the same for all."""
        return self._set("connector.version", version)

    def topic(self, topic: str) -> Kafka:
        """Set the topic."""
        return self._set("connector.topic", topic)

    def properties(self, property_dict: Mapping[str, str]) -> Kafka:
        """Set properties of the client."""
        for key, value in property_dict.items():
            self.property(key, value)
        return self

    def property(self, key: str, value: str) -> Kafka:
        """Set a property of the client."""
        return self._set(f"connector.properties.{key}", value)

    def start_from_earliest(self) -> Kafka:
        """Read from the earliest offsets."""
        return self._set("connector.startup-mode", "earliest-offset")

    def start_from_latest(self) -> Kafka:
        """Read from the latest offsets."""
        return self._set("connector.startup-mode", "latest-offset")

    def start_from_group_offsets(self) -> Kafka:
        """Read from the offsets that the group has committed."""
        return self._set("connector.startup-mode", "group-offsets")

    def start_from_timestamp(self, timestamp: int) -> Kafka:
        """Read from a time in ms since 1970."""
        self._set("connector.startup-timestamp-millis", timestamp)
        return self._set("connector.startup-mode", "timestamp")

    def start_from_specific_offsets(self, specific_offsets_dict: Mapping[int, int]) -> Kafka:
        """Read from offsets by partition."""
        self._offsets = dict(specific_offsets_dict)
        return self._set_offsets()

    def start_from_specific_offset(self, partition: int, specific_offset: int) -> Kafka:
        """Read a partition from an offset."""
        self._offsets[int(partition)] = int(specific_offset)
        return self._set_offsets()

    def _set_offsets(self) -> Kafka:
        text = ";".join(f"partition:{partition},offset:{offset}" for partition, offset in self._offsets.items())
        self._set("connector.specific-offsets", text)
        return self._set("connector.startup-mode", "specific-offsets")

    def sink_partitioner_fixed(self) -> Kafka:
        """Write each subtask's records to one partition."""
        return self._set("connector.sink-partitioner", "fixed")

    def sink_partitioner_round_robin(self) -> Kafka:
        """Write to the partitions in turn."""
        return self._set("connector.sink-partitioner", "round-robin")

    def sink_partitioner_custom(self, partitioner_class_name: str) -> NoReturn:
        """Raise an error: Java classes are not available.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"Java classes such as {partitioner_class_name} are not available; use sink_partitioner_round_robin()"
        )


class FileSystem(ConnectorDescriptor):
    """Files."""

    def __init__(self, path: str | None = None) -> None:
        note("descriptors.FileSystem", _INSTEAD)
        super().__init__("filesystem")
        self._apply(path=path)

    def path(self, path_str: str) -> FileSystem:
        """Set the path of a file or directory."""
        return self._set("connector.path", path_str)


class Elasticsearch(ConnectorDescriptor):
    """An index of Elasticsearch."""

    def __init__(
        self,
        version: str | None = None,
        hostname: str | None = None,
        port: int | str | None = None,
        protocol: str | None = None,
        index: str | None = None,
        document_type: str | None = None,
        key_delimiter: str | None = None,
        key_null_literal: str | None = None,
        failure_handler_fail: bool = False,
        failure_handler_ignore: bool = False,
        failure_handler_retry_rejected: bool = False,
        custom_failure_handler_class_name: str | None = None,
        disable_flush_on_checkpoint: bool = False,
        bulk_flush_max_actions: int | None = None,
        bulk_flush_max_size: str | None = None,
        bulk_flush_interval: int | None = None,
        bulk_flush_backoff_constant: bool = False,
        bulk_flush_backoff_exponential: bool = False,
        bulk_flush_backoff_max_retries: int | None = None,
        bulk_flush_backoff_delay: int | None = None,
        connection_max_retry_timeout: int | None = None,
        connection_path_prefix: str | None = None,
    ) -> None:
        note("descriptors.Elasticsearch", _INSTEAD)
        super().__init__("elasticsearch")
        self._hosts: list[str] = []
        if hostname is not None:
            if port is None or protocol is None:
                raise ValueError(
                    f"Elasticsearch(hostname={hostname!r}) needs a port and a protocol, such as 9200 and http"
                )
            self.host(hostname, port, protocol)
        self._apply(
            version=version,
            index=index,
            document_type=document_type,
            key_delimiter=key_delimiter,
            key_null_literal=key_null_literal,
            failure_handler_fail=failure_handler_fail,
            failure_handler_ignore=failure_handler_ignore,
            failure_handler_retry_rejected=failure_handler_retry_rejected,
            failure_handler_custom=custom_failure_handler_class_name,
            disable_flush_on_checkpoint=disable_flush_on_checkpoint,
            bulk_flush_max_actions=bulk_flush_max_actions,
            bulk_flush_max_size=bulk_flush_max_size,
            bulk_flush_interval=bulk_flush_interval,
            bulk_flush_backoff_constant=bulk_flush_backoff_constant,
            bulk_flush_backoff_exponential=bulk_flush_backoff_exponential,
            bulk_flush_backoff_max_retries=bulk_flush_backoff_max_retries,
            bulk_flush_backoff_delay=bulk_flush_backoff_delay,
            connection_max_retry_timeout=connection_max_retry_timeout,
            connection_path_prefix=connection_path_prefix,
        )

    def version(self, version: str) -> Elasticsearch:
        """Set the version, such as `6` or `7`."""
        return self._set("connector.version", version)

    def host(self, hostname: str, port: int | str, protocol: str) -> Elasticsearch:
        """Add a host of the cluster."""
        self._hosts.append(f"{protocol}://{hostname}:{port}")
        return self._set("connector.hosts", ";".join(self._hosts))

    def index(self, index: str) -> Elasticsearch:
        """Set the index."""
        return self._set("connector.index", index)

    def document_type(self, document_type: str) -> Elasticsearch:
        """Set the type of documents."""
        return self._set("connector.document-type", document_type)

    def key_delimiter(self, key_delimiter: str) -> Elasticsearch:
        """Set the delimiter of the parts of a document's id."""
        return self._set("connector.key-delimiter", key_delimiter)

    def key_null_literal(self, key_null_literal: str) -> Elasticsearch:
        """Set the text of NULL in a document's id."""
        return self._set("connector.key-null-literal", key_null_literal)

    def failure_handler_fail(self) -> Elasticsearch:
        """Fail the job if a request fails."""
        return self._set("connector.failure-handler", "fail")

    def failure_handler_ignore(self) -> Elasticsearch:
        """Drop requests that fail."""
        return self._set("connector.failure-handler", "ignore")

    def failure_handler_retry_rejected(self) -> Elasticsearch:
        """Repeat requests that were rejected."""
        return self._set("connector.failure-handler", "retry-rejected")

    def failure_handler_custom(self, failure_handler_class_name: str) -> NoReturn:
        """Raise an error: Java classes are not available.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"Java classes such as {failure_handler_class_name} are not available; use failure_handler_fail()"
        )

    def disable_flush_on_checkpoint(self) -> Elasticsearch:
        """Send documents without regard to checkpoints."""
        return self._set("connector.flush-on-checkpoint", False)

    def bulk_flush_max_actions(self, max_actions_num: int) -> Elasticsearch:
        """Set the largest number of documents of a request."""
        return self._set("connector.bulk-flush.max-actions", max_actions_num)

    def bulk_flush_max_size(self, max_size: str) -> Elasticsearch:
        """Set the largest size of a request, such as `1 mb`."""
        return self._set("connector.bulk-flush.max-size", max_size)

    def bulk_flush_interval(self, interval: int) -> Elasticsearch:
        """Set the time between requests in ms."""
        return self._set("connector.bulk-flush.interval", interval)

    def bulk_flush_backoff_constant(self) -> Elasticsearch:
        """Repeat requests after equal times."""
        return self._set("connector.bulk-flush.backoff.type", "constant")

    def bulk_flush_backoff_exponential(self) -> Elasticsearch:
        """Repeat requests after growing times."""
        return self._set("connector.bulk-flush.backoff.type", "exponential")

    def bulk_flush_backoff_max_retries(self, max_retries: int) -> Elasticsearch:
        """Set how often requests are repeated."""
        return self._set("connector.bulk-flush.backoff.max-retries", max_retries)

    def bulk_flush_backoff_delay(self, delay: int) -> Elasticsearch:
        """Set the time between repeated requests in ms."""
        return self._set("connector.bulk-flush.backoff.delay", delay)

    def connection_max_retry_timeout(self, max_retry_timeout: int) -> Elasticsearch:
        """Set the longest time of repeated requests in ms."""
        return self._set("connector.connection-max-retry-timeout", max_retry_timeout)

    def connection_path_prefix(self, path_prefix: str) -> Elasticsearch:
        """Set the beginning of the path of each request."""
        return self._set("connector.connection-path-prefix", path_prefix)


class CustomConnectorDescriptor(ConnectorDescriptor):
    """A connector that is described by its properties.

    Args:
        type: Its name.
        version: The version of its properties, which is not used.
        format_needed: Accepted and not used.
    """

    def __init__(self, type: str, version: int, format_needed: bool) -> None:
        note("descriptors.CustomConnectorDescriptor", _INSTEAD)
        super().__init__(type, version)

    def property(self, key: str, value: str) -> CustomConnectorDescriptor:
        """Set a property."""
        return self._set(key, value)

    def properties(self, property_dict: Mapping[str, str]) -> CustomConnectorDescriptor:
        """Set properties."""
        for key, value in property_dict.items():
            self._set(key, value)
        return self


_CLASSES = (ConnectorDescriptor, Kafka, FileSystem, Elasticsearch, CustomConnectorDescriptor)
REMOVED = tuple(Removed(("table.descriptors",), cls.__name__, cls, _INSTEAD) for cls in _CLASSES)
