"""Connectors by the name in the option `connector`. Flink: `FactoryUtil`."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

from firesteel.columns.type_text import text_literal
from firesteel.common.meant import meant
from firesteel.common.options.sensitive_values import masked
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.identifiers import connector_module, known_connectors
from firesteel.connectors.table_connector import ResolvedTable, ScanSource, SinkRequest, TableSink

if TYPE_CHECKING:
    from firesteel.table.table_config import TableConfig

T = TypeVar("T")


class ConnectorContext:
    """The context of a connector besides its table.

    Attributes:
        config: Options of the environment.
        is_streaming: Whether queries run continuously.
    """

    def __init__(self, config: TableConfig, is_streaming: bool) -> None:
        self.config = config
        self.is_streaming = is_streaming


def create_source(table: ResolvedTable, config: TableConfig, is_streaming: bool) -> ScanSource:
    """Return the source that reads a table.

    Raises:
        ValidationException: the connector can't read, or an option does not fit.
    """
    make: Callable[..., ScanSource] | None = getattr(_module(table, "source"), "source", None)
    if make is None:
        name = table.options["connector"]
        raise _failed(table, "source", f"Connector '{name}' can only be used as a sink. It cannot be used as a source.")
    return _made(table, "source", make, ConnectorContext(config, is_streaming))


def create_sink(table: ResolvedTable, request: SinkRequest, config: TableConfig, is_streaming: bool) -> TableSink:
    """Return the sink that writes a table.

    Raises:
        ValidationException: the connector can't write, or an option does not fit.
    """
    make: Callable[..., TableSink] | None = getattr(_module(table, "sink"), "sink", None)
    if make is None:
        name = table.options["connector"]
        raise _failed(table, "sink", f"Connector '{name}' can only be used as a source. It cannot be used as a sink.")
    return _made(table, "sink", make, request, ConnectorContext(config, is_streaming))


def _made(table: ResolvedTable, direction: str, make: Callable[..., T], *arguments: object) -> T:
    try:
        return make(table, *arguments)
    except ValidationException as error:
        raise _failed(table, direction, str(error)) from error


def _advice_without_connector(table: ResolvedTable) -> str:
    if close := get_close_matches("connector", table.options, 1, cutoff=0.8):
        return f"{close[0]!r} may be meant to be it"
    return "add WITH ('connector' = '...') to CREATE TABLE"


def _module(table: ResolvedTable, direction: str) -> ModuleType:
    name = table.options.get("connector")
    if name is None:
        raise _failed(
            table,
            direction,
            "Table options do not contain an option key 'connector' for discovering a connector: "
            f"{_advice_without_connector(table)}.\n\n{_identifiers()}",
        )
    try:
        found = connector_module(name)
        if found is None:
            raise ValidationException(
                f"Could not find any factory for identifier '{name}' that implements 'DynamicTableFactory'"
                f"{meant(name, known_connectors()) or '.'}\n\n{_identifiers()}"
            )
    except ValidationException as error:
        raise _failed(table, direction, str(error)) from error
    return found


def _identifiers() -> str:
    return "Available factory identifiers are:\n\n" + "\n".join(known_connectors())


def _failed(table: ResolvedTable, direction: str, reason: str) -> ValidationException:
    options = "\n".join(
        f"{text_literal(key)}={text_literal(value)}" for key, value in sorted(masked(table.options).items())
    )
    path = ".".join(table.path)
    return ValidationException(
        f"Unable to create a {direction} for {'reading' if direction == 'source' else 'writing'} table '{path}'. "
        f"{reason}\n\nTable options are:\n\n{options or 'none'}"
    )
