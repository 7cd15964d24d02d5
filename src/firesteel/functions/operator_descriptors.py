"""Descriptions of operators, which `firesteel.operators` turns into running operators.

A descriptor is plain data: the user's function and the settings of one API call. The graph transports it without
interpreting it, and the slot process looks its class up in `firesteel.operators.chain.factory`. One `StreamNode` holds
one descriptor, or a `MergedOperator` where PyFlink merges adjacent Python operators into one node.

Elements between the internal operators of a keyed stream are tuples `(key, value)`; in PyFlink they are `Row(key,
value)`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Literal

from firesteel.common.typeinfo import TypeInformation
from firesteel.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from firesteel.functions.async_retry_strategies import AsyncRetryStrategy
from firesteel.functions.batch_functions import BatchFormat
from firesteel.functions.output_tag import OutputTag
from firesteel.functions.state import StateDescriptor
from firesteel.functions.triggers import Trigger
from firesteel.functions.user_functions import KeySelector
from firesteel.functions.window_assigners import WindowAssigner

if TYPE_CHECKING:
    from firesteel.columns.column_types import DataType
    from firesteel.columns.kernel import KernelFactory
    from firesteel.functions.cep.pattern import Pattern
    from firesteel.functions.cep.pattern_functions import PatternProcessFunction
    from firesteel.functions.connector_base import Sink, Source


class OperatorDescriptor:
    """The base class of all descriptors."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class MergedOperator(OperatorDescriptor):
    """Python operators merged into one node, first to last (PyFlink: `PythonOperatorChainingOptimizer`).

    `names` and `output_types` run parallel to `operators`.
    """

    operators: tuple[OperatorDescriptor, ...]
    names: tuple[str, ...]
    output_types: tuple[TypeInformation[Any], ...]


# --- sources -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourceOperator(OperatorDescriptor):
    """`from_source`: a FLIP-27 source with its watermark strategy."""

    source: Source[Any]
    watermark_strategy: WatermarkStrategy


@dataclass(frozen=True, slots=True)
class CollectionSourceOperator(OperatorDescriptor):
    """`from_collection`: a legacy source of parallelism 1; `elements` are already converted to their declared type."""

    elements: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class SourceFunctionOperator(OperatorDescriptor):
    """`add_source` with a Python `SourceFunction` (legacy)."""

    function: Any


# --- one input -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MapOperator(OperatorDescriptor):
    """`map`; `keyed` if called on a KeyedStream, whose elements are `(key, value)`."""

    function: Any
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class FlatMapOperator(OperatorDescriptor):
    """`flat_map`; `keyed` as in `MapOperator`."""

    function: Any
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class FilterOperator(OperatorDescriptor):
    """`filter`; `keyed` as in `MapOperator`."""

    function: Any
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class ProcessOperator(OperatorDescriptor):
    """`process` with a `ProcessFunction`."""

    function: Any


@dataclass(frozen=True, slots=True)
class ProjectOperator(OperatorDescriptor):
    """`project`: the fields at these indexes, as a tuple."""

    field_indexes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AsyncWaitOperator(OperatorDescriptor):
    """`AsyncDataStream.ordered_wait` / `unordered_wait`; `retry_strategy` may be None."""

    function: Any
    timeout_ms: int
    capacity: int
    ordered: bool
    retry_strategy: AsyncRetryStrategy[Any] | None = None


@dataclass(frozen=True, slots=True)
class BatchOperator(OperatorDescriptor):
    """`map_batches`, and `AsyncDataStream.ordered_wait_batch` and `unordered_wait_batch`.

    Attributes:
        function: A `MapBatchFunction` or callable, or an `AsyncBatchFunction`.
        batch_size: Number of elements at which a batch is full.
        wait_ms: Maximum time that an element waits for others; 0 ends a batch with that of Spark.
        format: What the function gets and returns.
        capacity: Maximum number of batches at a time.
        ordered: Whether results have the order of the elements.
        timeout_ms: Maximum time of a call with all retries; 0 means no limit.
        output_type: Needed by formats other than rows.
    """

    function: object
    batch_size: int
    wait_ms: int
    format: BatchFormat
    input_type: TypeInformation[object]
    output_type: TypeInformation[object] | None = None
    capacity: int = 1
    ordered: bool = True
    timeout_ms: int = 0
    retry_strategy: AsyncRetryStrategy[object] | None = None


@dataclass(frozen=True, slots=True)
class ExtractTimestampOperator(OperatorDescriptor):
    """First part of `assign_timestamps_and_watermarks` with a TimestampAssigner: emits `(timestamp_ms, value)`."""

    timestamp_assigner: TimestampAssigner


