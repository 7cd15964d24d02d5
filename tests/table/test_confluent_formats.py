"""The formats `json-confluent` and `protobuf-confluent`, with a registry that answers as Confluent's does."""

from __future__ import annotations

import base64
import json
import pickle
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.values import to_arrow
from firesteel.connectors.formats.table_format import Columns, Format, make_format
from firesteel.connectors.table_options import Options
from firesteel.table.errors import ValidationException
from tests.kafka import schema_registry

descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")

TEXT = t.VarCharType(2**31 - 1)
ROW = t.RowType([t.RowField("x", t.DoubleType(False))])
COLUMNS: dict[str, t.DataType] = {
    "id": t.BigIntType(False), "name": TEXT, "tags": t.ArrayType(TEXT), "counts": t.MapType(TEXT, t.IntType(False)),
    "place": ROW,
}  # fmt: skip
MODULE = "nested_pb2_of_tests"


@pytest.fixture
def registry() -> Iterator[Any]:
    with schema_registry.running() as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def module() -> Iterator[None]:
    """A module with the class `Inner`: the second message in the first one of its file, which imports another."""
    from google.protobuf import descriptor_pool, message_factory

    made, pool = ModuleType(MODULE), descriptor_pool.DescriptorPool()
    for name, imports in (("other", ()), ("nested", ()), ("importing", ("other.proto",))):
        file = descriptor_pb2.FileDescriptorProto(name=f"{name}.proto", syntax="proto3", package=name)
        file.dependency.extend(imports)
        outer = file.message_type.add(name="Outer")
        outer.field.add(name="id", number=1, type="TYPE_INT64", label="LABEL_OPTIONAL")
        for inner in ("First", "Inner"):
            message = outer.nested_type.add(name=inner)
            message.field.add(name="id", number=1, type="TYPE_INT64", label="LABEL_OPTIONAL")
        pool.Add(file)
        for path in ("Outer", "Outer.First", "Outer.Inner"):
            found = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{name}.{path}"))
            setattr(made, f"{name}_{path.replace('.', '_')}", found)
    sys.modules[MODULE] = made
    yield
    del sys.modules[MODULE]


def format_of(name: str, registry: Any, columns: dict[str, t.DataType], **options: str) -> Format:
    given = {"url": registry.url, "subject": "orders-value"} | {k.replace("_", "-"): v for k, v in options.items()}
    found = make_format(name, Columns(tuple(columns), tuple(columns.values())), Options(given, name), "messages")
    return pickle.loads(pickle.dumps(found))


def protobuf(registry: Any, message: str, **options: str) -> Format:
    columns = {"id": t.BigIntType()}
    return format_of("protobuf-confluent", registry, columns, message_class_name=f"{MODULE}.{message}", **options)


def batch(columns: dict[str, t.DataType], *rows: list[Any]) -> ColumnBatch:
    values = zip(zip(*rows, strict=True), columns.values(), strict=True)
    return ColumnBatch(tuple(to_arrow(list(column), kind) for column, kind in values), len(rows))


def rows_of(found: ColumnBatch) -> list[list[Any]]:
    return [column.to_pylist() for column in found.columns]


def test_rows_become_json_with_a_registered_schema(registry: Any) -> None:
    made = format_of("json-confluent", registry, COLUMNS, fail_on_missing_field="true")
    given = batch(COLUMNS, [7, "é", ["a", None], {"k": 1}, (0.5,)], [8, None, None, None, None])
    messages = made.encode(given)
    assert [message[:5] for message in messages] == [b"\0\0\0\0\1"] * 2
    assert json.loads(messages[0][5:]) == {
        "id": 7, "name": "é", "tags": ["a", None], "counts": {"k": 1}, "place": {"x": 0.5},
    }  # fmt: skip
    assert rows_of(made.decode_messages([*messages, None])) == rows_of(given)
    assert registry.asked == ["/subjects/orders-value/versions", "/schemas/ids/1"]
    assert registry.kinds[registry.schemas[1]] == {"schemaType": "JSON"}
    text, integer = {"type": "string"}, {"type": "integer", "connect.type": "int32"}

    def optional(kind: Any) -> Any:
        return {"oneOf": [{"type": "null"}, kind]}

    assert json.loads(registry.schemas[1])["properties"] == {
        "id": {"type": "integer", "connect.type": "int64"},
        "name": optional(text),
        "tags": optional({"type": "array", "items": optional(text)}),
        "counts": optional({"type": "object", "additionalProperties": integer}),
        "place": optional({"type": "object", "properties": {"x": {"type": "number", "connect.type": "float64"}}}),
    }


@pytest.mark.parametrize(
    ("message", "head"),
    [("nested_Outer", b"\0"), ("nested_Outer_First", b"\4\0\0"), ("nested_Outer_Inner", b"\4\0\2")],
)
def test_rows_become_messages_behind_their_place(registry: Any, message: str, head: bytes) -> None:
    made, given = protobuf(registry, message), batch({"id": t.BigIntType()}, [7], [8])
    messages = made.encode(given)
    assert messages[0] == b"\0\0\0\0\1" + head + b"\x08\x07"
    assert rows_of(made.decode_messages(messages)) == [[7, 8]]
    file = descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(registry.schemas[1]))
    assert [one.name for one in file.message_type[0].nested_type] == ["First", "Inner"]
    assert registry.kinds[registry.schemas[1]] == {"schemaType": "PROTOBUF"}


def test_messages_of_other_schemas_are_refused(registry: Any) -> None:
    given = batch({"id": t.BigIntType()}, [7])
    [inner] = protobuf(registry, "nested_Outer_Inner").encode(given)
    with pytest.raises(ValueError, match=r"another type than the class: its place in the schema is 04, that .* is 00"):
        protobuf(registry, "nested_Outer").decode_messages([inner])
    with pytest.raises(ValueError, match="the schema 1 of a message is of the kind PROTOBUF, not JSON"):
        format_of("json-confluent", registry, {"id": t.BigIntType()}).decode_messages([inner])
    with pytest.raises(ValueError, match="not in Confluent's wire format"):
        format_of("json-confluent", registry, {"id": t.BigIntType()}).decode_messages([b'{"id": 1}'])


def test_what_cannot_be_made_is_refused(registry: Any) -> None:
    importing = protobuf(registry, "importing_Outer")
    with pytest.raises(ValidationException, match=r"importing\.proto, which imports other\.proto: references are not"):
        importing.check_sink()
    columns = {"id": t.BigIntType()}
    columns_of = Columns(tuple(columns), tuple(columns.values()))
    with pytest.raises(ValidationException, match="url"):
        make_format("json-confluent", columns_of, Options({}, "json-confluent"), "messages")
    without = make_format("json-confluent", columns_of, Options({"url": "http://r"}, "json-confluent"), "messages")
    with pytest.raises(ValidationException, match=r"json-confluent\.subject is required"):
        without.check_sink()
    with pytest.raises(ValidationException, match="Unsupported options"):
        format_of("json-confluent", registry, columns, no_such="1")
