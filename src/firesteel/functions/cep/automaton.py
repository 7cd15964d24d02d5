"""The states that a pattern is compiled to, and the guards of the transitions between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from firesteel.functions.cep.conditions import Clause

__all__ = ["ALWAYS", "Action", "AllOf", "Automaton", "Edge", "Guard", "Holds", "Kind", "Not", "State", "unless"]

Check = Callable[[int], bool]
"""Tells whether the event satisfies the clause with a number."""


class Action(Enum):
    """What a transition does with the event (Flink: `StateTransitionAction`)."""

    TAKE = "take"
    IGNORE = "ignore"
    PROCEED = "proceed"
    """Go on with the same event."""


class Kind(Enum):
    """The kinds of states (Flink: `State.StateType`)."""

    START = "start"
    NORMAL = "normal"
    FINAL = "final"
    STOP = "stop"
    """An event that must not occur has occurred."""
    PENDING = "pending"
    """The match is complete, once the time in which an event must not occur is over."""


class Guard(ABC):
    """The condition of a transition, of the clauses of the pattern."""

    @abstractmethod
    def is_open(self, check: Check) -> bool:
        """Return whether the transition may be taken."""


@dataclass(frozen=True, slots=True)
class Holds(Guard):
    """The clause with a number is true."""

    number: int

    def is_open(self, check: Check) -> bool:
        """Check the clause."""
        return check(self.number)


@dataclass(frozen=True, slots=True)
class Not(Guard):
    """A guard is closed."""

    guard: Guard

    def is_open(self, check: Check) -> bool:
        """Check the guard."""
        return not self.guard.is_open(check)


@dataclass(frozen=True, slots=True)
class AllOf(Guard):
    """All guards are open; they are checked in order until one is not."""

    guards: tuple[Guard, ...]

    def is_open(self, check: Check) -> bool:
        """Check the guards."""
        return all(guard.is_open(check) for guard in self.guards)


ALWAYS = AllOf(())


def unless(until: Guard | None, guard: Guard) -> Guard:
    """Return a guard that is closed as soon as the one that ends a loop, if any, is open."""
    return guard if until is None else AllOf((Not(until), guard))


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """A transition from the state that has it."""

    action: Action
    target: State
    guard: Guard


@dataclass(slots=True, eq=False)
class State:
    """A state of the automaton (Flink: `State`).

    Attributes:
        name: Unique name, which checkpoints refer to.
        part: Name of the part whose events it takes.
        within_ms: Maximum time since the previous event, exclusive, or None.
    """

    name: str
    part: str
    kind: Kind
    within_ms: int | None = None
    edges: list[Edge] = field(default_factory=list)

    def add(self, action: Action, target: State, guard: Guard) -> None:
        """Add a transition; their order is that of the matches which they lead to."""
        self.edges.append(Edge(action, target, guard))

    def wait_for(self, guard: Guard) -> None:
        """Let each transition wait until a guard is open, too."""
        self.edges = [Edge(edge.action, edge.target, AllOf((edge.guard, guard))) for edge in self.edges]


@dataclass(frozen=True)
class Automaton:
    """A compiled pattern (Flink: what `NFACompiler` gives to `NFA`).

    Attributes:
        states: The states by name.
        start: The state that every event may begin a match from.
        clauses: The clauses that guards refer to by number.
        within_ms: Maximum time from the first to the last event of a match, exclusive, or None.
    """

    states: dict[str, State]
    start: State
    clauses: tuple[Clause, ...]
    within_ms: int | None
