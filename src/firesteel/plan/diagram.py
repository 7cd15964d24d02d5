"""Diagrams: nodes, edges between them, and clusters around them.

Why: `docs/decisions/0007-graphviz-through-pygraphviz.md`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = [
    "Cluster",
    "Diagram",
    "Edge",
    "Node",
    "count",
    "operator_node_id",
    "shown",
    "subtask_node_id",
    "vertex_node_id",
]


@dataclass(frozen=True, slots=True)
class Node:
    """A box.

    Attributes:
        id: Unique over all views of a job, and the same in each format.
        title: Its name.
        facts: Short lines below the name.
        kind: Determines the colour: `source`, `operator`, `sink`, `vertex`, `subtask`, `group`, `slot` or `more`.
        details: Further lines, shown if there is room or on request.
        links: Ids of the corresponding nodes in the other views.
        cluster: Id of its cluster.
    """

    id: str
    title: str
    facts: tuple[str, ...] = ()
    kind: str = "operator"
    details: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    cluster: str | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow.

    Attributes:
        id: Unique id.
        label: Short text next to it.
        reason: Why its ends are not chained; empty if they are, or if the reason is unknown.
        is_chained: Whether both ends run in one chain.
        is_blocking: Whether the target starts when its input is complete.
    """

    id: str
    source: str
    target: str
    label: str = ""
    reason: str = ""
    is_chained: bool = False
    is_blocking: bool = False


@dataclass(frozen=True, slots=True)
class Cluster:
    """A frame around nodes."""

    id: str
    title: str
    links: tuple[str, ...] = ()


@dataclass(slots=True)
class Diagram:
    """A drawing without layout.

    Attributes:
        summary: One line that summarises it.
        notes: Remarks, one per line.
    """

    name: str
    summary: str
    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    clusters: list[Cluster] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def operator_node_id(operator: int) -> str:
    """Return the id of an operator in all views."""
    return f"op-{operator}"


def vertex_node_id(vertex_id: str) -> str:
    """Return the id of a vertex in all views."""
    return f"vertex-{vertex_id}"


def subtask_node_id(vertex_id: str, subtask: int) -> str:
    """Return the id of a subtask in all views."""
    return f"subtask-{vertex_id}-{subtask}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 vertex`, `2 vertices`, `10,000 subtasks`."""
    if number == 1:
        return f"1 {noun}"
    plural = noun[:-2] + "ices" if noun.endswith("ex") else f"{noun}s"
    return f"{number:,} {plural}"


def shown(numbers: Iterable[int]) -> str:
    """Return numbers with ranges abbreviated: `0-3, 7`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{start}" if start == end else f"{start}-{end}" for start, end in runs)
