"""State of Avro types is restored with another schema by Avro's rules, or refused with both schemas."""

from __future__ import annotations

import json
from contextlib import suppress
from io import BytesIO
from typing import Any

import fastavro
import pytest
from fastavro.utils import generate_many
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.common import Types
from firesteel.connectors.formats.avro.evolution import can_read
from firesteel.connectors.formats.avro.schemas import AvroSchema, GenericRecordAvroTypeInfo
from firesteel.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from firesteel.operators.chain.operator_errors import StateMigrationError
from firesteel.operators.state.descriptions import DESCRIBED
from tests.operators.test_state_migration import BACKENDS, state_of, written
from tests.seeds import examples


def record(*fields: tuple[Any, ...], name: str = "Order") -> str:
    """Return a schema; a field is its name, type and, if it has one, default."""
    found = [dict(zip(("name", "type", "default"), field, strict=False)) for field in fields]
    return json.dumps({"type": "record", "name": name, "fields": found})


def of(schema: str) -> GenericRecordAvroTypeInfo:
    return GenericRecordAvroTypeInfo(AvroSchema.parse_string(schema))


OLD = record(("id", "int"), ("gone", "string"))
NEW = record(("id", "long"), ("added", ["null", "string"], None))


@BACKENDS
def test_records_get_and_lose_fields_and_wider_numbers(on_disk: bool) -> None:
    parts = written(ValueStateDescriptor("s", of(OLD)), lambda s: s.update({"id": 1, "gone": "x"}))
    backend, state = state_of(ValueStateDescriptor("s", of(NEW)), Types.STRING(), parts, on_disk)
    assert state.value() == {"id": 1, "added": None}
    _, state = state_of(ValueStateDescriptor("s", of(NEW)), Types.STRING(), list(backend.full()), on_disk)
    assert state.value() == {"id": 1, "added": None}


def test_records_within_other_types_and_states_are_converted() -> None:
    value = {"id": 1, "gone": "x"}
    listed = ListStateDescriptor("s", Types.TUPLE([of(OLD), Types.INT()]))
    _, state = state_of(
        ListStateDescriptor("s", Types.TUPLE([of(NEW), Types.INT()])),
        Types.STRING(),
        written(listed, lambda s: s.add((value, 2))),
    )
    assert state.get() == [({"id": 1, "added": None}, 2)]
    mapped = MapStateDescriptor("s", Types.INT(), of(OLD))
    _, state = state_of(
        MapStateDescriptor("s", Types.INT(), of(NEW)), Types.STRING(), written(mapped, lambda s: s.put(5, value))
    )
    assert dict(state.items()) == {5: {"id": 1, "added": None}}


def test_another_schema_is_refused_with_both() -> None:
    parts = written(ValueStateDescriptor("s", of(OLD)), lambda s: s.update({"id": 1, "gone": "x"}))
    wrong = record(("id", "string"))
    with pytest.raises(StateMigrationError) as caught:
        state_of(ValueStateDescriptor("s", of(wrong)), Types.STRING(), parts)
    assert f"state 's' was restored as type AVRO {OLD}, but the program asks for type AVRO {wrong}" in str(caught.value)
    with pytest.raises(StateMigrationError, match=r"restored as type AVRO .* asks for type Integer"):
        state_of(ValueStateDescriptor("s", Types.INT()), Types.STRING(), parts)


def test_state_of_releases_that_did_not_note_schemas_stays_as_it_is() -> None:
    value = {"id": 1, "gone": "x"}
    parts = written(ValueStateDescriptor("s", Types.PICKLED_BYTE_ARRAY()), lambda s: s.update(value))
    backend, state = state_of(ValueStateDescriptor("s", of(OLD)), Types.STRING(), parts)
    assert state.value() == value
    assert dict(backend.full())[DESCRIBED]["s"]["value"] == ("AVRO", (), (OLD,))


RESOLUTIONS: list[tuple[Any, Any, bool]] = [
    ("int", "double", True),
    ("double", "int", False),
    ("string", "bytes", True),
    ("int", ["null", "long"], True),
    (["null", "int"], "int", False),
    (["int", "long"], ["null", "long"], True),
    ({"type": "array", "items": "int"}, {"type": "array", "items": "long"}, True),
    ({"type": "map", "values": "long"}, {"type": "map", "values": "int"}, False),
    *(
        ({"type": "enum", "name": "E", "symbols": old}, {"type": "enum", "name": "E", "symbols": new, **more}, fits)
        for old, new, more, fits in (
            (["A"], ["A", "B"], {}, True),
            (["A", "B"], ["A"], {}, False),
            (["A", "B"], ["A"], {"default": "A"}, True),
        )
    ),
    ({"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "F", "size": 3}, False),
    ({"type": "fixed", "name": "F", "size": 2}, {"type": "fixed", "name": "G", "size": 2}, False),
    ({"type": "fixed", "name": "a.F", "size": 2}, {"type": "fixed", "name": "b.F", "size": 2}, True),
    (
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2},
        {"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 3},
        False,
    ),
]


@pytest.mark.parametrize(("old", "new", "fits"), RESOLUTIONS)
def test_types_resolve_as_in_avro(old: Any, new: Any, fits: bool) -> None:
    assert can_read(json.dumps(old), json.dumps(new)) is fits
    wrapped = [record(("f", one)) for one in (old, new)]
    assert can_read(*wrapped) is fits


def test_aliases_missing_defaults_and_recursion() -> None:
    renamed = json.dumps(
        {
            "type": "record",
            "name": "O",
            "fields": [{"name": "n", "aliases": ["id"], "type": "int"}],
            "aliases": ["Order"],
        }
    )
    assert can_read(record(("id", "int")), renamed)
    assert not can_read(record(("id", "int")), record(("id", "int"), ("added", "int")))
    assert not can_read(record(("id", "int")), record(("id", "int"), name="Other"))
    tree = record(("value", "int"), ("next", ["null", "Order"]))
    wider = record(("value", "long"), ("next", ["null", "Order"]))
    assert can_read(tree, wider)
    assert not can_read(wider, tree)


SCALARS = st.sampled_from(["int", "long", "float", "double", "string", "bytes", "boolean", "null"])
SCHEMAS = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(lambda values: {"type": "map", "values": values}, inner),
        st.lists(SCALARS, min_size=2, max_size=3, unique=True),
    ),
    max_leaves=4,
)


@settings(max_examples=examples(300), deadline=None)
@given(SCHEMAS, SCHEMAS)
def test_what_fits_can_be_read(old: Any, new: Any) -> None:
    if can_read(json.dumps(old), json.dumps(new)):
        writer, reader = fastavro.parse_schema(old), fastavro.parse_schema(new)
        for value in generate_many(writer, 5):
            data = BytesIO()
            fastavro.schemaless_writer(data, writer, value)
            data.seek(0)
            with suppress(UnicodeDecodeError):  # bytes may be read as a string, if they are one
                fastavro.schemaless_reader(data, writer, reader)
