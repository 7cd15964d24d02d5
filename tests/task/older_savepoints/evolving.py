"""A job whose state has a ROW and an Avro record, in an old and in a new declaration.

`python -m tests.task.older_savepoints.evolving DIRECTORY` writes the savepoint of the old one. The one in `evolving`
was written by the first release that notes the schemas of Avro types.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from firesteel.common import Row, Types
from firesteel.connectors.formats.avro.schemas import AvroSchema, GenericRecordAvroTypeInfo
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.functions import KeyedProcessFunction
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.testing import run_local
from tests.task.older_savepoints.program import KEYS, begun

ROWS = (
    Types.ROW_NAMED(["number", "gone"], [Types.LONG(), Types.STRING()]),
    Types.ROW_NAMED(["added", "number"], [Types.STRING(), Types.LONG()]),
)


def _record(*fields: dict[str, Any]) -> GenericRecordAvroTypeInfo:
    schema = {"type": "record", "name": "Number", "fields": [{"name": "id", "type": "int"}, *fields]}
    return GenericRecordAvroTypeInfo(AvroSchema.parse_string(json.dumps(schema)))


RECORDS = (
    _record({"name": "number", "type": "int"}, {"name": "gone", "type": "string"}),
    _record({"name": "added", "type": "string", "default": "?"}, {"name": "number", "type": "long"}),
)


class _Evolving(KeyedProcessFunction):
    """Keeps numbers as rows and records, and shows all of them at the end."""

    def __init__(self, is_new: bool) -> None:
        self.is_new = is_new

    def open(self, runtime_context: Any) -> None:
        row, record = ROWS[self.is_new], RECORDS[self.is_new]
        self.rows = runtime_context.get_list_state(ListStateDescriptor("rows", row))
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.TUPLE([Types.LONG(), row])))
        self.records = runtime_context.get_map_state(MapStateDescriptor("records", Types.LONG(), record))

    def process_element(self, value: Any, ctx: Any) -> Any:
        named = {"number": value, ("added" if self.is_new else "gone"): f"n{value}"}
        self.rows.add(Row(**{name: named[name] for name in ROWS[self.is_new].get_field_names()}))
        self.last.update((value, list(self.rows)[-1]))
        self.records.put(value, {"id": value % 7, **named})
        ctx.timer_service().register_event_time_timer(2**60)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        rows = [row.as_dict() for row in self.rows]
        records = dict(sorted(self.records.items()))
        yield json.dumps([ctx.get_current_key(), rows, list(records.values()), self.last.value()[1].as_dict()])


def environment(is_new: bool, backend: str = "hashmap", restore: Path | None = None) -> StreamExecutionEnvironment:
    """Return the job; it prints a line per key."""
    env, numbers = begun(restore, {"state.backend.type": backend})
    keyed = numbers.key_by(lambda value: value % KEYS, Types.LONG())
    keyed.process(_Evolving(is_new), Types.STRING()).uid("evolving").print().uid("print")
    return env


def main(directory: Path) -> None:
    """Run the first half of the old job, and write its savepoint."""
    run_local(environment(False), batch_elements=5, batches=4, savepoint=directory / "written")
    [made] = (directory / "written").iterdir()
    shutil.move(made, directory / "savepoint")
    (directory / "written").rmdir()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
