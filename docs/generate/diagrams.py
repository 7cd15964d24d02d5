"""Draws the diagrams of the documentation into docs/images.

    python -m docs.generate.diagrams

`tests/docs/test_pictures.py` checks that the committed files are up to date.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import pygraphviz

from docs.generate.svg import GREY, INK, ORANGE, Svg
from firesteel.coordinator.checkpoint_coordinator import TRANSITIONS
from firesteel.runtime.executiongraph.execution_state import CANCEL, REPORTED, ExecutionState

__all__ = ["DIAGRAMS", "IMAGES"]

IMAGES = Path(__file__).parents[1] / "images"
_BANDS = ("#eef4fc", "#eef8f0", "#fdf3ea")


def program() -> str:
    """Return the picture of how a program runs."""
    svg = Svg(900, 430, "How a program runs: graphs, control plane, data plane")
    bands = (
        "Graphs: Flink's programming model",
        "Control plane: Flink's, re-implemented in Python",
        "Data plane: Spark",
    )
    for index, (name, fill, height) in enumerate(zip(bands, _BANDS, (110, 110, 160), strict=True)):
        y = 12 + 122 * index
        svg.rect(12, y, 876, height, fill, stroke="none", radius=6)
        svg.text(26, y + 20, name, anchor="start", bold=True)
    svg.text(220, 284, "deploys tasks", size=11, color=GREY)
    boxes = [
        (40, 50, ("your program", "DataStream API, SQL")),
        (260, 50, ("StreamGraph", "a node per operator")),
        (480, 50, ("JobGraph", "chained operators")),
        (40, 170, ("TaskExecutors", "offer slots")),
        (260, 170, ("ExecutionGraph", "a vertex per subtask")),
        (480, 170, ("JobMaster", "schedules, restarts")),
        (700, 170, ("Dispatcher", "accepts and stores jobs")),
    ]
    for x, y, lines in boxes:
        svg.box(x, y, 160, 54, lines)
    for x in (200, 420):
        svg.line([(x, 77), (x + 60, 77)], arrow=True)
    svg.line([(640, 77), (780, 77), (780, 170)], arrow=True)
    for x in (700, 480):
        svg.line([(x, 197), (x - 60, 197)], arrow=True)
    svg.line([(260, 197), (200, 197)], arrow=True)
    svg.box(40, 300, 160, 92, ("slot processes", "operators, keyed state,", "timers, connections"))
    for index, x in enumerate((300, 520, 740)):
        svg.box(x - 10, 300, 140, 40, (f"stage {index}", "a Spark task per lane"))
    for x in (420, 640):
        svg.line([(x + 10, 320), (x + 90, 320)], arrow=True)
        svg.text(x + 50, 312, "shuffle", size=11, color=GREY)
    for index, x in enumerate((330, 550, 770)):
        y = 356 + 12 * index
        svg.line([(x, 340), (x, y), (200, y)], arrow=True)
        svg.line([(200, y), (x, y), (x, 340)], arrow=True)
    svg.text(208, 350, "buffers of records", anchor="start", size=11, color=GREY)
    svg.line([(180, 224), (180, 300)], arrow=True)
    return str(svg)


def slots() -> str:
    """Return the picture of slots, lanes and slot sharing."""
    svg = Svg(900, 330, "Slots: two TaskExecutors with two lanes and four slots each")
    for host in range(2):
        left = 20 + 440 * host
        svg.rect(left, 20, 420, 250, _BANDS[1], stroke=GREY, radius=6)
        svg.text(left + 14, 42, f"TaskExecutor {host + 1}", anchor="start", bold=True)
        for lane in range(2):
            x = left + 14 + 200 * lane
            svg.rect(x, 54, 192, 204, _BANDS[2], stroke=ORANGE, radius=5)
            svg.text(x + 96, 72, f"lane {lane}: one Spark task per stage", size=11, color=GREY)
            for place in range(2):
                number = 4 * host + 2 * lane + place
                svg.rect(x + 8 + 90 * place, 82, 84, 166, "#ffffff")
                svg.text(x + 50 + 90 * place, 100, f"slot {number}", bold=True, size=12)
                for row, name in enumerate(("source", "window", "sink")):
                    svg.box(x + 14 + 90 * place, 110 + 45 * row, 72, 38, (name, f"subtask {number}"), _BANDS[0])
    svg.text(
        450,
        296,
        "A slot is a process. It runs one subtask of every vertex in its slot sharing group and keeps their state.",
        size=12,
    )
    svg.text(
        450,
        314,
        "A TaskExecutor has as many lanes as cores, so a batch costs as many Spark tasks as cores, however many slots.",
        size=12,
    )
    return str(svg)


Step = tuple[str, str, str]
"""From, to, text; from and to may be the same. The text of a note stands alone."""


def sequence(title: str, actors: Sequence[str], steps: Iterable[Step]) -> str:
    """Return a sequence diagram."""
    steps = list(steps)
    gap = 880 / len(actors)
    place = {actor: 10 + gap * (index + 0.5) for index, actor in enumerate(actors)}
    height = 84 + 34 * len(steps)
    svg = Svg(900, height, title)
    for actor, x in place.items():
        svg.line([(x, 50), (x, height - 16)], color=GREY, dashed=True)
        svg.box(x - gap / 2 + 6, 14, gap - 12, 36, (actor,), _BANDS[0])
    for index, (start, end, text) in enumerate(steps):
        y = 86 + 34 * index
        if not start:
            svg.rect(20, y - 17, 860, 22, _BANDS[2], stroke="none")
            svg.text(450, y - 2, text, size=12, color=ORANGE, bold=True)
        elif start == end:
            svg.circle(place[start], y - 4, INK)
            left = place[start] > 650
            svg.text(place[start] + (-9 if left else 9), y, text, anchor="end" if left else "start", size=12, halo=True)
        else:
            svg.line([(place[start], y), (place[end], y)], arrow=True)
            svg.text((place[start] + place[end]) / 2, y - 5, text, size=12, halo=True)
    return str(svg)


def submission() -> str:
    """Return the sequence diagram of a submission."""
    client, dispatcher, master, manager, executor, spark = actors = (
        "client", "Dispatcher", "JobMaster", "ResourceManager", "TaskExecutor", "Spark",
    )  # fmt: skip
    return sequence(
        "How a job is submitted and deployed",
        actors,
        [
            (client, dispatcher, "submit JobGraph"),
            (dispatcher, dispatcher, "store the job"),
            (dispatcher, client, "acknowledge"),
            (dispatcher, master, "start, with a session id"),
            (master, master, "build the ExecutionGraph"),
            (master, manager, "register, request slots"),
            (manager, executor, "request a slot for the job"),
            (executor, master, "offer the slot"),
            (master, executor, "deploy tasks"),
            (executor, executor, "start slot processes"),
            (executor, master, "RUNNING"),
            (master, spark, "start the run of each region"),
            ("", "", "for each batch"),
            (spark, executor, "buffers to and from slots, stage by stage"),
            (spark, master, "batch complete; checkpoint if due"),
            ("", "", "at the end"),
            (master, dispatcher, "FINISHED"),
            (dispatcher, client, "result"),
        ],
    )


def failover() -> str:
    """Return the sequence diagram of a failover."""
    master, executor, slot, spark, store = actors = (
        "JobMaster",
        "TaskExecutor",
        "slot process",
        "Spark",
        "checkpoints",
    )
    return sequence(
        "What happens after failures",
        actors,
        [
            ("", "", "a slot process dies"),
            (spark, slot, "connection lost"),
            (executor, slot, "start again"),
            (slot, slot, "load version N-1 from the local disk"),
            (spark, slot, "feed batch N again: no restart"),
            ("", "", "a function raises, or Spark gives up: the region fails"),
            (spark, master, "batch failed, with the user's line"),
            (master, spark, "cancel the run"),
            (master, executor, "cancel tasks"),
            (executor, master, "all attempts ended"),
            (master, master, "wait as the restart strategy says"),
            (master, executor, "deploy new attempts"),
            (slot, store, "read state of the last checkpoint"),
            (master, spark, "start a new run: sources continue at their positions"),
            (spark, store, "commit again what that checkpoint decided"),
        ],
    )


def failover_of_the_leader() -> str:
    """Return the sequence diagram of a change of leader."""
    old, election, new, executor, store = actors = (
        "JobManager 1", "ZooKeeper", "JobManager 2", "TaskExecutors", "storage",
    )  # fmt: skip
    return sequence(
        "How another JobManager takes over",
        actors,
        [
            (old, election, "leads, session A"),
            ("", "", "JobManager 1 is lost"),
            (election, election, "session expires"),
            (election, new, "elected, session B"),
            (new, store, "read all jobs without result"),
            (executor, new, "register with the new leader"),
            (new, executor, "deploy new attempts"),
            (new, store, "restore the newest checkpoint"),
            ("", "", "JobManager 1 was only paused, and wakes up"),
            (old, store, "next checkpoint: already taken, refused"),
            (old, election, "write with session A: refused"),
            (old, executor, "call with session A: refused"),
        ],
    )


def states_of_an_execution() -> str:
    """Return the state diagram of an execution, drawn from the tables that the control plane uses."""
    starts = [("CREATED", "SCHEDULED", ""), ("SCHEDULED", "DEPLOYING", "slot allocated")]
    reported = [(old.name, new.name, "") for old, table in REPORTED.items() for new in dict.fromkeys(table.values())]
    cancelled = [(old.name, new.name, "cancel") for old, new in CANCEL.items() if old is not new]
    hidden = {"RECONCILING"}
    edges = [edge for edge in dict.fromkeys(starts + reported + cancelled) if not hidden & {*edge[:2]}]
    final = {state.name for state in ExecutionState if state.is_terminal}
    return state_diagram("States of an execution", edges, final)


def states_of_a_job() -> str:
    """Return the state diagram of a job."""
    edges = [
        ("INITIALIZING", "CREATED", ""),
        ("INITIALIZING", "FAILED", "failure"),
        ("CREATED", "RUNNING", ""),
        ("RUNNING", "FINISHED", "all executions finished"),
        ("RUNNING", "FAILING", "failure, no restart"),
        ("RUNNING", "RESTARTING", "failure, restart"),
        ("RESTARTING", "RUNNING", ""),
        ("FAILING", "FAILED", ""),
        ("CREATED", "CANCELLING", "cancel"),
        ("RUNNING", "CANCELLING", "cancel"),
        ("RESTARTING", "CANCELLING", "cancel"),
        ("FAILING", "CANCELLING", "cancel"),
        ("CANCELLING", "CANCELED", ""),
        ("RUNNING", "SUSPENDED", "leadership lost"),
    ]
    return state_diagram("States of a job", edges, {"FINISHED", "FAILED", "CANCELED", "SUSPENDED"})


def states_of_checkpoints() -> str:
    """Return the state diagram of a job's checkpoints, drawn from the table that the coordinator uses."""
    edges = [(old.name, new.name, text.replace(", ", ",\\n")) for (old, new), text in TRANSITIONS.items()]
    return state_diagram("States of a job's checkpoints", edges, set())


