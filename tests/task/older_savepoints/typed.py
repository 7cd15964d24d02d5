"""A job with a state of each declared type, and one of a class of its own.

`python -c "from tests.task.older_savepoints import typed; typed.main()" DIRECTORY` writes its savepoint. The one in
`data/typed` was written by the first release whose files are data.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.functions import KeyedProcessFunction
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.testing import run_local
from tests.common.test_json_values import CASES
from tests.task.older_savepoints.program import KEYS, begun

PICKLED = "own"
"""The name of the state whose values are pickled."""


class Own:
    """A class that only the program has."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Typed(KeyedProcessFunction):
    """Has the value of each case in a value, a list and a map state, and shows them at the end of all input."""

    def open(self, runtime_context: Any) -> None:
        cases = list(enumerate(CASES))
        get = runtime_context
        self.values = [get.get_state(ValueStateDescriptor(f"value {n}", kind)) for n, (kind, _) in cases]
        self.lists = [get.get_list_state(ListStateDescriptor(f"list {n}", kind)) for n, (kind, _) in cases]
        self.maps = [get.get_map_state(MapStateDescriptor(f"map {n}", kind, kind)) for n, (kind, _) in cases]
        self.own = get.get_state(ValueStateDescriptor(PICKLED, Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        for (_, case), of_value, of_list, of_map in zip(CASES, self.values, self.lists, self.maps, strict=True):
            of_value.update(case)
            of_list.add(case)
            of_map.put(case, case)
        self.own.update(Own(value))
        ctx.timer_service().register_event_time_timer(2**60)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        for (_, case), of_value, of_list, of_map in zip(CASES, self.values, self.lists, self.maps, strict=True):
            elements, items = list(of_list), list(of_map.items())
            yield f"{of_value.value()!r} {elements!r} {items!r} {elements == [case] * len(elements)}"
        yield f"own {self.own.value().number}"


def environment(backend: str, restore: Path | None = None) -> StreamExecutionEnvironment:
    """Return the job; it prints a line for each key and type."""
    env, numbers = begun(restore, {"state.backend.type": backend})
    keyed = numbers.key_by(lambda value: value % KEYS, Types.LONG())
    keyed.process(_Typed(), Types.STRING()).uid("typed").print().uid("print")
    return env


def main() -> None:
    """Run the first half of the job, and write its savepoint. The module is imported, as the pickle names it."""
    directory = Path(sys.argv[1])
    run_local(environment("rocksdb"), batch_elements=5, batches=4, savepoint=directory / "written")
    [made] = (directory / "written").iterdir()
    shutil.move(made, directory / "savepoint")
    (directory / "written").rmdir()
