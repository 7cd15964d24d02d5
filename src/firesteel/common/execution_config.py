"""Execution settings of a job (module as `pyflink.common.execution_config`)."""

from __future__ import annotations

import json
from typing import Any

from firesteel.common.configuration import Configuration
from firesteel.common.java_objects import WithoutJava
from firesteel.common.options.job_parameters import JOB_PARAMETERS, global_job_parameters
from firesteel.common.time import Duration

__all__ = ["ExecutionConfig"]

_PARALLELISM = "parallelism.default"
_MAX_PARALLELISM = "pipeline.max-parallelism"
_WATERMARK_INTERVAL = "pipeline.auto-watermark-interval"
_LATENCY_INTERVAL = "metrics.latency.interval"
_CANCELLATION_INTERVAL = "task.cancellation.interval"
_CANCELLATION_TIMEOUT = "task.cancellation.timeout"


class ExecutionConfig(WithoutJava):
    """A typed view of the execution options of a `Configuration`; setters change that configuration.

    Args:
        configuration: The configuration to read and change; None creates an empty one of its own.

    Example:
        >>> config = env.get_config().set_auto_watermark_interval(500).enable_object_reuse()
        >>> config.get_auto_watermark_interval(), config.is_object_reuse_enabled()
        (500, True)
    """

    PARALLELISM_DEFAULT = -1
    PARALLELISM_UNKNOWN = -2

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration

    def _set(self, key: str, value: bool) -> ExecutionConfig:
        self._configuration.set_boolean(key, value)
        return self

    def _millis(self, key: str, default: int) -> int:
        return self._configuration.get_duration(key, Duration.of_millis(default)).to_millis()

    def _set_millis(self, key: str, value: int) -> ExecutionConfig:
        if value < 0:
            raise ValueError(f"{key} must be 0 ms or greater, found {value}")
        self._configuration.set_string(key, f"{value} ms")
        return self

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Store the setting, which has no effect: Python functions have no closures to clean."""
        self._configuration.set_string("pipeline.closure-cleaner-level", "RECURSIVE")
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Store the setting, which has no effect: Python functions have no closures to clean."""
        self._configuration.set_string("pipeline.closure-cleaner-level", "NONE")
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        """Return whether the closure cleaner is enabled (default True)."""
        return self._configuration.get_string("pipeline.closure-cleaner-level", "RECURSIVE") != "NONE"

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Set the interval of periodic watermarks in milliseconds; 0 disables them.

        Args:
            interval: The interval in ms, by default 200.
        """
        return self._set_millis(_WATERMARK_INTERVAL, interval)

    def get_auto_watermark_interval(self) -> int:
        """Return the interval of periodic watermarks in milliseconds (default 200)."""
        return self._millis(_WATERMARK_INTERVAL, 200)

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Store the interval of latency markers, which has no effect: sources emit none.

        Args:
            interval: Milliseconds, 0 or more.

        Raises:
            ValueError: `interval` is negative.
        """
        return self._set_millis(_LATENCY_INTERVAL, interval)

    def get_latency_tracking_interval(self) -> int:
        """Return the interval of latency markers in milliseconds; 0 (the default) means none."""
        return self._millis(_LATENCY_INTERVAL, 0)

    def get_parallelism(self) -> int:
        """Return the default parallelism of operators, or -1 if it is not set."""
        return self._configuration.get_integer(_PARALLELISM, self.PARALLELISM_DEFAULT)

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the default parallelism of operators.

        Args:
            parallelism: At least 1, or -1 for the system's default.

        Raises:
            ValueError: the number is out of range.
        """
        if parallelism < 1 and parallelism != self.PARALLELISM_DEFAULT:
            raise ValueError(f"Parallelism must be at least 1, or -1 for the system's default; found {parallelism}")
        self._configuration.set_integer(_PARALLELISM, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the default maximum parallelism of operators, or -1 if it is not set."""
        return self._configuration.get_integer(_MAX_PARALLELISM, -1)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the default maximum parallelism of operators, which is also their number of key groups.

        Args:
            max_parallelism: From 1 to 32768; state written with another value cannot be restored.

        Raises:
            ValueError: the number is out of range.
        """
        if not 1 <= max_parallelism <= 32768:
            raise ValueError(f"Max parallelism must be within 1..32768, found {max_parallelism}")
        self._configuration.set_integer(_MAX_PARALLELISM, max_parallelism)
        return self

    def get_task_cancellation_interval(self) -> int:
        """Return the interval of attempts to interrupt a task that does not stop, in milliseconds (default 30000)."""
        return self._millis(_CANCELLATION_INTERVAL, 30_000)

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Set the interval of attempts to interrupt a task that does not stop, in milliseconds.

        Args:
            interval: The interval in ms, by default 30,000.
        """
        return self._set_millis(_CANCELLATION_INTERVAL, interval)

    def get_task_cancellation_timeout(self) -> int:
        """Return the time in milliseconds after which a task that does not stop is a fatal error.

        The default is 180000; 0 means never.
        """
        return self._millis(_CANCELLATION_TIMEOUT, 180_000)

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Set the time in milliseconds after which a task that does not stop is a fatal error; 0 means never.

        Args:
            timeout: The time in ms, by default 180,000.
        """
        return self._set_millis(_CANCELLATION_TIMEOUT, timeout)

    def enable_force_avro(self) -> ExecutionConfig:
        """Store the setting, which has no effect: Python records are never serialized with Avro."""
        return self._set("pipeline.force-avro", True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Store the setting, which has no effect: Python records are never serialized with Avro."""
        return self._set("pipeline.force-avro", False)

    def is_force_avro_enabled(self) -> bool:
        """Return whether Avro is forced (default False)."""
        return self._configuration.get_boolean("pipeline.force-avro", False)

    def enable_generic_types(self) -> ExecutionConfig:
        """Store the setting, which concerns Java types only."""
        return self._set("pipeline.generic-types", True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Store the setting, which concerns Java types only."""
        return self._set("pipeline.generic-types", False)

    def has_generic_types_disabled(self) -> bool:
        """Return whether generic types are disabled (default False)."""
        return not self._configuration.get_boolean("pipeline.generic-types", True)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Generate the id of an operator without a uid from its position in the graph (the default)."""
        return self._set("pipeline.auto-generate-uids", True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Require a uid of every operator."""
        return self._set("pipeline.auto-generate-uids", False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Return whether uids are generated (default True)."""
        return self._configuration.get_boolean("pipeline.auto-generate-uids", True)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Pass objects from operator to operator without copies.

        Then results that user code changes later, and objects that two branches receive, are shared. State is still
        copied.
        """
        return self._set("pipeline.object-reuse", True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Copy mutable objects between operators, as if each transfer serialized them (the default)."""
        return self._set("pipeline.object-reuse", False)

    def is_object_reuse_enabled(self) -> bool:
        """Return whether objects are reused (default False)."""
        return self._configuration.get_boolean("pipeline.object-reuse", False)

    def get_global_job_parameters(self) -> dict[str, str]:
        """Return the parameters that every operator can read."""
        return global_job_parameters(self._configuration.to_dict())

    def set_global_job_parameters(self, global_job_parameters_dict: dict[str, Any]) -> ExecutionConfig:
        """Set parameters that every function can read with `get_job_parameter`.

        Args:
            global_job_parameters_dict: Replaces all former parameters; keys and values are converted by `str`.
        """
        texts = {str(key): str(value) for key, value in global_job_parameters_dict.items()}
        self._configuration.set_string(JOB_PARAMETERS, json.dumps(texts))
        return self

    def get_registered_pojo_types(self) -> list[str]:
        """Return the registered Java classes, which are none."""
        return []

    def is_use_snapshot_compression(self) -> bool:
        """Return whether snapshots of keyed state are compressed (default False)."""
        return self._configuration.get_boolean("execution.checkpointing.snapshot-compression", False)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Store the setting, which has no effect.

        Args:
            use_snapshot_compression: Returned by `is_use_snapshot_compression`.
        """
        return self._set("execution.checkpointing.snapshot-compression", use_snapshot_compression)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)
