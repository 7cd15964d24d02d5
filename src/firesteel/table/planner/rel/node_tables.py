"""Tables with an entry for each class of node."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, get_args

from firesteel.table.planner.rel import rel

T = TypeVar("T")


def for_each_node(question: str, entries: Iterable[tuple[type, T]]) -> dict[type, T]:
    """Return a table by the class of a node; the module of a table that lacks a node does not import.

    Args:
        question: What the table says about a node, for the error.
        entries: The classes with what is said about them.

    Raises:
        ImportError: a node has no entry, or a class is no node.
    """
    table = dict(entries)
    if missing := set(get_args(rel.Rel)) ^ table.keys():
        raise ImportError(f"{question}: declare it for these nodes: {sorted(node.__name__ for node in missing)}")
    return table
