"""Sinks of Kinesis streams and Firehose: re-exported by `firesteel.datastream.connectors.kinesis`."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

from firesteel.common.checks import require, require_function
from firesteel.common.serialization import SerializationSchema
from firesteel.connectors.kinesis.client import stream_argument
from firesteel.connectors.kinesis.properties import checked
from firesteel.connectors.kinesis.writer import BatchSettings, BatchWriter
from firesteel.errors import InvalidProgramError
from firesteel.functions.connector_base import Sink, WriterInitContext


class PartitionKeyGenerator:
    """Generates the partition key of a record, which determines its shard (Flink: interface of the same name).

    Beyond PyFlink, `set_partition_key_generator` also accepts a function from element to key.

    `fixed` and `random` return the available generators.

    Args:
        j_partition_key_generator: Only None is supported.

    Raises:
        NotImplementedError: the argument is not None.

    Example:
        >>> PartitionKeyGenerator.fixed().for_subtask(3)("any element")
        '3'
    """

    def __init__(self, j_partition_key_generator: object = None) -> None:
        if j_partition_key_generator is not None:
            raise NotImplementedError("PartitionKeyGenerator wraps a Java object; use a function from element to key")
        self._is_fixed = False

    @staticmethod
    def fixed() -> PartitionKeyGenerator:
        """Return a generator that gives all records of a subtask the same key."""
        made = PartitionKeyGenerator()
        made._is_fixed = True
        return made

    @staticmethod
    def random() -> PartitionKeyGenerator:
        """Return a generator that gives each record a random key."""
        return PartitionKeyGenerator()

    def for_subtask(self, subtask_index: int) -> Callable[[Any], str]:
        """Return the function from element to partition key.

        Args:
            subtask_index: From 0; with a fixed generator it is the key of all elements of the subtask.
        """
        if self._is_fixed:
            return lambda element: str(subtask_index)
        return lambda element: f"{random.getrandbits(128):032x}"


class _AwsSinkBuilder:
    """The base class of both builders: limits of requests."""

    _settings: BatchSettings

    def _change(self, **settings: object) -> Self:
        change: Callable[..., BatchSettings] = replace
        self._settings = change(self._settings, **settings)
        return self

    def set_serialization_schema(self, serialization_schema: SerializationSchema[Any]) -> Self:
        """Set the serialization schema, which is required.

        Args:
            serialization_schema: Converts an element to the data of a record.
        """
        require(serialization_schema, SerializationSchema, "set_serialization_schema()")
        return self._change(serializer=serialization_schema)

    def set_fail_on_error(self, fail_on_error: bool) -> Self:
        """Set whether a rejected record fails the job.

        Args:
            fail_on_error: False (the default) sends the record again.
        """
        return self._change(fails_on_error=fail_on_error)

    def set_max_batch_size(self, max_batch_size: int) -> Self:
        """Set the maximum number of records in a request.

        Args:
            max_batch_size: At least 1 (default 500); more than 500, the service's limit, counts as 500.

        Raises:
            ValueError: the number is less than 1.
        """
        # Amazon refuses requests with more.
        return self._change(max_records=min(500, _positive("max_batch_size", max_batch_size)))

    def set_max_in_flight_requests(self, max_in_flight_requests: int) -> Self:
        """Do nothing: a writer sends one request at a time.

        Args:
            max_in_flight_requests: At least 1; only checked.

        Raises:
            ValueError: the number is less than 1.
        """
        _positive("max_in_flight_requests", max_in_flight_requests)
        return self

    def set_max_buffered_requests(self, max_buffered_requests: int) -> Self:
        """Do nothing: a writer buffers no more records than a request contains.

        Args:
            max_buffered_requests: At least 1; only checked.

        Raises:
            ValueError: the number is less than 1.
        """
        _positive("max_buffered_requests", max_buffered_requests)
        return self

    def set_max_batch_size_in_bytes(self, max_batch_size_in_bytes: int) -> Self:
        """Set the maximum size of a request.

        Args:
            max_batch_size_in_bytes: At least 1, and at least the maximum size of a record (default 5 MiB, Firehose 4
                MiB).

        Raises:
            ValueError: the number is less than 1.
        """
        return self._change(max_bytes=_positive("max_batch_size_in_bytes", max_batch_size_in_bytes))

    def set_max_time_in_buffer_ms(self, max_time_in_buffer_ms: int) -> Self:
        """Do nothing: buffered records are sent at the end of each batch.

        Args:
            max_time_in_buffer_ms: At least 1; only checked.

        Raises:
            ValueError: the number is less than 1.
        """
        _positive("max_time_in_buffer_ms", max_time_in_buffer_ms)
        return self

    def set_max_record_size_in_bytes(self, max_record_size_in_bytes: int) -> Self:
        """Set the maximum size of a record; a larger one fails the job.

        Args:
            max_record_size_in_bytes: At least 1 (default 1 MiB, Firehose 1000 KiB).

        Raises:
            ValueError: the number is less than 1.
        """
        return self._change(max_record_bytes=_positive("max_record_size_in_bytes", max_record_size_in_bytes))


def _positive(name: str, value: int) -> int:
    if value < 1:
        raise ValueError(f"{name} must be 1 or greater, found {value}")
    return value


class KinesisStreamsSink(Sink[Any]):
    """Writes to a Kinesis stream, at-least-once (Flink: `connector.kinesis.sink.KinesisStreamsSink`).

    Needs `pip install 'firesteel[kinesis]'`.

    Attributes:
        settings: Settings of the sink.

    Example:
        >>> sink = (
        ...     KinesisStreamsSink.builder()
        ...     .set_kinesis_client_properties({"aws.region": "us-east-1"})
        ...     .set_stream_name("totals")
        ...     .set_serialization_schema(SimpleStringSchema())
        ...     .set_partition_key_generator(PartitionKeyGenerator.random())
        ...     .build()
        ... )
        >>> _ = env.from_collection(["to 2", "be 2"], Types.STRING()).sink_to(sink)
    """

    def __init__(self, settings: BatchSettings, keys: PartitionKeyGenerator | Callable[[Any], str]) -> None:
        super().__init__()
        self.settings = settings
        self._keys = keys

    @staticmethod
    def builder() -> KinesisStreamsSinkBuilder:
        """Return a builder."""
        return KinesisStreamsSinkBuilder()

    def create_writer(self, context: WriterInitContext) -> BatchWriter:
        """Return the writer of a subtask."""
        keys = self._keys
        key_of = keys.for_subtask(context.subtask_index) if isinstance(keys, PartitionKeyGenerator) else keys
        stream = stream_argument(self.settings.target)

        def put(client: Any, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
            results: list[dict[str, Any]] = client.put_records(Records=entries, **stream)["Records"]
            return results

        return BatchWriter(self.settings, lambda element, data: {"Data": data, "PartitionKey": key_of(element)}, put)


class KinesisStreamsSinkBuilder(_AwsSinkBuilder):
    """A builder of `KinesisStreamsSink` (Flink: class of the same name).

    Example:
        >>> sink = (
        ...     KinesisStreamsSink.builder()
        ...     .set_kinesis_client_properties({"aws.region": "us-east-1"})
        ...     .set_stream_name("totals")
        ...     .set_serialization_schema(SimpleStringSchema())
        ...     .set_partition_key_generator(lambda element: element[:2])
        ...     .set_max_batch_size(200)
        ...     .build()
        ... )
    """

    def __init__(self) -> None:
        self._settings = BatchSettings("kinesis")
        self._keys: PartitionKeyGenerator | Callable[[Any], str] | None = None

    def set_stream_name(self, stream_name: str | list[str]) -> KinesisStreamsSinkBuilder:
        """Set the stream, which is required.

        Args:
            stream_name: Name or ARN; of a list, only the first item counts.
        """
        return self._change(target=stream_name if isinstance(stream_name, str) else "".join(stream_name[:1]))

    def set_kinesis_client_properties(self, kinesis_client_properties: Mapping[str, Any]) -> KinesisStreamsSinkBuilder:
        """Set the properties of the client.

        Args:
            kinesis_client_properties: Flink's AWS properties; those without effect are logged as a warning.

        Raises:
            InvalidProgramError: region and endpoint are both missing, or the credentials are incomplete.
        """
        return self._change(properties=checked(kinesis_client_properties, "KinesisStreamsSink"))

    def set_partition_key_generator(
        self, partition_key_generator: PartitionKeyGenerator | Callable[[Any], str]
    ) -> KinesisStreamsSinkBuilder:
        """Set the generator of partition keys, which is required.

        Args:
            partition_key_generator: A `PartitionKeyGenerator`, or a function from element to key.
        """
        require_function(partition_key_generator, PartitionKeyGenerator, "set_partition_key_generator()")
        self._keys = partition_key_generator
        return self

    def build(self) -> KinesisStreamsSink:
        """Return the sink.

        Raises:
            InvalidProgramError: stream, schema, properties or partition key generator are missing.
        """
        settings = self._settings.checked("KinesisStreamsSink", "set_stream_name()")
        if self._keys is None:
            raise InvalidProgramError("KinesisStreamsSink: call set_partition_key_generator()")
        if not settings.properties:
            raise InvalidProgramError("KinesisStreamsSink: call set_kinesis_client_properties()")
        return KinesisStreamsSink(settings, self._keys)


class KinesisFirehoseSink(Sink[Any]):
    """Writes to a Firehose delivery stream, at-least-once (Flink: `connector.firehose.sink.KinesisFirehoseSink`).

    Attributes:
        settings: Settings of the sink.

    Example:
        >>> sink = (
        ...     KinesisFirehoseSink.builder()
        ...     .set_firehose_client_properties({"aws.region": "us-east-1"})
        ...     .set_delivery_stream_name("totals")
        ...     .set_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> _ = env.from_collection(["to 2", "be 2"], Types.STRING()).sink_to(sink)
    """

    def __init__(self, settings: BatchSettings) -> None:
        super().__init__()
        self.settings = settings

    @staticmethod
    def builder() -> KinesisFirehoseSinkBuilder:
        """Return a builder."""
        return KinesisFirehoseSinkBuilder()

    def create_writer(self, context: WriterInitContext) -> BatchWriter:
        """Return the writer of a subtask."""
        name = self.settings.target

        def put(client: Any, entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
            answer = client.put_record_batch(DeliveryStreamName=name, Records=entries)
            results: list[dict[str, Any]] = answer["RequestResponses"]
            return results

        return BatchWriter(self.settings, lambda element, data: {"Data": data}, put)


class KinesisFirehoseSinkBuilder(_AwsSinkBuilder):
    """A builder of `KinesisFirehoseSink` (Flink: class of the same name).

    Example:
        >>> sink = (
        ...     KinesisFirehoseSink.builder()
        ...     .set_firehose_client_properties({"aws.region": "us-east-1"})
        ...     .set_delivery_stream_name("totals")
        ...     .set_serialization_schema(SimpleStringSchema())
        ...     .set_max_batch_size(200)
        ...     .build()
        ... )
    """

    def __init__(self) -> None:
        self._settings = BatchSettings("firehose", max_bytes=4 * 1024 * 1024, max_record_bytes=1000 * 1024)

    def set_delivery_stream_name(self, delivery_stream_name: str) -> KinesisFirehoseSinkBuilder:
        """Set the delivery stream, which is required.

        Args:
            delivery_stream_name: Name of the delivery stream.
        """
        return self._change(target=delivery_stream_name)

    def set_firehose_client_properties(
        self, firehose_client_properties: Mapping[str, Any]
    ) -> KinesisFirehoseSinkBuilder:
        """Set the properties of the client.

        Args:
            firehose_client_properties: Flink's AWS properties; those without effect are logged as a warning.

        Raises:
            InvalidProgramError: region and endpoint are both missing, or the credentials are incomplete.
        """
        return self._change(properties=checked(firehose_client_properties, "KinesisFirehoseSink"))

    def build(self) -> KinesisFirehoseSink:
        """Return the sink.

        Raises:
            InvalidProgramError: delivery stream, schema or properties are missing.
        """
        settings = self._settings.checked("KinesisFirehoseSink", "set_delivery_stream_name()")
        if not settings.properties:
            raise InvalidProgramError("KinesisFirehoseSink: call set_firehose_client_properties()")
        return KinesisFirehoseSink(settings)
