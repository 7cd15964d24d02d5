"""Rendering of a view of a job in a format."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cached_property

from firesteel.common.options.pipeline_options import DEFAULT_PARALLELISM
from firesteel.graph.parallelism import resolve_parallelism
from firesteel.plan.diagram import Diagram
from firesteel.plan.dot import dot, svg
from firesteel.plan.operators import operators_diagram
from firesteel.plan.page import page
from firesteel.plan.plan_source import InvalidPlanError, PlanSource
from firesteel.plan.slots import SlotPlan, plan_slots, slots_diagram, slots_text, slots_to_dict
from firesteel.plan.subtasks import subtasks_diagram, subtasks_text
from firesteel.plan.text import tree_text
from firesteel.plan.vertices import vertices_diagram
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph

__all__ = ["FORMATS", "VIEWS", "render"]


class _Views:
    """The views of a job, created on demand."""

    def __init__(self, source: PlanSource, task_managers: int | None, slots_per_task_manager: int) -> None:
        self.source = source
        self._task_managers = task_managers
        self._slots_per_task_manager = slots_per_task_manager

    @cached_property
    def execution_graph(self) -> ExecutionGraph:
        """The execution graph at the start of the job, with every parallelism decided."""
        job_graph = self.source.job_graph.copy()
        configured = DEFAULT_PARALLELISM.of(self.source.configuration or {})
        resolve_parallelism(job_graph, configured or os.cpu_count() or 1)
        return ExecutionGraph(job_graph, lambda: 0)

    @cached_property
    def slot_plan(self) -> SlotPlan:
        return plan_slots(self.execution_graph, self._task_managers, self._slots_per_task_manager)

    def stream_data(self) -> dict[str, object]:
        if self.source.stream_graph is None:
            raise InvalidPlanError(
                "a job graph does not contain the whole stream graph: its JSON is available for programs and stream "
                "graphs only; use text, dot, svg or html, or `plan job`"
            )
        return self.source.stream_graph.to_dict()

    def diagram(self, view: str) -> Diagram:
        return _DIAGRAMS[view](self)


_DIAGRAMS: dict[str, Callable[[_Views], Diagram]] = {
    "stream": lambda views: operators_diagram(views.source.job_graph, views.source.stream_graph),
    "job": lambda views: vertices_diagram(views.source.job_graph),
    "execution": lambda views: subtasks_diagram(views.execution_graph),
    "slots": lambda views: slots_diagram(views.slot_plan),
}
_DATA: dict[str, Callable[[_Views], dict[str, object]]] = {
    "stream": _Views.stream_data,
    "job": lambda views: views.source.job_graph.to_dict(),
    "execution": lambda views: views.execution_graph.to_dict(),
    "slots": lambda views: slots_to_dict(views.slot_plan),
}
_TEXTS: dict[str, Callable[[_Views], str]] = {
    "stream": lambda views: tree_text(views.diagram("stream")),
    "job": lambda views: tree_text(views.diagram("job")),
    "execution": lambda views: subtasks_text(views.execution_graph),
    "slots": lambda views: slots_text(views.slot_plan),
}
_FORMATS: dict[str, Callable[[str, _Views], str]] = {
    "text": lambda view, views: "\n".join([_TEXTS[view](views), *(f"\nNote: {note}" for note in views.source.notes)]),
    "json": lambda view, views: json.dumps(_DATA[view](views), indent=2),
    "dot": lambda view, views: dot(views.diagram(view)),
    "svg": lambda view, views: svg(views.diagram(view)),
    "html": lambda view, views: page({name: views.diagram(name) for name in _DIAGRAMS}, views.source.notes),
}
VIEWS = tuple(_DIAGRAMS)
FORMATS = tuple(_FORMATS)


def render(
    source: PlanSource, view: str, format: str = "text", task_managers: int | None = None, slots: int = 1
) -> str:
    """Return a view of a job in a format; `html` shows all views on one page.

    Args:
        source: The job.
        view: `stream`, `job`, `execution` or `slots`.
        format: `text`, `json`, `dot`, `svg` or `html`.
        task_managers: For slots: number of TaskManagers; None means as many as the job needs.
        slots: For slots: number of slots per TaskManager.

    Raises:
        InvalidPlanError: the source lacks information that the view needs.
        InvalidProgramError: the parallelism of a vertex exceeds its maximum parallelism.
    """
    return _FORMATS[format](view, _Views(source, task_managers, slots))
