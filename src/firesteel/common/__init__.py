"""Types, rows, settings and strategies shared by all packages (as `pyflink.common`)."""

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
