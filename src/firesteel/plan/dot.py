"""Diagrams in DOT, and rendered as SVG."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

from firesteel.plan.diagram import Diagram, Edge, Node

__all__ = ["dot", "svg"]

_COLOURS = {
    "source": "#d9f0d3",
    "operator": "#e8eefc",
    "sink": "#fde3cf",
    "subtask": "#f4f4f8",
    "slot": "#fff8db",
    "free": "#ffffff",
    "more": "#ffffff",
}
_LABEL_WIDTH = 42


def dot(diagram: Diagram) -> str:
    """Return the diagram in DOT, Graphviz's language."""
    lines = [
        f"digraph {_quoted(diagram.name)} {{",
        '  graph [fontname="Helvetica", fontsize=11, bgcolor="transparent", ranksep=0.5, nodesep=0.25, '
        'tooltip=" ", compound=true]',
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=11, color="#55606e", '
        'margin="0.12,0.06"]',
        '  edge [fontname="Helvetica", fontsize=9, color="#55606e", arrowsize=0.7]',
    ]
    for cluster in diagram.clusters:
        lines.append(f"  subgraph {_quoted('cluster_' + cluster.id)} {{")
        label = _quoted(_wrapped(cluster.title))
        lines.append(f'    id={_quoted(cluster.id)}; label={label}; style="rounded"; color="#9aa5b1"; tooltip={label}')
        lines += (f"    {_node(node)}" for node in diagram.nodes if node.cluster == cluster.id)
        lines.append("  }")
    lines += (f"  {_node(node)}" for node in diagram.nodes if node.cluster is None)
    lines += (f"  {_edge(edge)}" for edge in diagram.edges)
    return "\n".join([*lines, "}"])


def svg(diagram: Diagram) -> str:
    """Return the diagram as SVG, rendered by the Graphviz in the pygraphviz wheel."""
    import pygraphviz  # late import: text and JSON do not need it

    with _quiet_stderr():
        drawn: bytes = pygraphviz.AGraph(string=dot(diagram)).draw(format="svg", prog="dot")
    return drawn[drawn.index(b"<svg") :].decode()


def _node(node: Node) -> str:
    attributes = {"id": node.id, "tooltip": "\n".join((node.title, *node.details)).strip() or " "}
    if node.kind == "group":
        attributes |= {"shape": "point", "label": "", "width": "0.06"}
    else:
        facts = [_wrapped(fact) for fact in node.facts] if node.kind == "slot" else ["  ".join(node.facts)]
        label = "\n".join(filter(None, [_wrapped(node.title), *facts]))
        attributes |= {"label": label, "fillcolor": _COLOURS[node.kind]}
        if node.kind in ("more", "free"):
            attributes["style"] = "rounded,dashed"
    return f"{_quoted(node.id)} [{_attributes(attributes)}]"


def _edge(edge: Edge) -> str:
    reason = "chained" if edge.is_chained else f"not chained: {edge.reason}" if edge.reason else edge.label or " "
    attributes = {"id": edge.id, "tooltip": reason, "labeltooltip": reason}
    if edge.label:
        attributes["label"] = edge.label.replace(", ", ",\n")
    if edge.is_chained:
        attributes |= {"color": "#2f7d32", "penwidth": "2"}
    if edge.is_blocking:
        attributes["style"] = "dashed"
    if edge.target.startswith("group-"):
        attributes["arrowhead"] = "none"
    return f"{_quoted(edge.source)} -> {_quoted(edge.target)} [{_attributes(attributes)}]"


def _attributes(attributes: dict[str, str]) -> str:
    return ", ".join(f"{name}={_quoted(value)}" for name, value in attributes.items())


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(text, _LABEL_WIDTH, break_long_words=False) or [text])


@contextmanager
def _quiet_stderr() -> Iterator[None]:
    """Discard standard error: the wheel's fontconfig complains about newer configuration files of the system."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)
