"""Write modes of registered sinks, which became an argument of inserts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from weakref import WeakKeyDictionary

from firesteel.common.table_errors import TableException
from firesteel.pyflink1.tables.csv_sink import CsvTableSink
from firesteel.table.execution.insert_planning import PlannedInsert
from firesteel.table.table_environment import TableEnvironment
from firesteel.table.table_parts import is_streaming

_SINKS: WeakKeyDictionary[TableEnvironment, dict[str, CsvTableSink]] = WeakKeyDictionary()


def set_write_mode(environment: TableEnvironment, name: str, sink: CsvTableSink) -> None:
    """Remember the write mode of a sink.

    Raises:
        NotImplementedError: it replaces existing files, in streaming mode.
    """
    if sink.overwrites and is_streaming(environment):
        raise NotImplementedError(
            "WriteMode.OVERWRITE needs batch mode; delete the files before the job in streaming mode"
        )
    _SINKS.setdefault(environment, {})[name] = sink


def with_write_mode(environment: TableEnvironment, insert: PlannedInsert) -> PlannedInsert:
    """Return an insert that treats existing files as its sink demands.

    Raises:
        TableException: the path exists, and the sink does not replace it.
    """
    sink = _SINKS.get(environment, {}).get(insert.table.path[-1])
    if sink is None:
        return insert
    if sink.overwrites:
        return replace(insert, request=replace(insert.request, overwrite=True))
    path = Path(sink.path.removeprefix("file://"))
    if path.exists():
        raise TableException(
            f"Output path '{path}' exists already. Existing files are not overwritten in NO_OVERWRITE mode; use "
            "WriteMode.OVERWRITE"
        )
    return insert
