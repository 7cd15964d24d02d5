"""Execution settings of a job (module as `pyflink.common.execution_config`)."""

from __future__ import annotations

import json
from typing import Any

from firesteel.common.checks import require
from firesteel.common.configuration import Configuration
from firesteel.common.java_objects import WithoutJava
from firesteel.common.keys.max_parallelism import check_max_parallelism
from firesteel.common.options.execution_options import TASK_CANCELLATION_TIMEOUT
from firesteel.common.options.job_parameters import global_job_parameters
from firesteel.common.options.option import Option
from firesteel.common.options.pipeline_options import (
    AUTO_GENERATE_UIDS,
    AUTO_WATERMARK_INTERVAL,
    DEFAULT_PARALLELISM,
    GLOBAL_JOB_PARAMETERS,
    MAX_PARALLELISM,
    OBJECT_REUSE,
)
from firesteel.common.options.stored_options import (
    CHECKPOINTING_COMPRESSION,
    CLOSURE_CLEANER,
    FORCE_AVRO,
    GENERIC_TYPES,
    LATENCY_INTERVAL,
    TASK_CANCELLATION_INTERVAL,
)

__all__ = ["ExecutionConfig"]


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

    def _set(self, option: Option[bool], value: bool) -> ExecutionConfig:
        self._configuration.set_boolean(option.key, value)
        return self

    def _millis(self, option: Option[float]) -> int:
        return round(self._configuration.get(option) * 1000)

    def _set_millis(self, option: Option[float], value: int) -> ExecutionConfig:
        if value < 0:
            raise ValueError(f"{option.key} must be 0 ms or greater, found {value}")
        self._configuration.set_string(option.key, f"{value} ms")
        return self

    def enable_closure_cleaner(self) -> ExecutionConfig:
        """Store the setting, which has no effect: Python functions have no closures to clean."""
        self._configuration.set_string(CLOSURE_CLEANER.key, "RECURSIVE")
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Store the setting, which has no effect: Python functions have no closures to clean."""
        self._configuration.set_string(CLOSURE_CLEANER.key, "NONE")
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        """Return whether the closure cleaner is enabled (default True)."""
        return self._configuration.get(CLOSURE_CLEANER) != "NONE"

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Set the interval of periodic watermarks in milliseconds; 0 disables them.

        Args:
            interval: The interval in ms, by default 200.
        """
        return self._set_millis(AUTO_WATERMARK_INTERVAL, interval)

    def get_auto_watermark_interval(self) -> int:
        """Return the interval of periodic watermarks in milliseconds (default 200)."""
        return self._millis(AUTO_WATERMARK_INTERVAL)

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Store the interval of latency markers, which has no effect: sources emit none.

        Args:
            interval: Milliseconds, 0 or more.

        Raises:
            ValueError: `interval` is negative.
        """
        return self._set_millis(LATENCY_INTERVAL, interval)

    def get_latency_tracking_interval(self) -> int:
        """Return the interval of latency markers in milliseconds; 0 (the default) means none."""
        return self._millis(LATENCY_INTERVAL)

    def get_parallelism(self) -> int:
        """Return the default parallelism of operators, or -1 if it is not set."""
        return self._configuration.get(DEFAULT_PARALLELISM) or self.PARALLELISM_DEFAULT

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Set the default parallelism of operators.

        Args:
            parallelism: At least 1, or -1 for the system's default.

        Raises:
            ValueError: the number is out of range.
        """
        require(parallelism, int, "set_parallelism()")
        if parallelism < 1 and parallelism != self.PARALLELISM_DEFAULT:
            raise ValueError(f"Parallelism must be at least 1, or -1 for the system's default; found {parallelism}")
        self._configuration.set_integer(DEFAULT_PARALLELISM.key, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the default maximum parallelism of operators, or -1 if it is not set."""
        return self._configuration.get(MAX_PARALLELISM)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Set the default maximum parallelism of operators, which is also their number of key groups.

        Args:
            max_parallelism: From 1 to 32768; state written with another value cannot be restored.

        Raises:
            ValueError: the number is out of range.
        """
        check_max_parallelism(max_parallelism)
        self._configuration.set_integer(MAX_PARALLELISM.key, max_parallelism)
        return self

    def get_task_cancellation_interval(self) -> int:
        """Return the interval of attempts to interrupt a task that does not stop, in milliseconds (default 30000)."""
        return self._millis(TASK_CANCELLATION_INTERVAL)

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Set the interval of attempts to interrupt a task that does not stop, in milliseconds.

        Args:
            interval: The interval in ms, by default 30,000.
        """
        return self._set_millis(TASK_CANCELLATION_INTERVAL, interval)

    def get_task_cancellation_timeout(self) -> int:
        """Return the time in milliseconds after which a task that does not stop is a fatal error.

        The default is 180000; 0 means never.
        """
        return self._millis(TASK_CANCELLATION_TIMEOUT)

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Set the time in milliseconds after which a task that does not stop is a fatal error; 0 means never.

        Args:
            timeout: The time in ms, by default 180,000.
        """
        return self._set_millis(TASK_CANCELLATION_TIMEOUT, timeout)

    def enable_force_avro(self) -> ExecutionConfig:
        """Store the setting, which has no effect: Python records are never serialized with Avro."""
        return self._set(FORCE_AVRO, True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Store the setting, which has no effect: Python records are never serialized with Avro."""
        return self._set(FORCE_AVRO, False)

    def is_force_avro_enabled(self) -> bool:
        """Return whether Avro is forced (default False)."""
        return self._configuration.get(FORCE_AVRO)

    def enable_generic_types(self) -> ExecutionConfig:
        """Store the setting, which concerns Java types only."""
        return self._set(GENERIC_TYPES, True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Store the setting, which concerns Java types only."""
        return self._set(GENERIC_TYPES, False)

    def has_generic_types_disabled(self) -> bool:
        """Return whether generic types are disabled (default False)."""
        return not self._configuration.get(GENERIC_TYPES)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Generate the id of an operator without a uid from its position in the graph (the default)."""
        return self._set(AUTO_GENERATE_UIDS, True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Require a uid of every operator."""
        return self._set(AUTO_GENERATE_UIDS, False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """Return whether uids are generated (default True)."""
        return self._configuration.get(AUTO_GENERATE_UIDS)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Pass objects from operator to operator without copies.

        Then results that user code changes later, and objects that two branches receive, are shared. State is still
        copied.
        """
        return self._set(OBJECT_REUSE, True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Copy mutable objects between operators, as if each transfer serialized them (the default)."""
        return self._set(OBJECT_REUSE, False)

    def is_object_reuse_enabled(self) -> bool:
        """Return whether objects are reused (default False)."""
        return self._configuration.get(OBJECT_REUSE)

    def get_global_job_parameters(self) -> dict[str, str]:
        """Return the parameters that every operator can read."""
        return global_job_parameters(self._configuration.to_dict())

    def set_global_job_parameters(self, global_job_parameters_dict: dict[str, Any]) -> ExecutionConfig:
        """Set parameters that every function can read with `get_job_parameter`.

        Args:
            global_job_parameters_dict: Replaces all former parameters; keys and values are converted by `str`.
        """
        texts = {str(key): str(value) for key, value in global_job_parameters_dict.items()}
        self._configuration.set_string(GLOBAL_JOB_PARAMETERS.key, json.dumps(texts))
        return self

    def get_registered_pojo_types(self) -> list[str]:
        """Return the registered Java classes, which are none."""
        return []

    def is_use_snapshot_compression(self) -> bool:
        """Return whether snapshots of keyed state are compressed (default False)."""
        return self._configuration.get(CHECKPOINTING_COMPRESSION)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Store the setting, which has no effect.

        Args:
            use_snapshot_compression: Returned by `is_use_snapshot_compression`.
        """
        return self._set(CHECKPOINTING_COMPRESSION, use_snapshot_compression)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)
