"""Checkpoint settings (module as `pyflink.datastream.checkpoint_config`)."""

from __future__ import annotations

from firesteel.common.checks import require
from firesteel.common.configuration import Configuration
from firesteel.common.java_objects import WithoutJava
from firesteel.common.options.checkpointing_options import (
    CHECKPOINTING_INTERVAL,
    CHECKPOINTING_MAX_CONCURRENT,
    CHECKPOINTING_MIN_PAUSE,
    CHECKPOINTING_RETENTION,
    CHECKPOINTING_TIMEOUT,
    CHECKPOINTING_TOLERABLE_FAILURES,
)
from firesteel.common.options.option import Option
from firesteel.common.options.stored_options import (
    ALIGNED_TIMEOUT,
    CHECKPOINTING_MODE,
    UNALIGNED_ENABLED,
    UNALIGNED_FORCED,
)
from firesteel.common.time import Duration
from firesteel.datastream.checkpointing_mode import CheckpointingMode
from firesteel.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention

__all__ = ["CheckpointConfig"]

_NOT_KEPT = ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS


class CheckpointConfig(WithoutJava):
    """A typed view of the checkpoint options of a `Configuration`; setters change that configuration.

    Args:
        configuration: The configuration to read and change; None creates an empty one of its own.

    Example:
        >>> config = CheckpointConfig()
        >>> config.set_checkpoint_interval(5000).get_checkpoint_interval()
        5000
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def _millis(self, option: Option[float]) -> int:
        return round(self._configuration.get(option) * 1000)

    def _set_millis(self, option: Option[float], value: int, least: int = 0) -> CheckpointConfig:
        require(value, int, f"{option.key}, in ms,")
        if value < least:
            raise ValueError(f"{option.key} must be at least {least} ms, found {value}")
        self._configuration.set_string(option.key, f"{value} ms")
        return self

    def _set_flag(self, option: Option[bool], value: bool) -> CheckpointConfig:
        self._configuration.set_boolean(option.key, value)
        return self

    def is_checkpointing_enabled(self) -> bool:
        """Return whether a checkpoint interval is set."""
        return self._millis(CHECKPOINTING_INTERVAL) > 0

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the checkpointing mode (default EXACTLY_ONCE)."""
        return CheckpointingMode[self._configuration.get(CHECKPOINTING_MODE)]

    def set_checkpointing_mode(self, checkpointing_mode: CheckpointingMode) -> CheckpointConfig:
        """Set the checkpointing mode.

        Args:
            checkpointing_mode: EXACTLY_ONCE or AT_LEAST_ONCE.
        """
        self._configuration.set_string(CHECKPOINTING_MODE.key, checkpointing_mode.name)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return the checkpoint interval in milliseconds, or -1 if checkpointing is disabled."""
        return self._millis(CHECKPOINTING_INTERVAL) or -1

    def set_checkpoint_interval(self, checkpoint_interval: int) -> CheckpointConfig:
        """Set the checkpoint interval in milliseconds, at least 10.

        Args:
            checkpoint_interval: The interval in ms.

        Raises:
            ValueError: It is less than 10.
        """
        return self._set_millis(CHECKPOINTING_INTERVAL, checkpoint_interval, least=10)

    def get_checkpoint_timeout(self) -> int:
        """Return the time in milliseconds after which a checkpoint is aborted (default 600000)."""
        return self._millis(CHECKPOINTING_TIMEOUT)

    def set_checkpoint_timeout(self, checkpoint_timeout: int) -> CheckpointConfig:
        """Set the time in milliseconds after which a checkpoint is aborted, at least 10.

        Args:
            checkpoint_timeout: The time in ms, by default 600,000.

        Raises:
            ValueError: It is less than 10.
        """
        return self._set_millis(CHECKPOINTING_TIMEOUT, checkpoint_timeout, least=10)

    def get_min_pause_between_checkpoints(self) -> int:
        """Return the minimum pause in milliseconds between the end of a checkpoint and the next one (default 0)."""
        return self._millis(CHECKPOINTING_MIN_PAUSE)

    def set_min_pause_between_checkpoints(self, min_pause_between_checkpoints: int) -> CheckpointConfig:
        """Set the minimum pause in milliseconds between the end of a checkpoint and the next one.

        Args:
            min_pause_between_checkpoints: The pause in ms, by default 0.

        Raises:
            ValueError: It is negative.
        """
        return self._set_millis(CHECKPOINTING_MIN_PAUSE, min_pause_between_checkpoints)

    def get_max_concurrent_checkpoints(self) -> int:
        """Return the maximum number of concurrent checkpoints (default 1)."""
        return self._configuration.get(CHECKPOINTING_MAX_CONCURRENT)

    def set_max_concurrent_checkpoints(self, max_concurrent_checkpoints: int) -> CheckpointConfig:
        """Set the maximum number of checkpoints that are pending at once.

        Args:
            max_concurrent_checkpoints: At least 1 (the default); savepoints do not count.

        Raises:
            ValueError: the number is less than 1.
        """
        if max_concurrent_checkpoints < 1:
            raise ValueError(f"max_concurrent_checkpoints must be at least 1, found {max_concurrent_checkpoints}")
        self._configuration.set_integer(CHECKPOINTING_MAX_CONCURRENT.key, max_concurrent_checkpoints)
        return self

    def is_fail_on_checkpointing_errors(self) -> bool:
        """Return whether a single failed checkpoint fails the job."""
        return self.get_tolerable_checkpoint_failure_number() == 0

    def set_fail_on_checkpointing_errors(self, fail_on_checkpointing_errors: bool) -> CheckpointConfig:
        """Set whether a failed checkpoint fails the job.

        Args:
            fail_on_checkpointing_errors: False tolerates any number of failed checkpoints.
        """
        return self.set_tolerable_checkpoint_failure_number(0 if fail_on_checkpointing_errors else 2**31 - 1)

    def get_tolerable_checkpoint_failure_number(self) -> int:
        """Return the number of consecutive failed checkpoints that do not fail the job (default 0)."""
        return self._configuration.get(CHECKPOINTING_TOLERABLE_FAILURES)

    def set_tolerable_checkpoint_failure_number(self, tolerable_checkpoint_failure_number: int) -> CheckpointConfig:
        """Set how many failed checkpoints in a row the job tolerates.

        Args:
            tolerable_checkpoint_failure_number: 0 or more (default 0); a completed checkpoint starts the count anew.

        Raises:
            ValueError: the number is negative.
        """
        if tolerable_checkpoint_failure_number < 0:
            number = tolerable_checkpoint_failure_number
            raise ValueError(f"The tolerable number of failed checkpoints must be 0 or greater, found {number}")
        self._configuration.set_integer(CHECKPOINTING_TOLERABLE_FAILURES.key, tolerable_checkpoint_failure_number)
        return self

    def set_externalized_checkpoint_retention(
        self, retention_mode: ExternalizedCheckpointRetention
    ) -> CheckpointConfig:
        """Set whether the last checkpoint is retained when the job is cancelled.

        Args:
            retention_mode: RETAIN_ON_CANCELLATION, DELETE_ON_CANCELLATION or NO_EXTERNALIZED_CHECKPOINTS.
        """
        self._configuration.set_string(CHECKPOINTING_RETENTION.key, retention_mode.name)
        return self

    def is_externalized_checkpoints_enabled(self) -> bool:
        """Return whether checkpoints are externalized."""
        return self.get_externalized_checkpoint_retention() is not _NOT_KEPT

    def get_externalized_checkpoint_retention(self) -> ExternalizedCheckpointRetention:
        """Return whether the last checkpoint is retained on cancellation (default NO_EXTERNALIZED_CHECKPOINTS)."""
        return ExternalizedCheckpointRetention[self._configuration.get(CHECKPOINTING_RETENTION)]

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return whether unaligned checkpoints are enabled; always False with AT_LEAST_ONCE."""
        return (
            self._configuration.get(UNALIGNED_ENABLED)
            and self.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
        )

    def enable_unaligned_checkpoints(self, enabled: bool = True) -> CheckpointConfig:
        """Store the setting, which has no effect.

        A checkpoint is taken at the end of a micro-batch, when no records are in flight.

        Args:
            enabled: Returned by `is_unaligned_checkpoints_enabled`.
        """
        return self._set_flag(UNALIGNED_ENABLED, enabled)

    def disable_unaligned_checkpoints(self) -> CheckpointConfig:
        """Store the setting, which has no effect; see `enable_unaligned_checkpoints`."""
        return self.enable_unaligned_checkpoints(False)

    def set_alignment_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Store the alignment timeout, which has no effect; see `enable_unaligned_checkpoints`.

        Args:
            alignment_timeout: 0 or more.

        Raises:
            ValueError: the timeout is negative.
        """
        return self.set_aligned_checkpoint_timeout(alignment_timeout)

    def get_alignment_timeout(self) -> Duration:
        """Return the alignment timeout; 0 means none."""
        return self.get_aligned_checkpoint_timeout()

    def set_aligned_checkpoint_timeout(self, alignment_timeout: Duration) -> CheckpointConfig:
        """Store the alignment timeout, which has no effect; see `enable_unaligned_checkpoints`.

        Args:
            alignment_timeout: 0 or more.

        Raises:
            ValueError: the timeout is negative.
        """
        return self._set_millis(ALIGNED_TIMEOUT, alignment_timeout.to_millis())

    def get_aligned_checkpoint_timeout(self) -> Duration:
        """Return the alignment timeout; 0 means none."""
        return Duration.of_millis(self._millis(ALIGNED_TIMEOUT))

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return whether unaligned checkpoints are forced (default False)."""
        return self._configuration.get(UNALIGNED_FORCED)

    def set_force_unaligned_checkpoints(self, force_unaligned_checkpoints: bool = True) -> CheckpointConfig:
        """Store the setting, which has no effect; see `enable_unaligned_checkpoints`.

        Args:
            force_unaligned_checkpoints: Returned by `is_force_unaligned_checkpoints`.
        """
        return self._set_flag(UNALIGNED_FORCED, force_unaligned_checkpoints)
