"""The running operator for each descriptor: one rule per descriptor class."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from firesteel.common.keys.canonical_keys import key_keeper
from firesteel.common.unchanged import unchanged
from firesteel.errors import TranslationError
from firesteel.functions import operator_descriptors as descriptors
from firesteel.functions.connector_base import Sink
from firesteel.operators.chain.function_calls import method_of
from firesteel.operators.chain.operator import Operator, Output, TaskInfo
from firesteel.operators.interval_join import IntervalJoinRunner
from firesteel.operators.keyed import KeyedProcessRunner, ReduceRunner
from firesteel.operators.one_input import (
    ElementwiseRunner,
    FilterRunner,
    FlatMapRunner,
    KeyByRunner,
    MapRunner,
    PartitionCustomRunner,
    ProcessRunner,
    TagAndKeyByRunner,
)
from firesteel.operators.sinks.sinks import (
    CollectRunner,
    CommitterRunner,
    DiscardingRunner,
    PrintRunner,
    SinkFunctionRunner,
    SinkWriterRunner,
)
from firesteel.operators.sources.source_runner import SourceRunner
from firesteel.operators.sources.watermarks import ExtractTimestampRunner, TimestampsAndWatermarksRunner
from firesteel.operators.two_input import BroadcastRunner, CoProcessRunner, KeyedBroadcastRunner
from firesteel.operators.windows.window_at_end import WindowAtEndRunner, waits_for_end
from firesteel.operators.windows.window_operator import WindowRunner

if TYPE_CHECKING:
    from firesteel.functions.operator_descriptors import OperatorDescriptor

Rule = Callable[[Any, str, TaskInfo, Output], Operator]


def _one(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Adapt a `map` function to a process function with one result."""
    return lambda value, context: (function(value),)


