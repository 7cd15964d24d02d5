"""Writing files: re-exported by `firesteel.datastream.connectors.file_system`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from firesteel.common.serialization import BulkWriterFactory, Encoder
from firesteel.datastream.connectors.base import Committer, Sink, StreamTransformer, SupportsPreprocessing
from firesteel.datastream.connectors.file_committer import FileCommitter
from firesteel.datastream.functions import SinkFunction
from firesteel.datastream.operator_descriptors import CompactionOperator
from firesteel.graph.partitioner import FORWARD, REBALANCE
from firesteel.graph.transformations import PreCommitStep


class BucketAssigner:
    """Which directory below the base path a record goes to.

    Attributes:
        format_str: Pattern of the directory's name by processing time; None is the base path itself.
        timezone_id: Time zone of the pattern; None is the local one.
    """

    def __init__(self, format_str: str | None, timezone_id: str | None = None) -> None:
        self.format_str = format_str
        self.timezone_id = timezone_id

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """The base path itself."""
        return BucketAssigner(None)

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """A directory by processing time."""
        return BucketAssigner(format_str, timezone_id)


class RollingPolicy:
    """When a file is finished and the next one begun; always at a checkpoint of a bulk format."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128, rollover_interval: int = 60 * 1000, inactivity_interval: int = 60 * 1000
    ) -> DefaultRollingPolicy:
        """By size in bytes, age and time without records in milliseconds."""
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """At each checkpoint."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy):
    """By size in bytes, age and time without records in milliseconds."""

    def __init__(self, part_size: int, rollover_interval: int, inactivity_interval: int) -> None:
        self.part_size = part_size
        self.rollover_interval = rollover_interval
        self.inactivity_interval = inactivity_interval


class OnCheckpointRollingPolicy(RollingPolicy):
    """At each checkpoint."""


class OutputFileConfig:
    """How files are named: prefix, subtask and counter, suffix."""

    def __init__(self, part_prefix: str, part_suffix: str) -> None:
        self.part_prefix = part_prefix
        self.part_suffix = part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """A builder with prefix `part` and no suffix."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """The prefix."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """The suffix."""
        return self.part_suffix

    class OutputFileConfigBuilder:
        """Builds an `OutputFileConfig`."""

        def __init__(self) -> None:
            self._prefix = "part"
            self._suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Sets the prefix."""
            self._prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Sets the suffix, e.g. `.csv`."""
            self._suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """The names."""
            return OutputFileConfig(self._prefix, self._suffix)


class FileCompactStrategy:
    """When small files are put together."""

    def __init__(self, size_threshold: int, num_checkpoints_before_compaction: int, num_compact_threads: int) -> None:
        self.size_threshold = size_threshold
        self.num_checkpoints_before_compaction = num_checkpoints_before_compaction
        self.num_compact_threads = num_compact_threads

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """A builder."""
        return FileCompactStrategy.Builder()

    class Builder:
        """Builds a `FileCompactStrategy`."""

        def __init__(self) -> None:
            self._size_threshold = -1
            self._num_checkpoints = -1
            self._num_threads = 1

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Puts files together once they have so many bytes."""
            self._size_threshold = size_threshold
            return self

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Puts files together after so many checkpoints."""
            self._num_checkpoints = num_checkpoints_before_compaction
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Changes nothing: each subtask puts its own files together."""
            self._num_threads = num_compact_threads
            return self

        def build(self) -> FileCompactStrategy:
            """The strategy.

            Raises:
                ValueError: it never puts files together.
            """
            if self._size_threshold < 0 and self._num_checkpoints <= 0:
                raise ValueError(
                    "FileCompactStrategy: set set_size_threshold() or enable_compaction_on_checkpoint(), else no file "
                    "would ever be put together"
                )
            return FileCompactStrategy(self._size_threshold, self._num_checkpoints, self._num_threads)


