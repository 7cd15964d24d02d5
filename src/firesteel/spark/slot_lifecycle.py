"""The life of a slot's process, without processes: events go in, actions come out.

A slot wants tasks; its process comes and goes. Whatever happens to the process, the tasks that are wanted are deployed
to the next one, and a process that does not do as it is told is killed. `TRANSITIONS` has what is possible when.

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
    """What is known of the process of a slot."""

    ABSENT = "there is none"
    STARTING = "it was ordered from the slot server"
    SERVING = "it is connected and takes tasks"
    CANCELLING = "it was told to close its tasks and has not answered yet"
    DYING = "it was killed, and its connection is still open"


class SlotEvent(Enum):
    """What happens to a process."""

    ORDERED = "a process was ordered"
    ORDER_FAILED = "no process could be ordered, or none came in time"
    CONNECTED = "the process called back"
    CANCELLED = "its tasks are wanted no longer"
    CLOSED = "it has closed its tasks"
    KILLED = "it did not answer in time"
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
"""What does not stand here changes nothing: it is of a process that is gone, or comes twice."""


class SlotAction(Enum):
    """What is to be done besides deploying tasks."""

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
        state: Of the process.
        process_id: Of the process that is connected.
    """

    tasks: dict[str, Task] = field(default_factory=dict)
    state: SlotState = SlotState.ABSENT
    process_id: int | None = None

    def _take(self, event: SlotEvent) -> bool:
        """Follow an event; False if it changes nothing."""
        following = TRANSITIONS.get((self.state, event))
        if following is None:
            return False
        self.state = following
        return True

    def deploy(self, attempt_id: str, task: Task) -> Actions[Task]:
        """Want a task; it is sent as soon as there is a process that takes it."""
        self.tasks[attempt_id] = task
        if self.state is SlotState.SERVING:
            return [DeployTask(task)]
        return self.reorder()

    def reorder(self) -> Actions[Task]:
        """Order a process if there is none and tasks are wanted."""
        return [SlotAction.ORDER] if self.tasks and self._take(SlotEvent.ORDERED) else []

    def order_failed(self) -> None:
        """No process could be ordered, or none came in time: the next task that is deployed orders another one."""
        self._take(SlotEvent.ORDER_FAILED)

    def connected(self, process_id: int) -> Actions[Task]:
        """A process called back: it gets all tasks that are wanted, unless it is one that nobody waits for."""
        if not self._take(SlotEvent.CONNECTED):
            return [SlotAction.DISCONNECT]
        self.process_id = process_id
        return [DeployTask(task) for task in self.tasks.values()]

    def cancel(self) -> Actions[Task]:
        """Want no task any more."""
        self.tasks.clear()
        return [SlotAction.CANCEL] if self._take(SlotEvent.CANCELLED) else []

    def closed(self) -> Actions[Task]:
        """The process has closed its tasks: it gets those that are wanted since."""
        return [DeployTask(task) for task in self.tasks.values()] if self._take(SlotEvent.CLOSED) else []

    def timed_out(self) -> Actions[Task]:
        """The process does not do what it was told: what is wanted goes to another one."""
        return [SlotAction.KILL] if self._take(SlotEvent.KILLED) else []

    def ended(self, process_id: int) -> Actions[Task]:
        """The connection of a process broke: the tasks that are wanted need another one."""
        if process_id != self.process_id or not self._take(SlotEvent.ENDED):
            return []
        self.process_id = None
        return self.reorder()

    @property
    def is_leaving(self) -> bool:
        """Whether tasks that are wanted no longer may still run."""
        return self.state in (SlotState.CANCELLING, SlotState.DYING)