@dataclass(frozen=True, slots=True)
class TimestampsAndWatermarksOperator(OperatorDescriptor):
    """Second part: sets the record timestamp and generates watermarks.

    `extracted` is True where an `ExtractTimestampOperator` runs before it, so elements are `(timestamp_ms, value)`.
    """

    strategy: WatermarkStrategy
    extracted: bool


@dataclass(frozen=True, slots=True)
class RemoveTimestampOperator(OperatorDescriptor):
    """Last part: `(timestamp_ms, value)` becomes `value`; the record keeps its timestamp."""


@dataclass(frozen=True, slots=True)
class CacheWriteOperator(OperatorDescriptor):
    """`cache()`: stores the intermediate result for later jobs of the same environment."""


# --- keyed streams -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeyByOperator(OperatorDescriptor):
    """`_stream_key_by_map_operator`: `value` becomes `(key, value)`."""

    key_selector: KeySelector[Any, Any] | Callable[[Any], Any]
    key_type: TypeInformation[Any]


@dataclass(frozen=True, slots=True)
class TagAndKeyByOperator(OperatorDescriptor):
    """The "Map" before a window join: `value` becomes `(key, (side, value))`.

    Flink: `CoGroupedStreams.Input1Tagger` and `Input2Tagger`, with the key that its union is keyed by.
    """

    side: int
    key_selector: KeySelector[Any, Any] | Callable[[Any], Any]
    key_type: TypeInformation[Any]


@dataclass(frozen=True, slots=True)
class ValuesOperator(OperatorDescriptor):
    """`_keyed_stream_values_operator`: `(key, value)` becomes `value`."""


@dataclass(frozen=True, slots=True)
class PartitionCustomOperator(OperatorDescriptor):
    """`_partition_custom_map_operator`: `value` becomes `(key, value)`.

    The CUSTOM edge after it calls `partitioner`.
    """

    partitioner: Any
    key_selector: KeySelector[Any, Any] | Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class KeyedProcessOperator(OperatorDescriptor):
    """`KeyedStream.process` with a `KeyedProcessFunction`."""

    function: Any
    key_type: TypeInformation[Any] | None = None


@dataclass(frozen=True, slots=True)
class ReduceOperator(OperatorDescriptor):
    """`reduce`, and `sum`, `min`, `max`, `min_by`, `max_by`: a rolling aggregate; BATCH emits the final value only."""

    function: Any
    value_type: TypeInformation[Any] | None = None
    key_type: TypeInformation[Any] | None = None


@dataclass(frozen=True, slots=True)
class WindowOperator(OperatorDescriptor):
    """A window operation, keyed or (`window_all`) over one constant key; elements are `(key, value)` in both.

    `aggregation` is a ReduceFunction or AggregateFunction (or a callable to reduce with); None keeps all elements.
    `window_function` is a WindowFunction, ProcessWindowFunction, AllWindowFunction or ProcessAllWindowFunction; None
    emits the aggregate itself. `state_type` is the TypeInformation of element or accumulator, where declared.
    """

    assigner: WindowAssigner[Any, Any]
    trigger: Trigger[Any, Any]
    allowed_lateness_ms: int
    late_data_tag: OutputTag[Any] | None
    aggregation: Any
    window_function: Any
    all_windows: bool = False
    key_type: TypeInformation[Any] | None = None
    state_type: TypeInformation[Any] | None = None


# --- two inputs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CoMapOperator(OperatorDescriptor):
    """`ConnectedStreams.map`; `keyed` where both inputs are keyed."""

    function: Any
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class CoFlatMapOperator(OperatorDescriptor):
    """`ConnectedStreams.flat_map`."""

    function: Any
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class CoProcessOperator(OperatorDescriptor):
    """`ConnectedStreams.process` with a CoProcessFunction or, `keyed`, a KeyedCoProcessFunction."""

    function: Any
    keyed: bool = False
    key_type: TypeInformation[Any] | None = None


@dataclass(frozen=True, slots=True)
class BroadcastProcessOperator(OperatorDescriptor):
    """`BroadcastConnectedStream.process`; the second input is the broadcast one. `keyed`: the first input is keyed."""

    function: Any
    state_descriptors: Sequence[StateDescriptor]
    keyed: bool = False
    key_type: TypeInformation[Any] | None = None