class FileCompactor:
    """How small files are put together."""

    def __init__(self, kind: str, file_delimiter: bytes | None = None) -> None:
        self.kind = kind
        self.file_delimiter = file_delimiter

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """One behind the other, with the delimiter in between."""
        return FileCompactor("concat", file_delimiter)

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Files stay as they are."""
        return FileCompactor("identical")


_COORDINATOR_UID, _COMPACTOR_UID = "FileSinkCompactorCoordinator", "FileSinkCompactorOperator"


@dataclass(frozen=True)
class FileCompaction:
    """When and how small files are put together."""

    strategy: FileCompactStrategy
    compactor: FileCompactor


@dataclass(frozen=True)
class FileSinkSettings:
    """Where and how files are written; one of `encoder` and `writer_factory` is set.

    Attributes:
        columns: Of a table's sink, whose elements are column batches: how they are split (`TableFileSettings`).
    """

    base_path: str
    encoder: Encoder | None = None
    writer_factory: BulkWriterFactory | None = None
    bucket_assigner: BucketAssigner = BucketAssigner("yyyy-MM-dd--HH")  # noqa: RUF009 - immutable in use
    rolling_policy: RollingPolicy = DefaultRollingPolicy(1024 * 1024 * 128, 60_000, 60_000)  # noqa: RUF009
    output_file_config: OutputFileConfig = OutputFileConfig("part", "")  # noqa: RUF009
    bucket_check_interval_ms: int = 60_000
    compaction: FileCompaction | None = None
    compaction_was_disabled: bool = False
    columns: Any = None


class _Builder:
    def __init__(self, settings: FileSinkSettings) -> None:
        self._settings = settings

    def _with(self, **changes: Any) -> Self:
        self._settings = replace(self._settings, **changes)
        return self

    def with_bucket_check_interval(self, interval: int) -> Self:
        """Looks every so many milliseconds whether files are to be finished."""
        return self._with(bucket_check_interval_ms=interval)

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
        """Sets which directory a record goes to."""
        return self._with(bucket_assigner=bucket_assigner)

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
        """Sets how files are named."""
        return self._with(output_file_config=output_file_config)

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
        """Sets when a file is finished."""
        if self._settings.writer_factory is not None and not isinstance(rolling_policy, OnCheckpointRollingPolicy):
            raise TypeError(
                "Bulk formats are finished at checkpoints only: use RollingPolicy.on_checkpoint_rolling_policy()"
            )
        return self._with(rolling_policy=rolling_policy)


class FileSink(Sink[Any], SupportsPreprocessing):
    """Writes files that become visible when they are committed: each record is in them exactly once.

    Attributes:
        settings: Where and how.

    Example:
        >>> sink = FileSink.for_row_format("/data/out", Encoder.simple_string_encoder()).build()
        >>> stream.sink_to(sink)
    """

    def __init__(self, settings: FileSinkSettings) -> None:
        super().__init__()
        self.settings = settings

    def create_committer(self) -> Committer:
        """What shows finished files."""
        return FileCommitter()

    def pre_commit_topology(self) -> tuple[PreCommitStep, ...]:
        """With compaction the operators that Flink has for it, and their placeholders where it was switched off."""
        if self.settings.compaction is not None:
            return (
                PreCommitStep("CompactorCoordinator", _COORDINATOR_UID, CompactionOperator(), REBALANCE, parallelism=1),
                PreCommitStep("CompactorOperator", _COMPACTOR_UID, CompactionOperator()),
            )
        if self.settings.compaction_was_disabled:
            return (
                PreCommitStep("CompactorCoordinatorPlaceHolder", _COORDINATOR_UID, CompactionOperator(), FORWARD),
                PreCommitStep("CompactorOperatorPlaceHolder", _COMPACTOR_UID, CompactionOperator(), FORWARD),
            )
        return ()

    def get_transformer(self) -> StreamTransformer | None:
        """None: the records are written as they are."""
        return None

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """A builder for files that are written record by record."""
        return FileSink.RowFormatBuilder(FileSinkSettings(base_path, encoder))

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> FileSink.BulkFormatBuilder:
        """A builder for files that are written batch by batch."""
        policy = OnCheckpointRollingPolicy()
        settings = FileSinkSettings(base_path, writer_factory=writer_factory, rolling_policy=policy)
        return FileSink.BulkFormatBuilder(settings)

    class BaseBuilder(_Builder):
        """What both builders share."""

        def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
            """Puts the finished files of each subtask together before they are shown, as `compacted-<first file>`.

            The sink needs a `uid()` then, as in Flink.
            """
            return self._with(compaction=FileCompaction(strategy, compactor), compaction_was_disabled=False)

        def disable_compact(self) -> Self:
            """Leaves files as they are, also where a job before put them together; needs a `uid()`, too."""
            return self._with(compaction=None, compaction_was_disabled=True)

        def build(self) -> FileSink:
            """The sink."""
            return FileSink(self._settings)

    class RowFormatBuilder(BaseBuilder):
        """Builds a sink that writes record by record."""

    class BulkFormatBuilder(BaseBuilder):
        """Builds a sink that writes batch by batch."""


class StreamingFileSink(SinkFunction[Any], Sink[Any]):
    """Writes files, for `add_sink`; prefer `FileSink`.

    Attributes:
        settings: Where and how.
    """

    def __init__(self, settings: FileSinkSettings) -> None:
        super().__init__()
        self.settings = settings

    def create_committer(self) -> Committer:
        """What shows finished files."""
        return FileCommitter()

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> StreamingFileSink.DefaultRowFormatBuilder:
        """A builder for files that are written record by record."""
        return StreamingFileSink.DefaultRowFormatBuilder(FileSinkSettings(base_path, encoder))

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory
    ) -> StreamingFileSink.DefaultBulkFormatBuilder:
        """A builder for files that are written batch by batch."""
        policy = OnCheckpointRollingPolicy()
        settings = FileSinkSettings(base_path, writer_factory=writer_factory, rolling_policy=policy)
        return StreamingFileSink.DefaultBulkFormatBuilder(settings)

    class BaseBuilder(_Builder):
        """What both builders share."""

        def with_rolling_policy(self, policy: RollingPolicy) -> Self:
            """Sets when a file is finished."""
            return super().with_rolling_policy(policy)

        def build(self) -> StreamingFileSink:
            """The sink."""
            return StreamingFileSink(self._settings)

    class DefaultRowFormatBuilder(BaseBuilder):
        """Builds a sink that writes record by record."""

    class DefaultBulkFormatBuilder(BaseBuilder):
        """Builds a sink that writes batch by batch."""
