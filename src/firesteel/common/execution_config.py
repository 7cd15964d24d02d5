"""Settings of a job's execution (module as `pyflink.common.execution_config`)."""

from __future__ import annotations

import json
from typing import Any

from firesteel.common.configuration import Configuration
from firesteel.common.java_objects import WithoutJava
from firesteel.common.time import Duration

__all__ = ["ExecutionConfig"]

_PARALLELISM = "parallelism.default"
_MAX_PARALLELISM = "pipeline.max-parallelism"
_WATERMARK_INTERVAL = "pipeline.auto-watermark-interval"
_LATENCY_INTERVAL = "metrics.latency.interval"
_CANCELLATION_INTERVAL = "task.cancellation.interval"
_CANCELLATION_TIMEOUT = "task.cancellation.timeout"
_JOB_PARAMETERS = "pipeline.global-job-parameters"


class ExecutionConfig(WithoutJava):
    """A typed view of the execution settings in a `Configuration`: what is set here is set there."""

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
        """Stored; Python functions have no closures to clean."""
        self._configuration.set_string("pipeline.closure-cleaner-level", "RECURSIVE")
        return self

    def disable_closure_cleaner(self) -> ExecutionConfig:
        """Stored; Python functions have no closures to clean."""
        self._configuration.set_string("pipeline.closure-cleaner-level", "NONE")
        return self

    def is_closure_cleaner_enabled(self) -> bool:
        """True unless disabled."""
        return self._configuration.get_string("pipeline.closure-cleaner-level", "RECURSIVE") != "NONE"

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Sets the milliseconds between periodic watermarks; 0 emits none."""
        return self._set_millis(_WATERMARK_INTERVAL, interval)

    def get_auto_watermark_interval(self) -> int:
        """Milliseconds between periodic watermarks (200)."""
        return self._millis(_WATERMARK_INTERVAL, 200)

    def set_latency_tracking_interval(self, interval: int) -> ExecutionConfig:
        """Sets the milliseconds between latency markers; 0 sends none."""
        return self._set_millis(_LATENCY_INTERVAL, interval)

    def get_latency_tracking_interval(self) -> int:
        """Milliseconds between latency markers (0: none)."""
        return self._millis(_LATENCY_INTERVAL, 0)

    def get_parallelism(self) -> int:
        """Parallelism of operators that set none; -1 if it is open."""
        return self._configuration.get_integer(_PARALLELISM, self.PARALLELISM_DEFAULT)

    def set_parallelism(self, parallelism: int) -> ExecutionConfig:
        """Sets the parallelism of operators that set none."""
        if parallelism < 1 and parallelism != self.PARALLELISM_DEFAULT:
            raise ValueError(f"Parallelism must be at least 1, or -1 for the system's default; found {parallelism}")
        self._configuration.set_integer(_PARALLELISM, parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Max parallelism of operators that set none; -1 if it is open."""
        return self._configuration.get_integer(_MAX_PARALLELISM, -1)

    def set_max_parallelism(self, max_parallelism: int) -> ExecutionConfig:
        """Sets the max parallelism of operators that set none."""
        if not 1 <= max_parallelism <= 32768:
            raise ValueError(f"Max parallelism must be within 1..32768, found {max_parallelism}")
        self._configuration.set_integer(_MAX_PARALLELISM, max_parallelism)
        return self

    def get_task_cancellation_interval(self) -> int:
        """Milliseconds between attempts to interrupt a task that does not stop (30000)."""
        return self._millis(_CANCELLATION_INTERVAL, 30_000)

    def set_task_cancellation_interval(self, interval: int) -> ExecutionConfig:
        """Sets the milliseconds between attempts to interrupt a task that does not stop."""
        return self._set_millis(_CANCELLATION_INTERVAL, interval)

    def get_task_cancellation_timeout(self) -> int:
        """Milliseconds after which a task that does not stop is fatal (180000; 0: never)."""
        return self._millis(_CANCELLATION_TIMEOUT, 180_000)

    def set_task_cancellation_timeout(self, timeout: int) -> ExecutionConfig:
        """Sets the milliseconds after which a task that does not stop is fatal; 0 is never."""
        return self._set_millis(_CANCELLATION_TIMEOUT, timeout)

    def enable_force_avro(self) -> ExecutionConfig:
        """Stored; Python records are never serialised by Avro."""
        return self._set("pipeline.force-avro", True)

    def disable_force_avro(self) -> ExecutionConfig:
        """Stored; Python records are never serialised by Avro."""
        return self._set("pipeline.force-avro", False)

    def is_force_avro_enabled(self) -> bool:
        """False unless enabled."""
        return self._configuration.get_boolean("pipeline.force-avro", False)

    def enable_generic_types(self) -> ExecutionConfig:
        """Allows types that are serialised generically."""
        return self._set("pipeline.generic-types", True)

    def disable_generic_types(self) -> ExecutionConfig:
        """Stored; concerns Java types only."""
        return self._set("pipeline.generic-types", False)

    def has_generic_types_disabled(self) -> bool:
        """False unless disabled."""
        return not self._configuration.get_boolean("pipeline.generic-types", True)

    def enable_auto_generated_uids(self) -> ExecutionConfig:
        """Operators without uid get an id from their place in the graph (default)."""
        return self._set("pipeline.auto-generate-uids", True)

    def disable_auto_generated_uids(self) -> ExecutionConfig:
        """Every operator must have a uid."""
        return self._set("pipeline.auto-generate-uids", False)

    def has_auto_generated_uids_enabled(self) -> bool:
        """True unless disabled."""
        return self._configuration.get_boolean("pipeline.auto-generate-uids", True)

    def enable_object_reuse(self) -> ExecutionConfig:
        """Hand objects on from operator to operator without copies.

        Results that user code changes later, and objects that two branches get, are then shared. State is still copied.
        """
        return self._set("pipeline.object-reuse", True)

    def disable_object_reuse(self) -> ExecutionConfig:
        """Copy what user code could change later, as if each hand-over serialised it; the default."""
        return self._set("pipeline.object-reuse", False)

    def is_object_reuse_enabled(self) -> bool:
        """False unless enabled."""
        return self._configuration.get_boolean("pipeline.object-reuse", False)

    def get_global_job_parameters(self) -> dict[str, str]:
        """Parameters that every operator can read."""
        text = self._configuration.get_string(_JOB_PARAMETERS, "{}")
        if text.startswith("{"):
            return {str(key): str(value) for key, value in json.loads(text).items()}
        pairs = (item.partition(":") for item in text.split(",") if item)
        return {key.strip(): value.strip() for key, _, value in pairs}

    def set_global_job_parameters(self, global_job_parameters_dict: dict[str, Any]) -> ExecutionConfig:
        """Sets the parameters that every operator can read."""
        texts = {str(key): str(value) for key, value in global_job_parameters_dict.items()}
        self._configuration.set_string(_JOB_PARAMETERS, json.dumps(texts))
        return self

    def get_registered_pojo_types(self) -> list[str]:
        """Registered Java classes: none."""
        return []

    def is_use_snapshot_compression(self) -> bool:
        """False unless set."""
        return self._configuration.get_boolean("execution.checkpointing.snapshot-compression", False)

    def set_use_snapshot_compression(self, use_snapshot_compression: bool) -> ExecutionConfig:
        """Compresses snapshots of keyed state."""
        return self._set("execution.checkpointing.snapshot-compression", use_snapshot_compression)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExecutionConfig) and self._configuration == other._configuration

    def __hash__(self) -> int:
        return hash(self._configuration)