@dataclass(frozen=True, slots=True)
class IntervalJoinOperator(OperatorDescriptor):
    """`KeyedStream.interval_join`: right elements from `lower_bound_ms` to `upper_bound_ms` around each left one.

    The bounds are inclusive. Late elements go to the side output of their tag, or are dropped if it is None.
    """

    function: Any
    lower_bound_ms: int
    upper_bound_ms: int
    left_late_tag: OutputTag[Any] | None = None
    right_late_tag: OutputTag[Any] | None = None
    key_type: TypeInformation[Any] | None = None


# --- event patterns ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CepOperator(OperatorDescriptor):
    """`CEP.pattern`: calls a `PatternProcessFunction` for each match of a pattern.

    Attributes:
        comparator: Compares two events of the same time; None keeps their order of arrival.
        late_data_tag: The side output for events at or before the watermark; None drops them.
    """

    pattern: Pattern[object]
    function: PatternProcessFunction[object, object]
    is_processing_time: bool
    comparator: Callable[[object, object], int] | None = None
    late_data_tag: OutputTag[object] | None = None
    key_type: TypeInformation[object] | None = None


# --- tables --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ColumnOperator(OperatorDescriptor):
    """An operator of a table program, whose elements are column batches.

    Attributes:
        factory: Creates its kernel (`firesteel.columns.kernel.KernelFactory`).
        inputs: Number of inputs, 1 or 2.
        description: What errors call it, instead of its name.
        is_narrowed: Whether operators of its job keep fewer columns than in former releases.
    """

    factory: KernelFactory
    inputs: int = 1
    description: str | None = None
    is_narrowed: bool = False

    def __setstate__(self, state: list[object]) -> None:
        """Restore a descriptor; those in job graphs of former releases have fewer fields."""
        known = fields(self)
        values = [*state, *(field.default for field in known[len(state) :])]
        for field, value in zip(known, values, strict=True):
            object.__setattr__(self, field.name, value)


@dataclass(frozen=True, slots=True)
class RowsToColumnsOperator(OperatorDescriptor):
    """Converts elements to column batches.

    Attributes:
        columns: Position or name, and type of each column; see `firesteel.operators.row_conversion.RowsToColumns`.
        has_kinds: Whether the kinds of rows are kept.
    """

    columns: tuple[tuple[int | str, DataType], ...]
    has_kinds: bool = False


@dataclass(frozen=True, slots=True)
class ColumnsToRowsOperator(OperatorDescriptor):
    """Converts column batches to `Row`s or other elements.

    Attributes:
        types: Types of the columns.
        names: Names of the columns.
        is_retract: Whether to emit pairs of a flag, True for added rows, and an element.
        rowtime: The column that is the event time and no field; without it the first rowtime attribute is, and a field.
        element: What a row becomes: `row`, `tuple`, or `value` of the only column.
    """

    types: tuple[DataType, ...]
    names: tuple[str, ...]
    is_retract: bool = False
    rowtime: str | None = None
    element: Literal["row", "tuple", "value"] = "row"


# --- sinks ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PrintSinkOperator(OperatorDescriptor):
    """`print`: one line per element in Java's text; `identifier` is the text before the subtask number, or None."""

    identifier: str | None
    input_type: TypeInformation[Any] | None = None


@dataclass(frozen=True, slots=True)
class SinkFunctionOperator(OperatorDescriptor):
    """`add_sink` with a Python SinkFunction or a `StreamingFileSink`."""

    function: Any
    input_type: TypeInformation[Any] | None = None


@dataclass(frozen=True, slots=True)
class SinkWriterOperator(OperatorDescriptor):
    """The writer of `sink_to(sink)`: emits its committables to the `CommitterOperator` chained after it, if any."""

    sink: Sink[Any]
    input_type: TypeInformation[Any] | None = None


@dataclass(frozen=True, slots=True)
class CompactionOperator(OperatorDescriptor):
    """The compaction of a FileSink in Flink's topology.

    Here the writer compacts, and committables only pass through.
    """


@dataclass(frozen=True, slots=True)
class CommitterOperator(OperatorDescriptor):
    """The committer of a two-phase sink: commits what it receives when the batch is committed."""

    sink: Sink[Any]


@dataclass(frozen=True, slots=True)
class CollectSinkOperator(OperatorDescriptor):
    """The sink of `execute_and_collect`: sends its elements to the client under `collect_id`, with keys if `keyed`."""

    collect_id: str
    keyed: bool = False
    input_type: TypeInformation[Any] | None = None


def collect_uid(transformation_id: int) -> str:
    """Return the uid that Flink gives the collecting sink."""
    return f"dataStreamCollect_{transformation_id}"
