"""The contexts of window assigners, triggers and window functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from firesteel.functions.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.functions.triggers import Trigger
from firesteel.functions.user_functions import (
    KeyedStateStore,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from firesteel.functions.window_assigners import MergingWindowAssigner, WindowAssigner
from firesteel.metrics import MetricGroup
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.state_store import StateStore
from firesteel.operators.state.timers import InternalTimerService


class AssignerContext(WindowAssigner.WindowAssignerContext):
    """The context of window assigners."""

    def __init__(self, runtime_context: RuntimeContext) -> None:
        self._runtime_context = runtime_context

    def get_current_processing_time(self) -> int:
        """Return the processing time in ms since the epoch."""
        return now_ms()

    def get_runtime_context(self) -> RuntimeContext:
        """Return the runtime context, with the state of the current key."""
        return self._runtime_context


class WindowTriggerContext(Trigger.OnMergeContext):
    """The context of triggers: time, timers and state of the current key and window.

    `merged_entries` are the `(key, window)` entries that merge into the current one, while `on_merge` runs.
    """

    def __init__(self, store: StateStore, timers: InternalTimerService, metrics: MetricGroup) -> None:
        self._store = store
        self._timers = timers
        self._metrics = metrics
        self.entry: Any = None
        self.merged_entries: Iterable[Any] = ()

    def get_current_processing_time(self) -> int:
        """Return the processing time in ms since the epoch."""
        return now_ms()

    def get_metric_group(self) -> MetricGroup:
        """Return the metric group of the window operator."""
        return self._metrics

    def get_current_watermark(self) -> int:
        """Return the watermark of the operator in ms."""
        return self._timers.current_watermark()

    def register_processing_time_timer(self, time: int) -> None:
        """Register a processing-time timer for the current window."""
        self._timers.register_processing_time_timer(time)

    def register_event_time_timer(self, time: int) -> None:
        """Register an event-time timer for the current window."""
        self._timers.register_event_time_timer(time)

    def delete_processing_time_timer(self, time: int) -> None:
        """Delete a processing-time timer of the current window."""
        self._timers.delete_processing_time_timer(time)

    def delete_event_time_timer(self, time: int) -> None:
        """Delete an event-time timer of the current window."""
        self._timers.delete_event_time_timer(time)

    def get_partitioned_state(self, state_descriptor: object) -> Any:
        """Return the state of the current key and window.

        Raises:
            TypeError: it is no descriptor of a state.
        """
        match state_descriptor:
            case ValueStateDescriptor():
                return self._store.get_state(state_descriptor)
            case ListStateDescriptor():
                return self._store.get_list_state(state_descriptor)
            case MapStateDescriptor():
                return self._store.get_map_state(state_descriptor)
            case ReducingStateDescriptor():
                return self._store.get_reducing_state(state_descriptor)
            case AggregatingStateDescriptor():
                return self._store.get_aggregating_state(state_descriptor)
        raise TypeError(f"get_partitioned_state takes the descriptor of a state, not {state_descriptor!r}")

    def merge_partitioned_state(self, state_descriptor: object) -> None:
        """Merge the state of the merged windows into the current window's."""
        self.get_partitioned_state(state_descriptor).merge(self.entry, self.merged_entries)


class RefusedWindowState(KeyedStateStore):
    """A replacement for per-window state of merging windows, which would be lost on a merge; access raises an error."""

    def _refuse(self, state_descriptor: Any) -> NoReturn:
        raise RuntimeError(
            f"state {state_descriptor.name!r}: per-window state is not allowed when using merging windows; "
            "keep it in global_state()"
        )

    get_state = get_list_state = get_map_state = get_reducing_state = get_aggregating_state = _refuse


class WindowFunctionContext(ProcessWindowFunction.Context[Any], ProcessAllWindowFunction.Context[Any]):
    """The context of process window functions."""

    def __init__(self, backend: KeyedStateBackend, timers: InternalTimerService) -> None:
        self._timers = timers
        self._window_state: object = StateStore(backend, namespaced=True)
        self._global_state = StateStore(backend)
        self.current_window: object = None

    def refuse_window_state(self) -> None:
        """Disable per-window state, because the windows merge."""
        self._window_state = RefusedWindowState()

    def window(self) -> Any:
        """Return the window."""
        return self.current_window

    def current_processing_time(self) -> int:
        """Return the processing time in ms since the epoch."""
        return now_ms()

    def current_watermark(self) -> int:
        """Return the watermark of the operator in ms."""
        return self._timers.current_watermark()

    def window_state(self) -> Any:
        """Return the state of the current key and window."""
        return self._window_state

    def global_state(self) -> Any:
        """Return the state of the current key across all windows."""
        return self._global_state


class MergeRecorder(MergingWindowAssigner.MergeCallback[Any]):
    """A callback that records the decisions of `merge_windows`: (result, merged windows) pairs."""

    def __init__(self) -> None:
        self.merges: list[tuple[object, list[object]]] = []

    def merge(self, to_be_merged: Iterable[Any], merge_result: object) -> None:
        """Record one merge."""
        self.merges.append((merge_result, list(to_be_merged)))
