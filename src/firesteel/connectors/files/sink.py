"""File sinks: re-exported by `firesteel.datastream.connectors.file_system`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from firesteel.common.serialization import BulkWriterFactory, Encoder
from firesteel.connectors.files.committer import FileCommitter
from firesteel.connectors.files.sink_settings import (
    BucketAssigner,
    FileCompaction,
    FileCompactor,
    FileCompactStrategy,
    FileSinkSettings,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from firesteel.functions.connector_base import (
    Committer,
    Sink,
    SinkWriter,
    StreamTransformer,
    SupportsPreprocessing,
    WriterInitContext,
)
from firesteel.functions.operator_descriptors import CompactionOperator
from firesteel.functions.user_functions import SinkFunction
from firesteel.graph.partitioner import FORWARD, REBALANCE
from firesteel.graph.transformations import PreCommitStep

_COORDINATOR_UID, _COMPACTOR_UID = "FileSinkCompactorCoordinator", "FileSinkCompactorOperator"


class _Builder:
    def __init__(self, settings: FileSinkSettings) -> None:
        self._settings = settings

    def _with(self, **changes: Any) -> Self:
        self._settings = replace(self._settings, **changes)
        return self

    def with_bucket_check_interval(self, interval: int) -> Self:
        """Store the setting, which has no effect: files are finished as soon as they are due.

        Args:
            interval: Milliseconds.
        """
        return self._with(bucket_check_interval_ms=interval)

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> Self:
        """Set how records are assigned to directories below the base path.

        Args:
            bucket_assigner: By default `BucketAssigner.date_time_bucket_assigner()`: one directory per hour.
        """
        return self._with(bucket_assigner=bucket_assigner)

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> Self:
        """Set prefix and suffix of the names of part files.

        Args:
            output_file_config: By default, the prefix is `part` and the suffix is empty.
        """
        return self._with(output_file_config=output_file_config)

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> Self:
        """Set when part files are finished.

        Args:
            rolling_policy: For row formats by default 128 MiB, or 60 s since the first or since the last record.

        Raises:
            TypeError: the format is a bulk format, and the policy does not finish files at each checkpoint.
        """
        if self._settings.writer_factory is not None and not isinstance(rolling_policy, OnCheckpointRollingPolicy):
            raise TypeError("Bulk formats roll at checkpoints only: use RollingPolicy.on_checkpoint_rolling_policy()")
        return self._with(rolling_policy=rolling_policy)


class FileSink(Sink[Any], SupportsPreprocessing):
    """Writes files that become visible when they are committed, so that they contain each record exactly once.

    Attributes:
        settings: Settings of the sink.

    Example:
        >>> from pathlib import Path
        >>> words = env.from_collection(["to", "be"], Types.STRING())
        >>> sink = FileSink.for_row_format("words", Encoder.simple_string_encoder()).build()
        >>> _ = words.sink_to(sink)
        >>> [file] = run_local(env).files
        >>> Path(file).read_text().splitlines()
        ['to', 'be']
    """

    def __init__(self, settings: FileSinkSettings) -> None:
        super().__init__()
        self.settings = settings

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        """Return the writer of a subtask."""
        from firesteel.connectors.files.writer import FileWriter  # late, as only subtasks write

        return FileWriter(self.settings, context)

    def create_committer(self) -> Committer:
        """Return the committer, which publishes finished files."""
        return FileCommitter()

    def pre_commit_topology(self) -> tuple[PreCommitStep, ...]:
        """Return Flink's compaction operators, or their placeholders if compaction was disabled."""
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
        """Return None: records are written unchanged."""
        return None

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> FileSink.RowFormatBuilder:
        """Return a builder of a sink that writes record by record.

        Args:
            base_path: Directory, local or as a URI of a remote file system.
            encoder: Encodes records.
        """
        return FileSink.RowFormatBuilder(FileSinkSettings(base_path, encoder))

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> FileSink.BulkFormatBuilder:
        """Return a builder of a sink that writes batch by batch, for formats such as Parquet.

        Args:
            base_path: Directory, local or as a URI of a remote file system.
            writer_factory: Creates the writers of files.
        """
        policy = OnCheckpointRollingPolicy()
        settings = FileSinkSettings(base_path, writer_factory=writer_factory, rolling_policy=policy)
        return FileSink.BulkFormatBuilder(settings)

    class BaseBuilder(_Builder):
        """The base class of both builders."""

        def enable_compact(self, strategy: FileCompactStrategy, compactor: FileCompactor) -> Self:
            """Compact the finished files of each subtask into `compacted-<first file>` before they are published.

            As in Flink, the sink then needs a `uid()`.

            Args:
                strategy: The conditions; one of them suffices.
                compactor: Whether to concatenate the files, or to leave them as they are.
            """
            return self._with(compaction=FileCompaction(strategy, compactor), compaction_was_disabled=False)

        def disable_compact(self) -> Self:
            """Disable compaction, even if an earlier job enabled it; the sink then needs a `uid()`, too."""
            return self._with(compaction=None, compaction_was_disabled=True)

        def build(self) -> FileSink:
            """Return the sink."""
            return FileSink(self._settings)

    class RowFormatBuilder(BaseBuilder):
        """A builder of a sink that writes record by record."""

    class BulkFormatBuilder(BaseBuilder):
        """A builder of a sink that writes batch by batch."""


class StreamingFileSink(SinkFunction[Any], Sink[Any]):
    """Writes files, for `add_sink`; prefer `FileSink`.

    Attributes:
        settings: Settings of the sink.

    Example:
        >>> sink = StreamingFileSink.for_row_format("/data/out", Encoder.simple_string_encoder()).build()
        >>> _ = env.from_collection(["to", "be"], Types.STRING()).add_sink(sink)
    """

    def __init__(self, settings: FileSinkSettings) -> None:
        super().__init__()
        self.settings = settings

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        """Return the writer of a subtask."""
        from firesteel.connectors.files.writer import FileWriter  # late, as only subtasks write

        return FileWriter(self.settings, context)

    def create_committer(self) -> Committer:
        """Return the committer, which publishes finished files."""
        return FileCommitter()

    @staticmethod
    def for_row_format(base_path: str, encoder: Encoder) -> StreamingFileSink.DefaultRowFormatBuilder:
        """Return a builder of a sink that writes record by record.

        Args:
            base_path: Directory, local or as a URI of a remote file system.
            encoder: Encodes records.
        """
        return StreamingFileSink.DefaultRowFormatBuilder(FileSinkSettings(base_path, encoder))

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory
    ) -> StreamingFileSink.DefaultBulkFormatBuilder:
        """Return a builder of a sink that writes batch by batch.

        Args:
            base_path: Directory, local or as a URI of a remote file system.
            writer_factory: Creates the writers of files.
        """
        policy = OnCheckpointRollingPolicy()
        settings = FileSinkSettings(base_path, writer_factory=writer_factory, rolling_policy=policy)
        return StreamingFileSink.DefaultBulkFormatBuilder(settings)

    class BaseBuilder(_Builder):
        """The base class of both builders."""

        def with_rolling_policy(self, policy: RollingPolicy) -> Self:
            """Set the rolling policy."""
            return super().with_rolling_policy(policy)

        def build(self) -> StreamingFileSink:
            """Return the sink."""
            return StreamingFileSink(self._settings)

    class DefaultRowFormatBuilder(BaseBuilder):
        """A builder of a sink that writes record by record."""

    class DefaultBulkFormatBuilder(BaseBuilder):
        """A builder of a sink that writes batch by batch."""
