"""Messages of changes as Flink reads and writes them: `changes/record.py` made the recording."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.columns.type_text import type_text
from firesteel.columns.values import to_arrow
from firesteel.connectors.formats.json.envelopes import ENVELOPES
from firesteel.connectors.formats.table_format import Columns, Format, make_format
from firesteel.connectors.table_options import Options
from firesteel.table.errors import ValidationException

RECORDED = json.loads((Path(__file__).parent / "changes" / "recorded.json").read_text())
TEXT = t.VarCharType(t.MAX_LENGTH)
COLUMNS = {"id": t.IntType(), "n": TEXT, "v": t.DoubleType()}
WRITTEN = COLUMNS | {
    "d": t.DecimalType(10, 2),
    "w": t.TimestampType(3),
    "r": t.RowType([t.RowField("a", t.IntType()), t.RowField("b", TEXT)]),
}
NOT_OF_FORMAT = ("fail-on-missing-field", "decode.json-parser.enabled")
"""Flink's table of files lets options pass that the format has not; here they are warned of before."""
MOMENT = datetime.datetime(2024, 1, 2, 3, 4, 5, 678000)
ROWS = [
    (Kind.INSERT, (1, "a", 1.0, Decimal("1.50"), MOMENT, (1, "x"))),
    (Kind.UPDATE_BEFORE, (1, "a", 1.0, Decimal("1.50"), MOMENT, (1, "x"))),
    (Kind.UPDATE_AFTER, (1, "a", 3.5, Decimal("2.25"), MOMENT, (1, "x"))),
    (Kind.INSERT, (2, None, None, None, None, (2, "x"))),
]

PATCHED = ("id", "old", "n")
PATCHED_VALUES = st.sampled_from([None, "x", "old", '"old":', "", "é"])
NESTED = st.fixed_dictionaries({}, optional={"other": st.dictionaries(st.sampled_from(PATCHED), st.none())})
PATCHES = st.builds(dict.__or__, st.dictionaries(st.sampled_from(PATCHED), PATCHED_VALUES), NESTED)
"""Old rows: some name a column within the value of a field that is none, as Flink looks at any depth."""


def format_of(case: dict[str, Any], columns: dict[str, t.DataType]) -> Format:
    own = {"canal-json": ("database.include", "table.include"), "debezium-json": ("schema-include",)}
    others = {name for names in own.values() for name in names} - set(own.get(case["format"], ()))
    options = {k: v for k, v in case.get("options", {}).items() if k not in others and k not in NOT_OF_FORMAT}
    if case.get("has_schema"):
        options["schema-include"] = "true"
    names, types = tuple(columns), tuple(columns.values())
    return make_format(case["format"], Columns(names, types), Options(options, case["format"]), "messages")


def rows_of(batch: ColumnBatch) -> list[list[Any]]:
    columns = zip(*(column.to_pylist() for column in batch.columns), strict=True)
    return [[Kind(kind).name, *row] for kind, row in zip(batch.kinds_or_inserts(), columns, strict=True)]


@pytest.mark.parametrize("case", RECORDED["read"], ids=lambda case: f"{case['format']}: {case['lines'][0][:60]}")
def test_messages_are_read_as_flink_reads_them(case: dict[str, Any]) -> None:
    lines = "".join(line + "\n" for line in case["lines"]).encode()
    if isinstance(case["flink"], str):
        with pytest.raises((ValueError, ValidationException)):
            format_of(case, COLUMNS).decode_block(lines)
    else:
        assert rows_of(format_of(case, COLUMNS).decode_block(lines)) == case["flink"]