def state_diagram(title: str, edges: Iterable[tuple[str, str, str]], final: set[str]) -> str:
    """Return a state diagram that Graphviz lays out; final states have a double border."""
    graph = pygraphviz.AGraph(directed=True, rankdir="LR", nodesep="0.25", ranksep="0.55", bgcolor="white", pad="0.2")
    graph.node_attr.update(
        shape="box", style="rounded,filled", fillcolor=_BANDS[0], fontname="Helvetica", fontsize="11"
    )
    graph.edge_attr.update(fontname="Helvetica", fontsize="9", color=GREY, fontcolor=GREY, arrowsize="0.7")
    for start, end, label in edges:
        for name in (start, end):
            graph.add_node(name, peripheries="2" if name in final else "1")
        graph.add_edge(start, end, label=label)
    drawn = graph.draw(format="svg", prog="dot").decode()
    return re.sub(r"<!--.*?-->\n?", "", drawn[drawn.index("<svg") :], flags=re.DOTALL).replace(
        "<title>%3</title>", f"<title>{title}</title>"
    )


DIAGRAMS: Mapping[str, Callable[[], str]] = {
    "program.svg": program,
    "slots.svg": slots,
    "submission.svg": submission,
    "failover.svg": failover,
    "leader_failover.svg": failover_of_the_leader,
    "states_of_an_execution.svg": states_of_an_execution,
    "states_of_a_job.svg": states_of_a_job,
    "states_of_checkpoints.svg": states_of_checkpoints,
}
"""How each picture is drawn, by the name of its file."""


if __name__ == "__main__":
    for file_name, draw in DIAGRAMS.items():
        (IMAGES / file_name).write_text(draw())
