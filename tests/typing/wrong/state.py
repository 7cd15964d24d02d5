"""State and side outputs of other types than declared."""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.common import Types
from firesteel.datastream import DataStream, KeyedProcessFunction, OutputTag, ProcessFunction, RuntimeContext
from firesteel.datastream.state import MapStateDescriptor, ReducingStateDescriptor, ValueState, ValueStateDescriptor

LATE = OutputTag("late", Types.STRING())


def longer(first: str, second: str) -> str:
    return max(first, second, key=len)


class Totals(KeyedProcessFunction[str, int, int]):
    total: ValueState[int]

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.STRING()))  # error: text
        seen = runtime_context.get_map_state(MapStateDescriptor("seen", Types.STRING(), Types.BOOLEAN()))
        seen.put(1, True)  # error: the key is text
        seen.put("a", "b")  # error: the value is a bool
        ReducingStateDescriptor("longest", longer, Types.INT())  # error: the function takes text

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterable[int]:
        self.total.update("a")  # error: the state holds numbers
        return [self.total.value() + value]  # error: the state may be empty


class Texts(ProcessFunction[int, str]):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterable[int]:  # error: numbers
        return [value]


def main(words: DataStream[str], numbers: DataStream[int]) -> None:
    words.key_by(lambda word: word).process(Totals())  # error: words come in
    numbers.key_by(lambda number: number).process(Totals())  # error: the key is a number
    numbers.key_by(str).process(Totals(), Types.STRING())  # error: numbers come out
    numbers.process(Totals())  # error: the stream has no key
    totals = numbers.key_by(str).process(Totals())
    totals.get_side_output(LATE).map(lambda text: text + 1)  # error: text