@pytest.mark.parametrize("name", ENVELOPES)
def test_messages_of_one_batch_are_read_as_one_by_one(name: str) -> None:
    cases = [case for case in RECORDED["read"] if case["format"] == name and not case["options"]]
    good = [case for case in cases if not isinstance(case["flink"], str)]
    found = format_of(good[0], COLUMNS).decode_messages([line.encode() for case in good for line in case["lines"]])
    assert rows_of(found) == [row for case in good for row in case["flink"]]


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.tuples(*(PATCHED_VALUES for _ in PATCHED)), PATCHES), min_size=1, max_size=4),
    st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]),
)
def test_old_rows_have_new_values_but_for_those_they_name(
    changes: list[tuple[tuple[Any, ...], dict[str, Any]]], separators: tuple[str, str]
) -> None:
    new = [dict(zip(PATCHED, row, strict=True)) for row, _ in changes]
    one_each = [{"data": row, "old": old, "type": "update"} for row, (_, old) in zip(new, changes, strict=True)]
    together = {"type": "UPDATE", "old": [old for _, old in changes], "data": new}
    named = [set(old) | set(old.get("other", ())) for _, old in changes]
    # Flink looks for the name in all the old rows of a message.
    for name, messages, names in (
        ("maxwell-json", one_each, named),
        ("canal-json", [together], [set().union(*named)] * len(changes)),
    ):
        lines = [json.dumps(message, separators=separators).encode() for message in messages]
        found = format_of({"format": name}, dict.fromkeys(PATCHED, TEXT)).decode_messages(lines)
        wanted = []
        for (row, old), known in zip(changes, names, strict=True):
            before = [old.get(name, None if name in known else new) for name, new in zip(PATCHED, row, strict=True)]
            wanted += [["UPDATE_BEFORE", *before], ["UPDATE_AFTER", *row]]
        assert rows_of(found) == wanted


@pytest.mark.parametrize("case", RECORDED["written"], ids=lambda case: f"{case['format']}: {case['options']}")
def test_rows_are_written_as_flink_writes_them(case: dict[str, Any]) -> None:
    columns = zip(zip(*(row for _, row in ROWS), strict=True), WRITTEN.values(), strict=True)
    kinds = [int(kind) for kind, _ in ROWS]
    batch = ColumnBatch(
        tuple(to_arrow(list(values), kind) for values, kind in columns), len(ROWS), np.array(kinds, np.int8)
    )
    found = format_of(case, WRITTEN)
    if isinstance(case["flink"], str):
        with pytest.raises(ValidationException, match=r"doesn't support 'debezium-json\.schema-include'"):
            found.check_sink()
    else:
        assert sorted(line.decode() for line in found.encode(batch)) == sorted(case["flink"])


@pytest.mark.parametrize("case", RECORDED["metadata"], ids=lambda case: f"{case['format']}: {case['message'][:60]}")
def test_metadata_is_read_as_flink_reads_it(case: dict[str, Any]) -> None:
    found = format_of(case, COLUMNS)
    assert {key: type_text(kind) for key, kind in found.metadata.items()} == case["flink"]["keys"]
    found = found.with_metadata(tuple(found.metadata))
    message = case["message"].encode()
    if case["flink"]["rows"] is None:
        with pytest.raises(ValueError, match="Corrupt"):
            found.decode_messages([message])
        return
    rows = [_java_text(row) for row in rows_of(found.decode_messages([message]))]
    wanted = [_without_objects(text) for text in case["flink"]["rows"]]
    if "1234567" not in case["message"]:  # Flink keeps three of seven digits here, but six of six.
        assert rows == wanted


def _java_text(row: list[Any]) -> str:
    kind = {"INSERT": "+I", "UPDATE_BEFORE": "-U", "UPDATE_AFTER": "+U", "DELETE": "-D"}[row[0]]
    return f"{kind}({','.join(map(_java_value, row[1:]))})"


def _java_value(value: Any) -> str:
    if isinstance(value, list):
        return "*"
    if isinstance(value, datetime.datetime):
        text = value.strftime("%Y-%m-%dT%H:%M:%S.%f")
        return text[:-7] if text.endswith("000000") else text.removesuffix("000")
    return "null" if value is None else str(value)


def _without_objects(text: str) -> str:
    """Return the text of a row without the hashes that Java prints for maps and arrays."""
    parts = text.split("org.apache.flink.table.data.Generic")
    return parts[0] + "".join("*" + part[part.index("@") :].lstrip("@0123456789abcdef") for part in parts[1:])
