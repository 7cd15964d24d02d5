"""The life cycle of a slot's process as a pure state machine: events in, actions out.

A slot has a set of wanted tasks, while its processes come and go. When a process is lost, the wanted tasks are deployed
to the next one; a process that does not respond in time is killed. `TRANSITIONS` defines the valid events of each
state.

    ABSENT --deploy--> STARTING --connected--> SERVING --cancel--> CANCELLING --closed--> SERVING
    CANCELLING --cancellation timed out--> DYING, SERVING --deployment timed out--> DYING
    any of them --ended--> STARTING if tasks are wanted, else ABSENT
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

Task = TypeVar("Task")


class SlotState(Enum):
    """The known state of a slot's process."""

    ABSENT = "there is no process"
    STARTING = "it was ordered from the slot server"
    SERVING = "it is connected and accepts tasks"
    CANCELLING = "it is closing its tasks"
    DYING = "it was killed, and its connection is still open"


class SlotEvent(Enum):
    """An event in the life of a slot's process."""

    ORDERED = "a process was ordered"
    ORDER_FAILED = "no process could be ordered, or none connected: in time, or before it ended"
    CONNECTED = "the process connected"
    CANCELLED = "its tasks are no longer wanted"
    CLOSED = "it has closed its tasks"
    KILLED = "it did not respond in time"
    ENDED = "its connection broke"


TRANSITIONS: dict[tuple[SlotState, SlotEvent], SlotState] = {
    (SlotState.ABSENT, SlotEvent.ORDERED): SlotState.STARTING,
    (SlotState.STARTING, SlotEvent.ORDER_FAILED): SlotState.ABSENT,
    (SlotState.STARTING, SlotEvent.CONNECTED): SlotState.SERVING,
    (SlotState.SERVING, SlotEvent.CANCELLED): SlotState.CANCELLING,
    (SlotState.CANCELLING, SlotEvent.CLOSED): SlotState.SERVING,
    (SlotState.CANCELLING, SlotEvent.KILLED): SlotState.DYING,
    (SlotState.SERVING, SlotEvent.KILLED): SlotState.DYING,
    (SlotState.SERVING, SlotEvent.ENDED): SlotState.ABSENT,
    (SlotState.CANCELLING, SlotEvent.ENDED): SlotState.ABSENT,
    (SlotState.DYING, SlotEvent.ENDED): SlotState.ABSENT,
}
"""Events not listed here are ignored: they concern a process that is gone, or are duplicates."""


class SlotAction(Enum):
    """An action required besides deploying tasks."""

    ORDER = "order a process from the slot server"
    CANCEL = "tell the process to close its tasks"
    KILL = "kill the process"
    DISCONNECT = "close the connection, upon which the process ends"


@dataclass(frozen=True, slots=True)
class DeployTask(Generic[Task]):
    """Send a task to the process."""

    task: Task


Actions = list[SlotAction | DeployTask[Task]]


@dataclass(slots=True)
class SlotLifecycle(Generic[Task]):
    """The state of one slot's process and the tasks that are wanted there.

    Attributes:
        tasks: Execution attempt -> the task that is wanted.
        state: The state of the process.
        process_id: The id of the connected process.
    """

    tasks: dict[str, Task] = field(default_factory=dict)
    state: SlotState = SlotState.ABSENT
    process_id: int | None = None

    def _take(self, event: SlotEvent) -> bool:
        """Apply an event; return False if it is ignored."""
        following = TRANSITIONS.get((self.state, event))
        if following is None:
            return False
        self.state = following
        return True

    def deploy(self, attempt_id: str, task: Task) -> Actions[Task]:
        """Add a wanted task; it is sent as soon as a process can run it."""
        self.tasks[attempt_id] = task
        if self.state is SlotState.SERVING:
            return [DeployTask(task)]
        return self.reorder()

    def reorder(self) -> Actions[Task]:
        """Order a process if there is none and tasks are wanted."""
        return [SlotAction.ORDER] if self.tasks and self._take(SlotEvent.ORDERED) else []

    def order_failed(self) -> None:
        """Note that no process could be ordered, or none connected; the next deployment orders again."""
        self._take(SlotEvent.ORDER_FAILED)

    def connected(self, process_id: int) -> Actions[Task]:
        """Handle the connection of a process: deploy all wanted tasks, or disconnect an unexpected process."""
        if not self._take(SlotEvent.CONNECTED):
            return [SlotAction.DISCONNECT]
        self.process_id = process_id
        return [DeployTask(task) for task in self.tasks.values()]

    def cancel(self) -> Actions[Task]:
        """Cancel all wanted tasks."""
        self.tasks.clear()
        # A process that is only starting finds no tasks when it connects, so there is nothing to cancel in it.
        return [SlotAction.CANCEL] if self._take(SlotEvent.CANCELLED) else []

    def closed(self) -> Actions[Task]:
        """Handle the end of a cancellation: deploy the tasks wanted since then."""
        return [DeployTask(task) for task in self.tasks.values()] if self._take(SlotEvent.CLOSED) else []

    def timed_out(self) -> Actions[Task]:
        """Handle a timeout: kill the process; wanted tasks go to another one."""
        return [SlotAction.KILL] if self._take(SlotEvent.KILLED) else []

    def ended(self, process_id: int) -> Actions[Task]:
        """Handle the end of a process's connection: order another process if tasks are wanted."""
        # A former process may report its end after its successor has connected.
        if process_id != self.process_id or not self._take(SlotEvent.ENDED):
            return []
        self.process_id = None
        return self.reorder()

    @property
    def is_leaving(self) -> bool:
        """Whether tasks that are no longer wanted may still run."""
        return self.state in (SlotState.CANCELLING, SlotState.DYING)
