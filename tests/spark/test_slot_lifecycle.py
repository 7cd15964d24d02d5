"""The life cycle of a slot's process, with any event between any two steps."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.spark.slot_lifecycle import (
    TRANSITIONS,
    Actions,
    DeployTask,
    SlotAction,
    SlotEvent,
    SlotLifecycle,
    SlotState,
)


def connected(*tasks: str) -> SlotLifecycle[str]:
    life: SlotLifecycle[str] = SlotLifecycle()
    for task in tasks:
        life.deploy(task, task)
    life.connected(1)
    return life


def test_a_task_requests_a_process_and_is_sent_to_it_later() -> None:
    life: SlotLifecycle[str] = SlotLifecycle()
    assert life.deploy("a", "a") == [SlotAction.ORDER]
    assert life.deploy("b", "b") == []
    assert life.connected(1) == [DeployTask("a"), DeployTask("b")]
    assert life.deploy("c", "c") == [DeployTask("c")]


def test_tasks_that_are_deployed_while_others_close_are_sent_when_these_have_closed() -> None:
    life = connected("a")
    assert life.cancel() == [SlotAction.CANCEL]
    assert life.deploy("b", "b") == []
    assert life.closed() == [DeployTask("b")]


def test_tasks_that_are_deployed_while_a_process_dies_are_sent_to_the_next_one() -> None:
    life = connected("a")
    life.cancel()
    assert life.timed_out() == [SlotAction.KILL]
    assert life.deploy("b", "b") == []
    assert life.ended(1) == [SlotAction.ORDER]
    assert life.connected(2) == [DeployTask("b")]


def test_a_process_that_died_is_replaced_while_its_tasks_are_wanted_only() -> None:
    life = connected("a")
    assert life.ended(1) == [SlotAction.ORDER]
    life.connected(2)
    life.cancel()
    assert life.ended(2) == []
    assert life.state is SlotState.ABSENT


def test_after_a_failed_process_request_the_next_task_repeats_it() -> None:
    life: SlotLifecycle[str] = SlotLifecycle()
    life.deploy("a", "a")
    life.order_failed()
    assert life.deploy("b", "b") == [SlotAction.ORDER]


def test_an_unexpected_process_is_disconnected() -> None:
    life = connected("a")
    assert life.connected(2) == [SlotAction.DISCONNECT]
    assert life.ended(2) == []
    assert life.state is SlotState.SERVING


def test_each_state_is_reached_and_left() -> None:
    reached = set(TRANSITIONS.values())
    left = {state for state, _ in TRANSITIONS}
    assert reached == left == set(SlotState)
    assert {event for _, event in TRANSITIONS} == set(SlotEvent)


@dataclass
class Process:
    """What the life thinks to talk to; it does everything sooner or later, or dies."""

    process_id: int
    tasks: set[str] = field(default_factory=set)
    inbox: list[object] = field(default_factory=list)
    is_alive: bool = True


@dataclass
class World:
    life: SlotLifecycle[str] = field(default_factory=SlotLifecycle)
    ordered: int = 0
    processes: list[Process] = field(default_factory=list)
    current: Process | None = None
    names: int = 0

    def perform(self, actions: Actions[str]) -> None:
        for action in actions:
            if action is SlotAction.ORDER:
                self.ordered += 1
            elif action is SlotAction.KILL:
                assert self.current is not None
                self.current.is_alive = False
            elif isinstance(action, DeployTask) or action is SlotAction.CANCEL:
                assert self.current is not None
                self.current.inbox.append(action)

    def happen(self, event: str) -> None:
        """Let something happen that may happen now."""
        life, current = self.life, self.current
        if event == "deploy":
            self.names += 1
            self.perform(life.deploy(str(self.names), str(self.names)))
        elif event == "cancel":
            self.perform(life.cancel())
        elif event == "order fails" and self.ordered and life.state is SlotState.STARTING:
            self.ordered -= 1
            life.order_failed()
        elif event == "process comes" and self.ordered:
            self.ordered -= 1
            self.names += 1
            process = Process(self.names)
            before, actions = self.current, life.connected(process.process_id)
            if SlotAction.DISCONNECT not in actions:
                self.current = process
                self.processes.append(process)
            else:
                assert before is self.current
            self.perform(actions)
        elif event == "process dies" and current is not None:
            current.is_alive = False
        elif event == "end is seen" and current is not None and not current.is_alive:
            self.current = None
            self.perform(life.ended(current.process_id))
        elif event == "process acts" and current is not None and current.is_alive and current.inbox:
            self._act(current)
        elif event == "cancellation times out" and life.state is SlotState.CANCELLING:
            self.perform(life.timed_out())

    def _act(self, process: Process) -> None:
        message = process.inbox.pop(0)
        if isinstance(message, DeployTask):
            process.tasks.add(message.task)
        else:
            process.tasks.clear()
            self.perform(self.life.closed())

    def settle(self) -> None:
        """Let everything that is under way come to its end, without any further fault."""
        for _ in range(200):
            for event in ("end is seen", "process comes", "process acts"):
                self.happen(event)


EVENTS = [
    "deploy",
    "cancel",
    "order fails",
    "process comes",
    "process dies",
    "end is seen",
    "process acts",
    "cancellation times out",
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(EVENTS), max_size=40))
def test_any_order_of_events_ends_with_exactly_the_wanted_process(events: list[str]) -> None:
    world = World()
    for event in events:
        world.happen(event)
        alive = [process for process in world.processes if process.is_alive and process is not world.current]
        assert alive == [], "a process that nobody knows of is alive"
    world.settle()
    # An order that failed is repeated with the next task only: that one's deployment fails, so its job restarts.
    world.happen("deploy")
    world.settle()
    assert world.current is not None
    assert world.current.tasks == set(world.life.tasks)
    assert world.life.state is SlotState.SERVING
