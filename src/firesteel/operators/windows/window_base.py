"""The base of both window operators: functions, contexts and late elements."""

from __future__ import annotations

from firesteel.common.unchanged import unchanged
from firesteel.common.values.ownership import own
from firesteel.functions.operator_descriptors import WindowOperator
from firesteel.functions.user_functions import ProcessAllWindowFunction, ProcessWindowFunction
from firesteel.operators.chain.context import TaskRuntimeContext
from firesteel.operators.chain.function_calls import close_function, open_function
from firesteel.operators.chain.operator import Output, TaskInfo
from firesteel.operators.chain.retention import is_ours
from firesteel.operators.chain.user_metrics import TaskMetricGroup
from firesteel.operators.keyed import KeyedOperator
from firesteel.operators.state.state_store import StateStore
from firesteel.operators.state.state_table import NAMESPACED
from firesteel.operators.windows.window_contents import contents_of, evaluation_of
from firesteel.operators.windows.window_contexts import AssignerContext, WindowFunctionContext

CONTENTS_TABLE = f"{NAMESPACED}window-contents"
"""The state has the same name in both operators, as a job may be restored with another trigger."""

_CLEARS_NOTHING = (None, ProcessWindowFunction.clear, ProcessAllWindowFunction.clear)


class WindowOperatorBase(KeyedOperator):
    """The base of operators that run one window operation over `(key, value)` elements."""

    def __init__(self, name: str, task: TaskInfo, output: Output, descriptor: WindowOperator) -> None:
        super().__init__(name, task, output, descriptor.key_type)
        self._assigner = descriptor.assigner
        # User code gets copies of mutable elements, as windows keep the originals.
        self._for_assigner = unchanged if is_ours(descriptor.assigner) else own
        self._for_trigger = unchanged if is_ours(descriptor.trigger) else own
        self._is_event_time = bool(descriptor.assigner.is_event_time())
        self._late_tag = descriptor.late_data_tag
        self._functions = [f for f in (descriptor.aggregation, descriptor.window_function) if f is not None]
        self._window_function = descriptor.window_function
        self._contents = contents_of(descriptor.aggregation, descriptor.state_type, self.backend)
        self._evaluate = evaluation_of(descriptor.window_function)
        self._clears = getattr(type(descriptor.window_function), "clear", None) not in _CLEARS_NOTHING

    def open(self) -> None:
        """Open the functions and create the contexts."""
        super().open()
        runtime_context = TaskRuntimeContext(self.name, self.task, StateStore(self.backend))
        for function in self._functions:
            open_function(function, runtime_context)
        self._assigner_context = AssignerContext(runtime_context)
        self._metrics = TaskMetricGroup(self.task.metrics, (self.name,))
        self._late_dropped = self._metrics.counter("numLateRecordsDropped")
        self._function_context = WindowFunctionContext(self.backend, self.timers)

    def close(self) -> None:
        """Close the functions."""
        super().close()
        for function in self._functions:
            close_function(function)

    def _drop(self, value: object, timestamp: int | None) -> None:
        """Count a late element as dropped, or emit it to the side output for late data."""
        if self._late_tag is None:
            self._late_dropped.inc()
        else:
            self.collector.collect_side(self._late_tag, value, timestamp)
