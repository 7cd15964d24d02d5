"""The classes that a compiled plan can contain."""

from __future__ import annotations

from typing import get_args

from firesteel.columns.rex import Call, InputRef, UserCall
from firesteel.connectors.table_connector import SinkRequest
from firesteel.table.planner.rel import rel

NODES: tuple[type, ...] = get_args(rel.Rel)
PARTS: tuple[type, ...] = (
    InputRef,
    Call,
    UserCall,
    *get_args(rel.Part),
    SinkRequest,
)
"""What nodes consist of, apart from types, constants and tables."""
BY_NAME = {one.__name__: one for one in (*NODES, *PARTS)}
OMITTED = frozenset({"source", "lookup", "inputs", "keeps_times"})
"""Attributes that are made again, from the table or by the node itself, or that are gone once a plan is optimized."""
