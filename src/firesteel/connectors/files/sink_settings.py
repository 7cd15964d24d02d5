"""Settings of file sinks: buckets, rolling, names, compaction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.common.checks import require
from firesteel.common.serialization import BulkWriterFactory, Encoder


class BucketAssigner:
    """Assigns records to directories (buckets) below the base path.

    Attributes:
        format_str: Pattern of the directory's name by processing time; None is the base path itself.
        timezone_id: Time zone of the pattern; None is the local one.

    Example:
        >>> assigner = BucketAssigner.date_time_bucket_assigner("yyyy-MM-dd", "Europe/Berlin")
        >>> encoder = Encoder.simple_string_encoder()
        >>> sink = FileSink.for_row_format("/data/out", encoder).with_bucket_assigner(assigner).build()
    """

    def __init__(self, format_str: str | None, timezone_id: str | None = None) -> None:
        self.format_str = format_str
        self.timezone_id = timezone_id

    @staticmethod
    def base_path_bucket_assigner() -> BucketAssigner:
        """Return an assigner that puts all files directly into the base path."""
        return BucketAssigner(None)

    @staticmethod
    def date_time_bucket_assigner(format_str: str = "yyyy-MM-dd--HH", timezone_id: str | None = None) -> BucketAssigner:
        """Return an assigner of directories by processing time.

        Args:
            format_str: Pattern as of Java's `DateTimeFormatter`.
            timezone_id: Time zone of the pattern; None is the local one.
        """
        return BucketAssigner(format_str, timezone_id)


class RollingPolicy:
    """Decides when a part file is finished; files of bulk formats are finished at each checkpoint.

    Example:
        >>> policy = RollingPolicy.default_rolling_policy(part_size=64 * 1024 * 1024, rollover_interval=15 * 60 * 1000)
        >>> encoder = Encoder.simple_string_encoder()
        >>> sink = FileSink.for_row_format("/data/out", encoder).with_rolling_policy(policy).build()
    """

    @staticmethod
    def default_rolling_policy(
        part_size: int = 1024 * 1024 * 128, rollover_interval: int = 60 * 1000, inactivity_interval: int = 60 * 1000
    ) -> DefaultRollingPolicy:
        """Return a policy by size, age and inactivity.

        Args:
            part_size: Maximum size in bytes.
            rollover_interval: Maximum age in milliseconds.
            inactivity_interval: Maximum time without records in milliseconds.

        Raises:
            ValueError: one of them is not positive.
        """
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Return a policy that finishes files at each checkpoint."""
        return OnCheckpointRollingPolicy()


class DefaultRollingPolicy(RollingPolicy):
    """A policy by size in bytes, and by age and inactivity in milliseconds.

    Args:
        part_size: Size in bytes at which a file is finished. It is checked after each buffer of records, so files can
            be larger.
        rollover_interval: Age in milliseconds at which a file is finished. The next checkpoint makes it visible.
        inactivity_interval: Time without records, in milliseconds, after which a file is finished.

    Raises:
        ValueError: one of them is not positive.

    Example:
        >>> policy = RollingPolicy.default_rolling_policy(rollover_interval=15 * 60 * 1000)
        >>> policy.part_size, policy.rollover_interval, policy.inactivity_interval
        (134217728, 900000, 60000)
    """

    def __init__(self, part_size: int, rollover_interval: int, inactivity_interval: int) -> None:
        names = ("part size", "rollover interval", "inactivity interval")
        for name, limit in zip(names, (part_size, rollover_interval, inactivity_interval), strict=True):
            require(limit, int, f"the {name} of a rolling policy")
            if limit <= 0:
                raise ValueError(f"the {name} must be positive, found {limit}")
        self.part_size = part_size
        self.rollover_interval = rollover_interval
        self.inactivity_interval = inactivity_interval


class OnCheckpointRollingPolicy(RollingPolicy):
    """A policy that finishes files at each checkpoint.

    Example:
        >>> policy = RollingPolicy.on_checkpoint_rolling_policy()
        >>> encoder = Encoder.simple_string_encoder()
        >>> sink = FileSink.for_row_format("/data/out", encoder).with_rolling_policy(policy).build()
    """