def _one_or_none(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Adapt a `map` function of connected streams to a process function; as in PyFlink, None is dropped."""

    def call(value: object, context: object) -> Any:
        result = function(value)
        return None if result is None else (result,)

    return call


def _any(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Adapt a `flat_map` function to a process function."""
    return lambda value, context: function(value)


def _kept(function: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    """Adapt a `filter` function to a process function."""
    return lambda value, context: (value,) if function(value) else None


def _one_input(
    runner: Callable[[str, TaskInfo, Output, Any], Operator], method: str, adapt: Callable[[Any], Any]
) -> Rule:
    """Return the rule for map, flat_map or filter: the plain runner, or a keyed process function on a keyed stream."""

    def rule(d: Any, name: str, task: TaskInfo, output: Output) -> Operator:
        if not d.keyed:
            return runner(name, task, output, d.function)
        calls = (adapt(method_of(d.function, method)),)
        return KeyedProcessRunner(name, task, output, None, d.function, calls)

    return rule


def _two_inputs(methods: tuple[str, str], adapt: Callable[[Any], Any]) -> Rule:
    """Return the rule for functions of connected streams, keyed or not."""

    def rule(d: Any, name: str, task: TaskInfo, output: Output) -> Operator:
        first, second = (adapt(getattr(d.function, method)) for method in methods)
        if d.keyed:
            key_type = getattr(d, "key_type", None)
            return KeyedProcessRunner(name, task, output, key_type, d.function, (first, second))
        return CoProcessRunner(name, task, output, d.function, (first, second))

    return rule


def _project(indexes: tuple[int, ...]) -> Callable[[Any], Any]:
    return lambda value: tuple(value[index] for index in indexes)


def _value_of_pair(pair: tuple[Any, Any]) -> object:
    return pair[1]


def _sink_function(d: descriptors.SinkFunctionOperator, name: str, task: TaskInfo, output: Output) -> Operator:
    """Return the operator of a Python SinkFunction, or of a `Sink`, whose writer then commits by itself."""
    if isinstance(d.function, Sink):
        return SinkWriterRunner(name, task, output, d.function, d.input_type, commits_itself=True)
    return SinkFunctionRunner(name, task, output, d.function)


def _broadcast(d: descriptors.BroadcastProcessOperator, name: str, task: TaskInfo, output: Output) -> Operator:
    if d.keyed:
        return KeyedBroadcastRunner(name, task, output, d.key_type, d.function, d.state_descriptors)
    return BroadcastRunner(name, task, output, d.function, d.state_descriptors)


def _keyed_process(d: descriptors.KeyedProcessOperator, name: str, task: TaskInfo, output: Output) -> Operator:
    call = method_of(d.function, "process_element")
    return KeyedProcessRunner(name, task, output, d.key_type, d.function, (call,))


def _async_wait(d: descriptors.AsyncWaitOperator, name: str, task: TaskInfo, output: Output) -> Operator:
    from firesteel.operators.async_wait import AsyncWaitRunner  # needs asyncio

    return AsyncWaitRunner(name, task, output, d)


def _batches(d: descriptors.BatchOperator, name: str, task: TaskInfo, output: Output) -> Operator:
    from firesteel.operators.batches.batch_operator import BatchRunner  # few jobs have it

    return BatchRunner(name, task, output, d)


def _cep(d: descriptors.CepOperator, name: str, task: TaskInfo, output: Output) -> Operator:
    from firesteel.operators.cep.cep_operator import CepRunner  # few jobs have it, and it is large

    return CepRunner(name, task, output, d)


def _columns(d: descriptors.ColumnOperator, name: str, task: TaskInfo, output: Output) -> Operator:
    from firesteel.operators.column_runner import ColumnRunner  # needs pyarrow, which only tables do

    return ColumnRunner(name, task, output, d.factory, d.inputs, d.description, d.is_narrowed)


def _rows_to_columns(d: descriptors.RowsToColumnsOperator, name: str, task: TaskInfo, output: Output) -> Operator:
    from firesteel.operators.row_conversion import RowsToColumns  # needs pyarrow, which only tables do

    return RowsToColumns(name, task, output, d.columns, d.has_kinds)


def _columns_to_rows(d: descriptors.ColumnsToRowsOperator, name: str, task: TaskInfo, output: Output) -> Operator:
    from firesteel.operators.row_conversion import ColumnsToRows  # needs pyarrow, which only tables do

    return ColumnsToRows(name, task, output, d.types, d.names, d.is_retract, d.rowtime, d.element)


RULES: dict[type[descriptors.OperatorDescriptor], Rule] = {
    descriptors.SourceOperator: lambda d, name, task, out: SourceRunner(name, task, out, d),
    descriptors.CollectionSourceOperator: lambda d, name, task, out: SourceRunner(name, task, out, d),
    descriptors.SourceFunctionOperator: lambda d, name, task, out: SourceRunner(name, task, out, d),
    descriptors.MapOperator: _one_input(MapRunner, "map", _one),
    descriptors.FlatMapOperator: _one_input(FlatMapRunner, "flat_map", _any),
    descriptors.FilterOperator: _one_input(FilterRunner, "filter", _kept),
    descriptors.ProcessOperator: lambda d, name, task, out: ProcessRunner(name, task, out, d.function),
    descriptors.ProjectOperator: lambda d, name, task, out: ElementwiseRunner(
        name, task, out, _project(d.field_indexes)
    ),
    descriptors.AsyncWaitOperator: _async_wait,
    descriptors.BatchOperator: _batches,
    descriptors.ExtractTimestampOperator: lambda d, name, task, out: ExtractTimestampRunner(
        name, task, out, d.timestamp_assigner
    ),
    descriptors.TimestampsAndWatermarksOperator: lambda d, name, task, out: TimestampsAndWatermarksRunner(
        name, task, out, d.strategy, d.extracted
    ),
    descriptors.RemoveTimestampOperator: lambda d, name, task, out: ElementwiseRunner(name, task, out, _value_of_pair),
    descriptors.CacheWriteOperator: lambda d, name, task, out: DiscardingRunner(name, task, out),
    descriptors.KeyByOperator: lambda d, name, task, out: KeyByRunner(
        name, task, out, d.key_selector, key_keeper(d.key_type)
    ),
    descriptors.TagAndKeyByOperator: lambda d, name, task, out: TagAndKeyByRunner(
        name, task, out, d.key_selector, key_keeper(d.key_type), d.side
    ),
    descriptors.ValuesOperator: lambda d, name, task, out: ElementwiseRunner(name, task, out, _value_of_pair),
    descriptors.PartitionCustomOperator: lambda d, name, task, out: PartitionCustomRunner(name, task, out, d),
    descriptors.KeyedProcessOperator: _keyed_process,
    descriptors.ReduceOperator: lambda d, name, task, out: ReduceRunner(
        name, task, out, d.key_type, d.function, d.value_type
    ),
    descriptors.WindowOperator: lambda d, name, task, out: (WindowAtEndRunner if waits_for_end(d) else WindowRunner)(
        name, task, out, d
    ),
    descriptors.CoMapOperator: _two_inputs(("map1", "map2"), _one_or_none),
    descriptors.CoFlatMapOperator: _two_inputs(("flat_map1", "flat_map2"), _any),
    descriptors.CoProcessOperator: _two_inputs(("process_element1", "process_element2"), unchanged),
    descriptors.BroadcastProcessOperator: _broadcast,
    descriptors.IntervalJoinOperator: lambda d, name, task, out: IntervalJoinRunner(name, task, out, d),
    descriptors.CepOperator: _cep,
    descriptors.ColumnOperator: _columns,
    descriptors.RowsToColumnsOperator: _rows_to_columns,
    descriptors.ColumnsToRowsOperator: _columns_to_rows,
    descriptors.PrintSinkOperator: lambda d, name, task, out: PrintRunner(name, task, out, d.identifier, d.input_type),
    descriptors.SinkFunctionOperator: _sink_function,
    descriptors.SinkWriterOperator: lambda d, name, task, out: SinkWriterRunner(name, task, out, d.sink, d.input_type),
    descriptors.CompactionOperator: lambda d, name, task, out: ElementwiseRunner(name, task, out, unchanged),
    descriptors.CommitterOperator: lambda d, name, task, out: CommitterRunner(name, task, out),
    descriptors.CollectSinkOperator: lambda d, name, task, out: CollectRunner(name, task, out, d.collect_id, d.keyed),
}


def make_operator(descriptor: OperatorDescriptor, name: str, task: TaskInfo, output: Output) -> Operator:
    """Create the running operator of a descriptor.

    Raises:
        TranslationError: there is no rule for the descriptor's class.
    """
    rule = RULES.get(type(descriptor))
    if rule is None:
        raise TranslationError(f"operator {name!r}: no rule runs {type(descriptor).__name__}")
    return rule(descriptor, name, task, output)
