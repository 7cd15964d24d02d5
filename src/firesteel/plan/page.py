"""All views of a job on one linked HTML page, which needs no network access."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping
from importlib import resources
from string import Template
from typing import Any

from firesteel.plan.diagram import Diagram
from firesteel.plan.dot import svg

__all__ = ["page"]

_HEADINGS = {"stream": "Stream graph", "job": "Job graph", "execution": "Execution graph", "slots": "Slots"}


def page(views: Mapping[str, Diagram], notes: tuple[str, ...] = ()) -> str:
    """Return the page of views, given by name.

    A click on an operator highlights its vertex, its subtasks, their edges and slots. A click on an edge shows why its
    ends are not chained.
    """
    facts: dict[str, Any] = {}
    links: set[tuple[str, str]] = set()
    for diagram in views.values():
        for node in diagram.nodes:
            facts[node.id] = {"title": node.title, "lines": [" ".join(node.facts), *node.details]}
            links.update((node.id, link) for link in node.links)
        for cluster in diagram.clusters:
            facts[cluster.id] = {"title": cluster.title, "lines": []}
            links.update((cluster.id, link) for link in cluster.links)
        for edge in diagram.edges:
            reason = "chained" if edge.is_chained else edge.reason and f"not chained: {edge.reason}"
            facts[edge.id] = {"title": edge.label, "lines": [reason], "ends": [edge.source, edge.target]}
    sections = [
        f'<section id="view-{name}"><h2>{_HEADINGS[name]}</h2><p>{html.escape(diagram.summary)}</p>'
        f'<div class="drawing">{svg(diagram)}</div>'
        f"{''.join(f'<p>{html.escape(note)}</p>' for note in diagram.notes)}</section>"
        for name, diagram in views.items()
    ]
    title = next(iter(views.values())).name
    template = Template(resources.files("firesteel.plan").joinpath("page.html").read_text(encoding="utf-8"))
    return template.substitute(
        title=html.escape(title),
        notes="".join(f'<p class="note">{html.escape(note)}</p>' for note in notes),
        sections="".join(sections),
        # Only "</" can end a script element.
        data=json.dumps({"facts": facts, "links": sorted(links)}).replace("</", "<\\/"),
    )
