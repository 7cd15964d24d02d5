"""The entry point of a program (module as `pyflink.datastream.stream_execution_environment`)."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterable
from typing import Any, NoReturn, TypeVar, overload

from firesteel.common.checks import require
from firesteel.common.configuration import Configuration, default_options
from firesteel.common.execution_config import ExecutionConfig
from firesteel.common.io import InputFormat
from firesteel.common.jars import note_of_jar
from firesteel.common.java_objects import WithoutJava
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.options.checkpointing_options import CHECKPOINTING_SAVEPOINT_DIR
from firesteel.common.options.execution_options import BUFFER_TIMEOUT_ENABLED, BUFFER_TIMEOUT_INTERVAL, RUNTIME_MODE
from firesteel.common.options.option import Option
from firesteel.common.options.option_check import check_options
from firesteel.common.options.pipeline_options import CHAIN_DIFFERENT_MAX_PARALLELISM, OPERATOR_CHAINING
from firesteel.common.options.python_options import (
    PYTHON_ARCHIVES,
    PYTHON_EXECUTABLE,
    PYTHON_FILES,
    PYTHON_OPERATOR_CHAINING,
    PYTHON_REQUIREMENTS,
)
from firesteel.common.options.stored_options import PIPELINE_JARS, STATE_CHANGELOG
from firesteel.common.typeinfo import TypeInformation
from firesteel.common.types import Row
from firesteel.common.uncaught_errors import show_briefly
from firesteel.common.values.collection_input import collection_coercer
from firesteel.common.watermark_strategy import WatermarkStrategy, callable_in_source
from firesteel.connectors.files.source import FileSource
from firesteel.connectors.formats.avro.schemas import AvroFormat, AvroInputFormat
from firesteel.datastream.checkpoint_config import CheckpointConfig
from firesteel.datastream.checkpointing_mode import CheckpointingMode
from firesteel.datastream.data_stream import DataStream
from firesteel.datastream.missing_execute import hint_at_exit
from firesteel.datastream.slot_sharing_group import SlotSharingGroup
from firesteel.datastream.streams.pipeline_executor import pipeline_executor
from firesteel.datastream.streams.spark_dataframes import elements_of
from firesteel.datastream.streams.stream_base import type_or_pickled
from firesteel.datastream.streams.user_location import user_location
from firesteel.errors import TypeMismatchError
from firesteel.functions.added_functions import as_added
from firesteel.functions.closeable_iterator import CloseableIterator
from firesteel.functions.connector_base import Source
from firesteel.functions.execution_mode import RuntimeExecutionMode
from firesteel.functions.operator_builder import is_unexecuted
from firesteel.functions.operator_descriptors import (
    CollectionSourceOperator,
    CollectSinkOperator,
    MergedOperator,
    OperatorDescriptor,
    SourceFunctionOperator,
    SourceOperator,
    collect_uid,
)
from firesteel.functions.user_functions import SourceFunction
from firesteel.graph.python_merging import align_hidden_operators, copy_transformations, merge_python_operators
from firesteel.graph.stream_graph import StreamGraph
from firesteel.graph.stream_graph_generator import generate_stream_graph
from firesteel.graph.transformations import IdGenerator, OperatorTransformation, Transformation

__all__ = ["StreamExecutionEnvironment"]

T = TypeVar("T")

_logger = logging.getLogger(__name__)
_default_local_parallelism: list[int] = []


class StreamExecutionEnvironment(WithoutJava):
    """The context of one program: it holds the settings, creates the sources and starts the job.

    Args:
        configuration: Options of the program, used without a copy; None starts with no options. Programs usually call
            `get_execution_environment`, which also applies the options of the command line.

    Example:
        >>> env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
        >>> _ = env.from_collection([1, 2, 3], type_info=Types.INT()).map(lambda n: n * n, Types.INT()).print()
        >>> result = env.execute("squares")
        1
        4
        9
    """

    def __init__(self, configuration: Configuration | None = None) -> None:
        self._configuration = Configuration() if configuration is None else configuration
        self._config = ExecutionConfig(self._configuration)
        self._checkpoint_config = CheckpointConfig(self._configuration)
        self._ids = IdGenerator()
        self._transformations: list[Transformation] = []
        self._slot_sharing_groups: dict[str, SlotSharingGroup] = {}
        self._cached_files: list[tuple[str, str, bool]] = []
        self._last_id_in_a_plan = 0

    @staticmethod
    def get_execution_environment(configuration: Configuration | None = None) -> StreamExecutionEnvironment:
        """Return a new environment.

        Args:
            configuration: Options of the program. They take precedence over the options of the command line.

        Raises:
            ValueError: An option is misspelt, refused, or does not have this value.
        """
        merged = Configuration.from_dict(default_options()).with_current_keys()
        if configuration is not None:
            check_options(configuration.to_dict())
            merged.add_all(configuration.with_current_keys())
        environment = StreamExecutionEnvironment(merged)
        _latest[:] = [environment]
        hint_at_exit(has_unexecuted_program, sys._getframe(1))
        show_briefly()
        return environment

    # --- settings ----------------------------------------------------------------------------------------------------

    def get_config(self) -> ExecutionConfig:
        """Return the execution settings."""
        return self._config

    def get_configuration(self) -> Configuration:
        """Return the configuration of this environment; changes to it take effect."""
        return self._configuration

    def configure(self, configuration: Configuration) -> None:
        """Set all options of a configuration, including those under deprecated keys.

        An option that is set already is replaced.

        Args:
            configuration: The options by key, as in `config.yaml`.

        Raises:
            ValueError: An option is misspelt, refused, or does not have this value.

        Example:
            >>> env.configure(Configuration.from_dict({"parallelism.default": "4", "pipeline.name": "orders"}))
            >>> env.get_parallelism()
            4
        """
        check_options(configuration.to_dict())
        self._configuration.add_all(configuration.with_current_keys())

    def set_parallelism(self, parallelism: int) -> StreamExecutionEnvironment:
        """Set the default parallelism of operators.

        Args:
            parallelism: At least 1, or -1 for the system's default.

        Raises:
            ValueError: the number is out of range.
        """
        self._config.set_parallelism(parallelism)
        return self

    def get_parallelism(self) -> int:
        """Return the default parallelism of operators: the number of CPU cores unless it is set."""
        configured = self._config.get_parallelism()
        return configured if configured > 0 else self.get_default_local_parallelism()

    def set_max_parallelism(self, max_parallelism: int) -> StreamExecutionEnvironment:
        """Set the default maximum parallelism (number of key groups) of operators.

        Args:
            max_parallelism: From 1 to 32768; it cannot change between a savepoint and the job that is restored from it.
        """
        self._config.set_max_parallelism(max_parallelism)
        return self

    def get_max_parallelism(self) -> int:
        """Return the default maximum parallelism of operators, or -1 if it is not set."""
        return self._config.get_max_parallelism()

    def get_default_local_parallelism(self) -> int:
        """Return the parallelism used where none is set: the number of CPU cores by default."""
        return _default_local_parallelism[0] if _default_local_parallelism else os.cpu_count() or 1

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the parallelism used where none is set, for all environments of this process.

        Args:
            parallelism: Number of subtasks, at least 1.

        Raises:
            ValueError: `parallelism` is less than 1.
        """
        if parallelism < 1:
            raise ValueError(f"Parallelism must be at least 1, found {parallelism}")
        _default_local_parallelism[:] = [parallelism]

    def set_runtime_mode(self, execution_mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
        """Set the execution mode of the job: STREAMING, BATCH or AUTOMATIC.

        Args:
            execution_mode: AUTOMATIC chooses BATCH if all sources are bounded.

        Example:
            >>> _ = env.set_runtime_mode(RuntimeExecutionMode.BATCH)
            >>> numbers = env.from_collection([1, 2, 3, 4], Types.INT())
            >>> _ = numbers.key_by(lambda n: n % 2, Types.INT()).reduce(lambda a, b: a + b).collect_async()
            >>> sorted(run_local(env).elements)
            [4, 6]
        """
        require(execution_mode, RuntimeExecutionMode, "set_runtime_mode()")
        self._configuration.set_string(RUNTIME_MODE.key, execution_mode.name)
        return self

    def set_buffer_timeout(self, timeout_millis: int) -> StreamExecutionEnvironment:
        """Set the maximum time that output waits in a buffer before it is sent.

        Args:
            timeout_millis: Milliseconds; 0 sends every record at once, -1 sends full buffers only.

        Raises:
            ValueError: `timeout_millis` is less than -1.
        """
        require(timeout_millis, int, "set_buffer_timeout()")
        if timeout_millis < -1:
            raise ValueError(f"Buffer timeout must be 0 ms or greater, or -1; found {timeout_millis}")
        self._configuration.set_boolean(BUFFER_TIMEOUT_ENABLED.key, timeout_millis >= 0)
        if timeout_millis >= 0:
            self._configuration.set_string(BUFFER_TIMEOUT_INTERVAL.key, f"{timeout_millis} ms")
        return self

    def get_buffer_timeout(self) -> int:
        """Return the buffer timeout in milliseconds (100 by default); -1 sends full buffers only."""
        if not self._configuration.get(BUFFER_TIMEOUT_ENABLED):
            return -1
        return round(self._configuration.get(BUFFER_TIMEOUT_INTERVAL) * 1000)

    def disable_operator_chaining(self) -> StreamExecutionEnvironment:
        """Run every operator in a vertex of its own; adjacent Python operators are still merged."""
        self._configuration.set_boolean(OPERATOR_CHAINING.key, False)
        return self

    def is_chaining_enabled(self) -> bool:
        """Return whether operators are chained (True by default)."""
        return self._configuration.get(OPERATOR_CHAINING)

    def is_chaining_of_operators_with_different_max_parallelism_enabled(self) -> bool:
        """Return whether operators of different maximum parallelism are chained (True by default)."""
        return self._configuration.get(CHAIN_DIFFERENT_MAX_PARALLELISM)

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> StreamExecutionEnvironment:
        """Register the resources of a slot sharing group.

        Args:
            slot_sharing_group: The group with its resources; operators name it in `slot_sharing_group`.
        """
        require(slot_sharing_group, SlotSharingGroup, "register_slot_sharing_group()")
        self._slot_sharing_groups[slot_sharing_group.get_name()] = slot_sharing_group
        return self

    # --- checkpoints -------------------------------------------------------------------------------------------------

    def get_checkpoint_config(self) -> CheckpointConfig:
        """Return the checkpoint settings."""
        return self._checkpoint_config

    def enable_checkpointing(self, interval: int, mode: CheckpointingMode | None = None) -> StreamExecutionEnvironment:
        """Enable checkpointing.

        Args:
            interval: Milliseconds between two checkpoints.
            mode: EXACTLY_ONCE or AT_LEAST_ONCE; None keeps the configured mode.

        Example:
            >>> _ = env.enable_checkpointing(10_000, CheckpointingMode.EXACTLY_ONCE)
            >>> env.get_checkpoint_config().get_checkpoint_interval()
            10000
        """
        self._checkpoint_config.set_checkpoint_interval(interval)
        if mode is not None:
            self._checkpoint_config.set_checkpointing_mode(mode)
        return self

    def get_checkpoint_interval(self) -> int:
        """Return the checkpoint interval in milliseconds, or -1 if checkpointing is disabled."""
        return self._checkpoint_config.get_checkpoint_interval()

    def get_checkpointing_mode(self) -> CheckpointingMode:
        """Return the checkpointing mode (exactly-once or at-least-once)."""
        return self._checkpoint_config.get_checkpointing_mode()

    def get_checkpointing_consistency_mode(self) -> CheckpointingMode:
        """Return the checkpointing mode (exactly-once or at-least-once)."""
        return self._checkpoint_config.get_checkpointing_mode()

    def is_unaligned_checkpoints_enabled(self) -> bool:
        """Return whether unaligned checkpoints are enabled (False by default)."""
        return self._checkpoint_config.is_unaligned_checkpoints_enabled()

    def is_force_unaligned_checkpoints(self) -> bool:
        """Return whether unaligned checkpoints are forced (False by default)."""
        return self._checkpoint_config.is_force_unaligned_checkpoints()

    def enable_changelog_state_backend(self, enabled: bool) -> StreamExecutionEnvironment:
        """Set `state.changelog.enabled`, which has no effect: state changes are written per micro-batch anyway.

        Args:
            enabled: Stored, and returned by `is_changelog_state_backend_enabled`.
        """
        self._configuration.set_boolean(STATE_CHANGELOG.key, enabled)
        return self

    def is_changelog_state_backend_enabled(self) -> bool | None:
        """Return whether the changelog state backend is enabled, or None if that is not set."""
        return self._configuration.get(STATE_CHANGELOG)

    def set_default_savepoint_directory(self, directory: str) -> StreamExecutionEnvironment:
        """Set the directory of savepoints that are triggered without one.

        Args:
            directory: A path or URI of any supported scheme.
        """
        require(directory, str, "set_default_savepoint_directory()")
        self._configuration.set_string(CHECKPOINTING_SAVEPOINT_DIR.key, directory)
        return self

    def get_default_savepoint_directory(self) -> str | None:
        """Return the directory of savepoints that are triggered without one, or None if it is not set."""
        return self._configuration.get(CHECKPOINTING_SAVEPOINT_DIR) or None

    # --- files that the program needs --------------------------------------------------------------------------------

    def add_python_file(self, file_path: str) -> None:
        """Make a Python file, package or zip archive importable on the workers.

        Args:
            file_path: A `.py` file, a package's directory, or a zip archive.
        """
        self._append(PYTHON_FILES, file_path, ",")

    def set_python_requirements(self, requirements_file_path: str, requirements_cache_dir: str | None = None) -> None:
        """Install the packages of a `requirements.txt` on the workers.

        Args:
            requirements_file_path: Path of the requirements file.
            requirements_cache_dir: Directory of downloaded packages, for workers without network access.
        """
        value = requirements_file_path + ("" if requirements_cache_dir is None else f"#{requirements_cache_dir}")
        self._configuration.set_string(PYTHON_REQUIREMENTS.key, value)

    def add_python_archive(self, archive_path: str, target_dir: str | None = None) -> None:
        """Unpack an archive into the working directory of the Python functions.

        Args:
            archive_path: Path of the archive.
            target_dir: Name of the directory that it is unpacked into; None uses the archive's name.
        """
        self._append(PYTHON_ARCHIVES, archive_path + ("" if target_dir is None else f"#{target_dir}"), ",")

    def set_python_executable(self, python_exec: str) -> None:
        """Set the Python interpreter that runs the functions.

        Args:
            python_exec: The path of an interpreter.
        """
        self._configuration.set_string(PYTHON_EXECUTABLE.key, python_exec)

    def add_jars(self, *jars_path: str) -> None:
        """Store the jars in the option `pipeline.jars` and log what replaces them: Java code is not run.

        Args:
            jars_path: Paths or URLs, which need not exist; each one is logged as a warning, once.
        """
        for path in jars_path:
            if (note := note_of_jar(path)) is not None:
                _logger.warning("add_jars: %s", note)
            self._append(PIPELINE_JARS, path, ";")

    def add_classpaths(self, *classpaths: str) -> NoReturn:
        """Raise an error: Java code is not run.

        Args:
            classpaths: Only named for compatibility with PyFlink.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("add_classpaths: Java code is not run; port it to Python")

    def register_cached_file(self, file_path: str, name: str, executable: bool = False) -> None:
        """Raise an error: use `add_python_archive`, or read the file in `open`.

        Args:
            file_path: Path of the file or directory, local or on a file system that the TaskManagers can reach.
            name: Name under which functions find it.
            executable: Whether to make the file executable.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            f"register_cached_file({file_path!r}): use add_python_archive(), or read the file in open()"
        )

    def _append(self, option: Option[str | None], value: str, separator: str) -> None:
        present = self._configuration.get(option)
        self._configuration.set_string(option.key, f"{present}{separator}{value}" if present else value)

    # --- sources -----------------------------------------------------------------------------------------------------

    @overload
    def from_collection(
        self, collection: Iterable[T], type_info: TypeInformation[T] | None = None
    ) -> DataStream[T]: ...

    @overload
    def from_collection(self, collection: Iterable[Any], type_info: TypeInformation[T]) -> DataStream[T]: ...

    def from_collection(
        self, collection: Iterable[Any], type_info: TypeInformation[Any] | None = None
    ) -> DataStream[Any]:
        """Return a stream of the elements of a collection, with parallelism 1.

        The elements are converted to `type_info` by this call. As in PyFlink, an object with attributes is accepted as
        a row or a map, and any object as text.

        Args:
            collection: The elements; an iterable is read to its end.
            type_info: Type of the elements; None pickles them.

        Raises:
            TypeError: an element does not fit the type; the message names the element.

        Example:
            >>> row_type = Types.ROW_NAMED(["name", "age"], [Types.STRING(), Types.INT()])
            >>> _ = env.from_collection([("Ann", 36)], row_type).collect_async()
            >>> run_local(env).elements
            [Row(name='Ann', age=36)]
        """
        require(collection, Iterable, "from_collection()")
        convert = collection_coercer(type_info)
        elements = list(collection)
        if convert is not None:
            for index, element in enumerate(elements):
                try:
                    elements[index] = convert(element)
                except TypeMismatchError as mismatch:
                    raise mismatch.below(f"[{index}]") from None
        return self._source(
            "Collection Source",
            CollectionSourceOperator(tuple(elements)),
            type_info,
            legacy_source=True,
            parallelism=1,
            parallelism_configured=True,
            max_parallelism=1,
            chaining_strategy="HEAD",
        )

    def from_spark(self, dataframe: Any) -> DataStream[Row]:
        """Return a bounded stream of the rows of a Spark DataFrame.

        The DataFrame is computed and fetched by this call: its rows pass through this process and must fit into its
        memory.
        Elements are `Row`s with the names of the columns; `TimestampType` becomes `Instant`.

        Args:
            dataframe: A `pyspark.sql.DataFrame`.

        Raises:
            TypeError: a column has a type that streams do not support.
        """
        return self.from_collection(*elements_of(dataframe))

    @overload
    def from_source(
        self,
        source: Source[T],
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation[T] | None = None,
    ) -> DataStream[T]: ...

    @overload
    def from_source(
        self,
        source: Source[Any],
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation[T],
    ) -> DataStream[T]: ...

    def from_source(
        self,
        source: Source[Any],
        watermark_strategy: WatermarkStrategy,
        source_name: str,
        type_info: TypeInformation[Any] | None = None,
    ) -> DataStream[Any]:
        """Return a stream of the records of a source.

        Args:
            source: For example a `FileSource` or a `KafkaSource`.
            watermark_strategy: Assigns timestamps and watermarks in the source.
            source_name: Name of the source in plans, logs and metrics.
            type_info: Type of the records; None uses the type that the source produces.

        Example:
            >>> source = NumberSequenceSource(1, 3)
            >>> numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
            >>> _ = numbers.collect_async()
            >>> run_local(env).elements
            [1, 2, 3]
        """
        require(source, Source, "from_source()")
        require(watermark_strategy, WatermarkStrategy, "from_source()")
        return self._source(
            source_name,
            SourceOperator(source, callable_in_source(as_added(watermark_strategy))),
            source.produced_type if type_info is None else type_info,
            bounded=source.is_bounded(),
            parallelism=self.get_parallelism(),
        )

    def add_source(
        self,
        source_func: SourceFunction[T],
        source_name: str = "Custom Source",
        type_info: TypeInformation[T] | None = None,
    ) -> DataStream[T]:
        """Return a stream of the records of a `SourceFunction`, with parallelism 1.

        A function with a method `as_source()` is replaced by the source that this method returns.

        Args:
            source_func: The source function.
            source_name: Name of the source in plans, logs and metrics.
            type_info: Type of the records; None pickles them.
        """
        require(source_func, SourceFunction, "add_source()")
        if hasattr(source_func, "as_source"):
            return self.from_source(source_func.as_source(), WatermarkStrategy.no_watermarks(), source_name, type_info)
        return self._source(
            source_name,
            SourceFunctionOperator(as_added(source_func)),
            type_info,
            legacy_source=True,
            bounded=False,
            parallelism=1,
            parallelism_configured=True,
            max_parallelism=1,
            chaining_strategy="HEAD",
        )

    def create_input(self, input_format: InputFormat, type_info: TypeInformation[T] | None = None) -> DataStream[T]:
        """Return a stream of the records of an `AvroInputFormat`.

        Args:
            input_format: The format, such as an `AvroInputFormat`.
            type_info: Type of the elements; None uses that of the format.

        Raises:
            NotImplementedError: `input_format` is another format.
        """
        if not isinstance(input_format, AvroInputFormat):
            raise NotImplementedError(f"create_input({input_format!r}): use from_source() with a FileSource")
        source = FileSource.for_record_stream_format(AvroFormat(input_format.settings), input_format.path).build()
        return self.from_source(source, WatermarkStrategy.no_watermarks(), "Custom File source", type_info)

    def _source(
        self, name: str, operator: OperatorDescriptor, type_info: TypeInformation[Any] | None, **settings: Any
    ) -> DataStream[Any]:
        transformation = OperatorTransformation(
            id=self._ids.next(),
            name=name,
            inputs=[],
            output_type=type_or_pickled(type_info),
            operator=operator,
            is_source=True,
            user_location=user_location(),
            **settings,
        )
        return DataStream(self, transformation)

    # --- execution ---------------------------------------------------------------------------------------------------

    def execute(self, job_name: str | None = None) -> JobExecutionResult:
        """Run the program and wait until the job ends.

        Args:
            job_name: Name of the job; None uses the default name.

        Raises:
            InvalidProgramError: the program cannot be translated into a job.
            JobExecutionError: the job failed.
        """
        return pipeline_executor().execute(self._finish(job_name), self._configuration)

    def execute_async(self, job_name: str = "Flink Streaming Job") -> JobClient:
        """Submit the program and return a client of the job without waiting for its end.

        Args:
            job_name: The name shown by the dashboard and the command line; by default `pipeline.name`.

        Raises:
            InvalidProgramError: the program cannot be translated into a job.
        """
        return pipeline_executor().execute_async(self._finish(job_name), self._configuration)

    def _collect(self, collect_id: str, job_name: str | None, limit: int | None) -> CloseableIterator[Any]:
        return pipeline_executor().collect(self._finish(job_name), self._configuration, collect_id, limit)

    def _finish(self, job_name: str | None) -> StreamGraph:
        graph = self._stream_graph(job_name)
        self._transformations.clear()
        return graph

    def get_execution_plan(self) -> str:
        """Return the operators of the program as JSON text."""
        return self.get_stream_graph().get_execution_plan()

    def _check(self, job_name: str | None = None) -> None:
        """Raise the error with which a submission of the program so far would be rejected."""
        pipeline_executor().check(self._stream_graph(job_name), self._configuration)

    def get_stream_graph(self, job_name: str | None = None) -> StreamGraph:
        """Return the graph of the program so far; the program is left unchanged.

        Args:
            job_name: The name of the job in the graph.

        Raises:
            InvalidProgramError: the program cannot be translated into a job.
        """
        self._last_id_in_a_plan = self._ids.last
        return self._stream_graph(job_name)

    def _stream_graph(self, job_name: str | None) -> StreamGraph:
        ids = IdGenerator(self._ids.last)
        transformations = copy_transformations(self._transformations)
        collecting = [transformation for transformation in transformations if _collects(transformation)]
        if collecting and collecting == transformations[-1:]:
            ids = IdGenerator(transformations[-1].id - 1)
            transformations = self._merged_before_collecting(transformations, ids)
        transformations, _ = self._merged(transformations, ids)
        return generate_stream_graph(transformations, self._configuration, ids, self._slot_sharing_groups, job_name)

    def _merged_before_collecting(
        self, transformations: list[Transformation], ids: IdGenerator
    ) -> list[Transformation]:
        """Merge the operators in front of the collecting sink, then number the sink, as `execute_and_collect` does."""
        *registered, sink = transformations
        merged, collected = self._merged(registered, ids, keep=sink.inputs[0])
        assert collected is not None
        sink.inputs = [collected]
        sink.id = ids.next()
        sink.uid = collect_uid(sink.id)
        return [*merged, sink]

    def _merged(
        self, transformations: list[Transformation], ids: IdGenerator, keep: Transformation | None = None
    ) -> tuple[list[Transformation], Transformation | None]:
        align_hidden_operators(transformations, ids)
        if not self._configuration.get(PYTHON_OPERATOR_CHAINING):
            return transformations, keep
        return merge_python_operators(transformations, ids, _combine, self._needs_of_group, keep)

    def _needs_of_group(self, name: str | None) -> object:
        """Return the resources of a slot sharing group for comparison, or None if no group is set."""
        if name is None:
            return None
        return self._slot_sharing_groups.get(name, SlotSharingGroup(name)).resources()

    def _is_unexecuted(self) -> bool:
        """Return whether there are operators that were neither executed nor part of a plan that was asked for."""
        return any(transformation.id > self._last_id_in_a_plan for transformation in self._transformations)

    def close(self) -> None:
        """Discard the operators that were not executed."""
        self._transformations.clear()


_latest: list[StreamExecutionEnvironment] = []


def has_unexecuted_program() -> bool:
    """Return whether the last environment of this process has operators that were neither executed nor planned."""
    return any(map(is_unexecuted, _latest))


def _collects(transformation: Transformation) -> bool:
    return isinstance(getattr(transformation, "operator", None), CollectSinkOperator)


def _combine(upstream: OperatorTransformation, downstream: OperatorTransformation) -> MergedOperator:
    parts = [_parts(upstream), _parts(downstream)]
    operators, names, types = zip(*parts, strict=True)
    return MergedOperator(sum(operators, ()), sum(names, ()), sum(types, ()))


def _parts(transformation: OperatorTransformation) -> tuple[tuple[Any, ...], tuple[str, ...], tuple[Any, ...]]:
    operator = transformation.operator
    if isinstance(operator, MergedOperator):
        return operator.operators, operator.names, operator.output_types
    return (operator,), (transformation.name,), (transformation.output_type,)
