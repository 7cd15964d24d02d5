"""Rows of results as JSON, in the two row formats of the gateway (Flink: `gateway.rest.serde.ResultInfo`)."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.pylist import pylist
from firesteel.columns.value_text import cast_formatter
from firesteel.columns.values import to_arrow
from firesteel.common.types import Row
from firesteel.connectors.formats.json.codec import JsonCodec, JsonRules, quoted
from firesteel.connectors.formats.json.column_parts import column_part
from firesteel.connectors.formats.text_values import Style
from firesteel.gateway.logical_types import logical_type


class RowFormat(Enum):
    """The format of fields: values as in the JSON format, or texts as CAST to STRING returns them."""

    JSON = "JSON"
    PLAIN_TEXT = "PLAIN_TEXT"


def results_text(row_type: t.RowType, rows: Sequence[Row], form: RowFormat, time_zone: datetime.tzinfo) -> str:
    """Return the JSON object with columns and rows, a `ResultInfo` of Flink.

    Args:
        row_type: Names and types of the columns.
        rows: The rows.
        form: The form of their fields.
        time_zone: The time zone in which texts of TIMESTAMP_LTZ are.
    """
    columns = [{"name": field.name, "logicalType": logical_type(field.data_type)} for field in row_type.fields]
    writers = [_writer(kind, form, time_zone) for kind in row_type.field_types()]
    texts = [
        [write(value) for value in _values([row[i] for row in rows], kind)]
        for i, (write, kind) in enumerate(zip(writers, row_type.field_types(), strict=True))
    ]
    data = ",".join(
        f'{{"kind":"{row.get_row_kind().name}","fields":[{",".join(fields)}]}}'
        for row, fields in zip(rows, zip(*texts, strict=True), strict=True)
    )
    head = json.dumps(columns, separators=(",", ":"))
    return f'{{"columns":{head},"rowFormat":"{form.value}","data":[{data}]}}'


def _values(values: list[Any], kind: t.DataType) -> list[Any]:
    """Return values of a program in the form that the writers of texts expect."""
    converted: list[object] = pylist(to_arrow(values, kind))
    return converted


def _writer(kind: t.DataType, form: RowFormat, time_zone: datetime.tzinfo) -> Callable[[object], str]:
    if form is RowFormat.JSON:
        return JsonCodec(JsonRules(null_keys="literal")).writer(column_part(kind, Style.ISO, False))
    text = cast_formatter(kind, time_zone)
    return lambda value: "null" if value is None else quoted(text(value))