class OutputFileConfig:
    """The names of part files: prefix, subtask, counter and suffix.

    Args:
        part_prefix: Beginning of each name, followed by `-`, an id of writer and subtask, `-` and a counter.
        part_suffix: End of each name, such as `.csv`, or an empty text; it does not affect the format.

    Example:
        >>> names = OutputFileConfig.builder().with_part_prefix("words").with_part_suffix(".txt").build()
        >>> encoder = Encoder.simple_string_encoder()
        >>> sink = FileSink.for_row_format("/data/out", encoder).with_output_file_config(names).build()
    """

    def __init__(self, part_prefix: str, part_suffix: str) -> None:
        self.part_prefix = part_prefix
        self.part_suffix = part_suffix

    @staticmethod
    def builder() -> OutputFileConfig.OutputFileConfigBuilder:
        """Return a builder with prefix `part` and no suffix."""
        return OutputFileConfig.OutputFileConfigBuilder()

    def get_part_prefix(self) -> str:
        """Return the prefix."""
        return self.part_prefix

    def get_part_suffix(self) -> str:
        """Return the suffix."""
        return self.part_suffix

    class OutputFileConfigBuilder:
        """A builder of `OutputFileConfig`."""

        def __init__(self) -> None:
            self._prefix = "part"
            self._suffix = ""

        def with_part_prefix(self, prefix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the beginning of the names of part files.

            Args:
                prefix: Followed by `-`, an id of writer and subtask, `-` and a counter (default `part`).
            """
            require(prefix, str, "with_part_prefix()")
            self._prefix = prefix
            return self

        def with_part_suffix(self, suffix: str) -> OutputFileConfig.OutputFileConfigBuilder:
            """Set the end of the names of part files.

            Args:
                suffix: Such as `.csv` (default: empty); it does not affect the format.
            """
            require(suffix, str, "with_part_suffix()")
            self._suffix = suffix
            return self

        def build(self) -> OutputFileConfig:
            """Return the configuration."""
            return OutputFileConfig(self._prefix, self._suffix)


class FileCompactStrategy:
    """The conditions under which small files are compacted.

    The builder also checks that at least one condition is set.

    Args:
        size_threshold: Total size of a bucket's waiting files, in bytes, that starts compaction; a negative number
            disables this condition.
        num_checkpoints_before_compaction: Number of checkpoints after which waiting files are compacted; 0 or less
            disables this condition.
        num_compact_threads: Has no effect: each subtask compacts its own files.

    Example:
        >>> strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(5).build()
        >>> encoder = Encoder.simple_string_encoder()
        >>> builder = FileSink.for_row_format("/data/out", encoder)
        >>> sink = builder.enable_compact(strategy, FileCompactor.concat_file_compactor()).build()
    """

    def __init__(self, size_threshold: int, num_checkpoints_before_compaction: int, num_compact_threads: int) -> None:
        self.size_threshold = size_threshold
        self.num_checkpoints_before_compaction = num_checkpoints_before_compaction
        self.num_compact_threads = num_compact_threads

    @staticmethod
    def builder() -> FileCompactStrategy.Builder:
        """Return a builder."""
        return FileCompactStrategy.Builder()

    class Builder:
        """A builder of `FileCompactStrategy`."""

        def __init__(self) -> None:
            self._size_threshold = -1
            self._num_checkpoints = -1
            self._num_threads = 1

        def set_size_threshold(self, size_threshold: int) -> FileCompactStrategy.Builder:
            """Compact the files of a bucket when their total size reaches a threshold.

            Args:
                size_threshold: Bytes; a negative number disables this condition (default -1).
            """
            self._size_threshold = size_threshold
            return self

        def enable_compaction_on_checkpoint(
            self, num_checkpoints_before_compaction: int
        ) -> FileCompactStrategy.Builder:
            """Compact the files of a bucket after a number of checkpoints since the first of them.

            Args:
                num_checkpoints_before_compaction: At least 1; 0 or less disables this condition (default -1).
            """
            self._num_checkpoints = num_checkpoints_before_compaction
            return self

        def set_num_compact_threads(self, num_compact_threads: int) -> FileCompactStrategy.Builder:
            """Store the setting, which has no effect: each subtask compacts its own files.

            Args:
                num_compact_threads: Any number; it is not checked.
            """
            self._num_threads = num_compact_threads
            return self

        def build(self) -> FileCompactStrategy:
            """Return the strategy.

            Raises:
                ValueError: no condition is set.
            """
            if self._size_threshold < 0 and self._num_checkpoints <= 0:
                raise ValueError(
                    "FileCompactStrategy: call set_size_threshold() or enable_compaction_on_checkpoint(), otherwise no "
                    "file is ever compacted"
                )
            return FileCompactStrategy(self._size_threshold, self._num_checkpoints, self._num_threads)


class FileCompactor:
    """The way small files are compacted.

    Args:
        kind: `concat` concatenates files; any other text, such as `identical`, leaves them as they are.
        file_delimiter: Bytes between two concatenated files; None writes nothing.

    Example:
        >>> compactor = FileCompactor.concat_file_compactor(b"--")
        >>> strategy = FileCompactStrategy.builder().set_size_threshold(1024 * 1024).build()
        >>> encoder = Encoder.simple_string_encoder()
        >>> sink = FileSink.for_row_format("/data/out", encoder).enable_compact(strategy, compactor).build()
    """

    def __init__(self, kind: str, file_delimiter: bytes | None = None) -> None:
        self.kind = kind
        self.file_delimiter = file_delimiter

    @staticmethod
    def concat_file_compactor(file_delimiter: bytes | None = None) -> FileCompactor:
        """Return a compactor that concatenates files, for formats that allow it, such as text.

        Args:
            file_delimiter: Bytes written between two files; None writes nothing.
        """
        return FileCompactor("concat", file_delimiter)

    @staticmethod
    def identical_file_compactor() -> FileCompactor:
        """Return a compactor that leaves files as they are."""
        return FileCompactor("identical")


@dataclass(frozen=True)
class FileCompaction:
    """The strategy and the compactor of a sink."""

    strategy: FileCompactStrategy
    compactor: FileCompactor


@dataclass(frozen=True)
class FileSinkSettings:
    """Settings of a file sink; either `encoder` or `writer_factory` is set.

    Attributes:
        columns: How the column batches of a table's sink are split (`TableFileSettings`).
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

    def __post_init__(self) -> None:
        """Check the path: an empty one would be the working directory of a host.

        Raises:
            ValueError: it is empty.
        """
        if not self.base_path:
            raise ValueError(f"a file sink needs the path of a directory; found {self.base_path!r}")
