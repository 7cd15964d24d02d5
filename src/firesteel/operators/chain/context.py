"""The contexts passed to user functions."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from firesteel.common.keys.canonical_keys import PLAIN, key_of
from firesteel.common.options.job_parameters import global_job_parameters
from firesteel.functions.time_domain import TimeDomain
from firesteel.functions.timerservice import TimerService
from firesteel.functions.user_functions import KeyedCoProcessFunction, KeyedProcessFunction, RuntimeContext
from firesteel.metrics import MetricGroup
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.operator import MIN_TIMESTAMP, TaskInfo
from firesteel.operators.chain.user_metrics import TaskMetricGroup
from firesteel.operators.state.state_store import StateStore
from firesteel.operators.state.timers import InternalTimerService

if TYPE_CHECKING:
    from firesteel.functions.state import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        ValueStateDescriptor,
    )


class TaskRuntimeContext(RuntimeContext):
    """The subtask's identity, and its keyed state if the operator is keyed (Flink: `StreamingRuntimeContext`)."""

    def __init__(self, operator_name: str, task: TaskInfo, store: StateStore | None = None) -> None:
        self._operator_name = operator_name
        self._task = task
        self._store = store

    def get_task_name(self) -> str:
        """Return the name of the job vertex."""
        return self._task.vertex_name

    def get_number_of_parallel_subtasks(self) -> int:
        """Return the parallelism of the vertex."""
        return self._task.parallelism

    def get_max_number_of_parallel_subtasks(self) -> int:
        """Return the max parallelism, that is the number of key groups."""
        return self._task.max_parallelism

    def get_index_of_this_subtask(self) -> int:
        """Return the index of the subtask, from 0."""
        return self._task.subtask_index

    def get_attempt_number(self) -> int:
        """Return the attempt number, 0 for the first attempt."""
        return self._task.attempt_number

    def get_task_name_with_subtasks(self) -> str:
        """Return the task name with subtask and attempt, such as `Map (2/4)#0`."""
        task = self._task
        return f"{task.vertex_name} ({task.subtask_index + 1}/{task.parallelism})#{task.attempt_number}"

    def get_job_parameter(self, key: str, default_value: str) -> str:
        """Return a global job parameter, or the default value."""
        return self._job_parameters.get(key, default_value)

    def get_job_parameters(self) -> dict[str, str]:
        """Return all global job parameters."""
        return dict(self._job_parameters)

    @cached_property
    def _job_parameters(self) -> dict[str, str]:
        return global_job_parameters(self._task.configuration)

    def get_metrics_group(self) -> MetricGroup:
        """Return the metric group of this operator."""
        return TaskMetricGroup(self._task.metrics, (self._operator_name,))

    def get_state(self, state_descriptor: ValueStateDescriptor[Any]) -> Any:
        """Return the value state of a descriptor."""
        return self._keyed().get_state(state_descriptor)

    def get_list_state(self, state_descriptor: ListStateDescriptor[Any]) -> Any:
        """Return the list state of a descriptor."""
        return self._keyed().get_list_state(state_descriptor)

    def get_map_state(self, state_descriptor: MapStateDescriptor[Any, Any]) -> Any:
        """Return the map state of a descriptor."""
        return self._keyed().get_map_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[Any]) -> Any:
        """Return the reducing state of a descriptor."""
        return self._keyed().get_reducing_state(state_descriptor)

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor[Any, Any, Any]) -> Any:
        """Return the aggregating state of a descriptor."""
        return self._keyed().get_aggregating_state(state_descriptor)

    def _keyed(self) -> StateStore:
        if self._store is None:
            raise RuntimeError(
                f"operator {self._operator_name!r} is not keyed: keyed state can only be used after key_by()"
            )
        return self._store


class NonKeyedTimerService(TimerService):
    """The timer service of functions without a key: it tells the time but, as in Flink, refuses to register timers."""

    def __init__(self) -> None:
        self.watermark = MIN_TIMESTAMP

    def current_processing_time(self) -> int:
        """Return the processing time in ms since the epoch."""
        return now_ms()

    def current_watermark(self) -> int:
        """Return the watermark of the operator in ms."""
        return self.watermark

    def register_processing_time_timer(self, timestamp: int) -> None:
        """Raise RuntimeError, as timers need a keyed stream."""
        self._refuse()

    def register_event_time_timer(self, timestamp: int) -> None:
        """Raise RuntimeError, as timers need a keyed stream."""
        self._refuse()

    def delete_processing_time_timer(self, timestamp: int) -> None:
        """Raise RuntimeError, as timers need a keyed stream."""
        self._refuse()

    def delete_event_time_timer(self, timestamp: int) -> None:
        """Raise RuntimeError, as timers need a keyed stream."""
        self._refuse()

    def _refuse(self) -> None:
        raise RuntimeError("timers are only supported on keyed streams: call key_by() first")


class ProcessContext:
    """The context of functions without a key; one object is reused for all elements."""

    def __init__(self) -> None:
        self.current_timestamp: int | None = None
        self.timers: Any = NonKeyedTimerService()

    def timestamp(self) -> int:
        """Return the event time of the element in ms, -2**63 if it has none."""
        return MIN_TIMESTAMP if self.current_timestamp is None else self.current_timestamp

    def timer_service(self) -> TimerService:
        """Return the timer service."""
        return self.timers  # type: ignore[no-any-return]


class KeyedContext(KeyedProcessFunction.OnTimerContext, KeyedCoProcessFunction.OnTimerContext):
    """The context of keyed functions, for elements and timers; one object is reused for all of them."""

    def __init__(self, timers: InternalTimerService) -> None:
        self.current_timestamp: int | None = None
        self.current_key: Any = None
        self.current_domain = TimeDomain.EVENT_TIME
        self._timers = timers

    def timestamp(self) -> int:
        """Return the event time of the element (-2**63 if it has none) or of the timer, in ms."""
        return MIN_TIMESTAMP if self.current_timestamp is None else self.current_timestamp

    def timer_service(self) -> TimerService:
        """Return the timer service of the current key."""
        return self._timers

    def get_current_key(self) -> Any:
        """Return the key of the element or timer."""
        key = self.current_key
        return key if key.__class__ in PLAIN else key_of(key)

    def time_domain(self) -> TimeDomain:
        """Return the time domain of the firing timer."""
        return self.current_domain
