"""Accumulators of JSON_OBJECTAGG and JSON_ARRAYAGG."""

# ruff: noqa: D102

from __future__ import annotations

from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.functions.accumulators import Accumulator, State
from firesteel.columns.functions.value_accumulators import ValueLog
from firesteel.columns.json_text import json_writer, object_text
from firesteel.errors import JobExecutionError


class JsonObjectAgg(Accumulator):
    """JSON_OBJECTAGG; the state maps each key to a JSON text."""

    def __init__(self, value_type: t.DataType, keep_null: bool) -> None:
        self._write = json_writer(value_type)
        self._keep_null = keep_null

    def new(self) -> State:
        return [{}]

    def add(self, state: State, *args: object) -> None:
        key, value = args
        if key is None:
            raise JobExecutionError("Null keys are not allowed in JSON_OBJECTAGG; make sure to filter for nulls.")
        if value is not None or self._keep_null:
            state[0][key] = self._write(value)

    def retract(self, state: State, *args: object) -> None:
        state[0].pop(args[0], None)

    def value(self, state: State) -> Any:
        return object_text(state[0])


class JsonArrayAgg(ValueLog):
    """JSON_ARRAYAGG; values are kept in order of arrival."""

    def __init__(self, value_type: t.DataType, keep_null: bool, retracts: bool) -> None:
        super().__init__(retracts)
        self._write = json_writer(value_type)
        self.skip_null = not keep_null

    def value(self, state: State) -> Any:
        return f"[{','.join(map(self._write, state[1].values()))}]"
