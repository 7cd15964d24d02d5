"""Types, rows, settings and strategies shared by all packages (as `pyflink.common`)."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firesteel.common.completable_future import CompletableFuture
    from firesteel.common.config_options import ConfigOption, ConfigOptions
    from firesteel.common.configuration import Configuration
    from firesteel.common.execution_config import ExecutionConfig
    from firesteel.common.input_dependency_constraint import InputDependencyConstraint
    from firesteel.common.job_client import JobClient
    from firesteel.common.job_execution_result import JobExecutionResult
    from firesteel.common.job_id import JobID
    from firesteel.common.job_status import JobStatus
    from firesteel.common.restart_strategy import RestartStrategies, RestartStrategyConfiguration
    from firesteel.common.serialization import (
        ByteArraySchema,
        DeserializationSchema,
        Encoder,
        SerializationSchema,
        SimpleStringSchema,
    )
    from firesteel.common.serializer import TypeSerializer
    from firesteel.common.time import Duration, Instant, Time
    from firesteel.common.typeinfo import TypeInformation, Types
    from firesteel.common.types import Row, RowKind
    from firesteel.common.watermark_strategy import (
        AssignerWithPeriodicWatermarksWrapper,
        TimestampAssigner,
        WatermarkGenerator,
        WatermarkOutput,
        WatermarkStrategy,
    )

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "ByteArraySchema",
    "CompletableFuture",
    "ConfigOption",
    "ConfigOptions",
    "Configuration",
    "DeserializationSchema",
    "Duration",
    "Encoder",
    "ExecutionConfig",
    "InputDependencyConstraint",
    "Instant",
    "JobClient",
    "JobExecutionResult",
    "JobID",
    "JobStatus",
    "RestartStrategies",
    "RestartStrategyConfiguration",
    "Row",
    "RowKind",
    "SerializationSchema",
    "SimpleStringSchema",
    "Time",
    "TimestampAssigner",
    "TypeInformation",
    "TypeSerializer",
    "Types",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]

_NAMES = {
    "completable_future": ("CompletableFuture",),
    "config_options": ("ConfigOption", "ConfigOptions"),
    "configuration": ("Configuration",),
    "execution_config": ("ExecutionConfig",),
    "input_dependency_constraint": ("InputDependencyConstraint",),
    "job_client": ("JobClient",),
    "job_execution_result": ("JobExecutionResult",),
    "job_id": ("JobID",),
    "job_status": ("JobStatus",),
    "restart_strategy": ("RestartStrategies", "RestartStrategyConfiguration"),
    "serialization": (
        "ByteArraySchema",
        "DeserializationSchema",
        "Encoder",
        "SerializationSchema",
        "SimpleStringSchema",
    ),
    "serializer": ("TypeSerializer",),
    "time": ("Duration", "Instant", "Time"),
    "typeinfo": ("TypeInformation", "Types"),
    "types": ("Row", "RowKind"),
    "watermark_strategy": (
        "AssignerWithPeriodicWatermarksWrapper",
        "TimestampAssigner",
        "WatermarkGenerator",
        "WatermarkOutput",
        "WatermarkStrategy",
    ),
}
"""Module -> the names that it defines. A module is imported with the first use of one of its names, as processes whose
start somebody waits for use other modules of this package, and few of these."""

if not TYPE_CHECKING:  # Otherwise a type checker would accept every name.

    def __getattr__(name: str) -> object:
        from importlib import import_module

        for module, names in _NAMES.items():
            if name in names:
                value = globals()[name] = getattr(import_module(f"firesteel.common.{module}"), name)
                return value
        raise AttributeError(f"module 'firesteel.common' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return [*globals(), *__all__]
