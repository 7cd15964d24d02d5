"""The connector `python`: any source or sink of DataStreams, by the name of a function that makes it.

Flink has no such connector; there, programs write a `DynamicTableFactory` in Java.
"""

from __future__ import annotations

import importlib
from typing import TypeVar

from firesteel.common.checks import with_article
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.row_tables import SinkTable, SourceTable
from firesteel.connectors.table_connector import ALL_KINDS, ResolvedTable, SinkRequest
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.functions.connector_base import Sink, Source

T = TypeVar("T")


def source(table: ResolvedTable, context: ConnectorContext) -> SourceTable:
    """Return the table of a user-defined source, whose elements are tuples or `Row`s."""
    return SourceTable(table, _made(table, "source", Source))


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> SinkTable:
    """Return the table of a user-defined sink, which gets `Row`s."""
    return SinkTable(table, _made(table, "sink", Sink), ALL_KINDS)


def _made(table: ResolvedTable, option: str, kind: type[T]) -> T:
    options = Options(table.options, "python")
    options.check((option,), ("source", "sink"), ("options.",))
    module, _, attribute = options.text(option).partition(":")
    try:
        made = getattr(importlib.import_module(module), attribute)(options.below("options.", "python").values)
    except (ImportError, AttributeError, ValueError) as error:
        raise options.invalid(option, f"module:function ({error})") from error
    if not isinstance(made, kind):
        raise ValidationException(f"'{options.text(option)}' must return {with_article(kind)}, found {made!r}")
    return made
