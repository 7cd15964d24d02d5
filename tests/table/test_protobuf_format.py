"""The format `protobuf`, with a class made at run time as `protoc` would."""

from __future__ import annotations

import pickle
import re
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

descriptor_pb2 = pytest.importorskip("google.protobuf.descriptor_pb2")

TEXT = t.VarCharType(t.MAX_LENGTH)
MODULE = "orders_pb2_of_tests"
FIELDS = [
    ("id", "INT64", "OPTIONAL", ""), ("n", "INT32", "OPTIONAL", ""), ("u", "UINT32", "OPTIONAL", ""),
    ("d", "DOUBLE", "OPTIONAL", ""), ("f", "FLOAT", "OPTIONAL", ""), ("b", "BOOL", "OPTIONAL", ""),
    ("s", "STRING", "OPTIONAL", ""), ("x", "BYTES", "OPTIONAL", ""), ("state", "ENUM", "OPTIONAL", ".State"),
    ("place", "MESSAGE", "OPTIONAL", ".Place"), ("tags", "STRING", "REPEATED", ""),
    ("places", "MESSAGE", "REPEATED", ".Place"), ("counts", "MESSAGE", "REPEATED", ".Order.CountsEntry"),
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def module() -> Iterator[None]:
    """A module with the class `Order`, of proto2, whose fields have presence."""
    from google.protobuf import descriptor_pool, message_factory

    file = descriptor_pb2.FileDescriptorProto(name="orders.proto", syntax="proto2")
    state = file.enum_type.add(name="State")
    for number, name in enumerate(("NEW", "PAID")):
        state.value.add(name=name, number=number)
    place = file.message_type.add(name="Place")
    _add(place, "city", 1, "STRING", "OPTIONAL", "")
    order = file.message_type.add(name="Order")
    entry = order.nested_type.add(name="CountsEntry")
    entry.options.map_entry = True
    _add(entry, "key", 1, "STRING", "OPTIONAL", "")
    _add(entry, "value", 2, "INT32", "OPTIONAL", "")
    for number, field in enumerate(FIELDS, 1):
        _add(order, field[0], number, *field[1:])
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    made = ModuleType(MODULE)
    made.Order = message_factory.GetMessageClass(pool.FindMessageTypeByName("Order"))  # type: ignore[attr-defined]
    sys.modules[MODULE] = made
    yield
    del sys.modules[MODULE]


def _add(message: Any, name: str, number: int, kind: str, label: str, type_name: str) -> None:
    field = message.field.add(name=name, number=number, type_name=type_name or None)
    field.type = getattr(field, f"TYPE_{kind}")
    field.label = getattr(field, f"LABEL_{label}")


ROW = t.RowType([t.RowField("city", TEXT)])
COLUMNS: dict[str, t.DataType] = {
    "id": t.BigIntType(), "n": t.IntType(), "u": t.BigIntType(), "d": t.DoubleType(), "f": t.FloatType(),
    "b": t.BooleanType(), "s": TEXT, "x": t.VarBinaryType(99), "state": TEXT, "place": ROW,
    "tags": t.ArrayType(TEXT), "places": t.ArrayType(ROW), "counts": t.MapType(TEXT, t.IntType()),
}  # fmt: skip
VALUES: list[Any] = [
    1 << 40, -3, 1 << 31, 1.5, 2.5, True, "ä", b"\x00\xff", "PAID", ("Rome",), ["a", "b"], [("Oslo",)], {"k": 1},
]  # fmt: skip


def format_of(columns: dict[str, t.DataType], **options: str) -> Format:
    given = {"message-class-name": f"{MODULE}.Order", **{k.replace("_", "-"): v for k, v in options.items()}}
    return make_format(
        "protobuf", Columns(tuple(columns), tuple(columns.values())), Options(given, "protobuf"), "messages"
    )


def batch(columns: dict[str, t.DataType], *rows: list[Any]) -> ColumnBatch:
    values = zip(zip(*rows, strict=True), columns.values(), strict=True)
    return ColumnBatch(tuple(to_arrow(list(column), kind) for column, kind in values), len(rows))


def test_rows_become_messages_and_come_back() -> None:
    made = pickle.loads(pickle.dumps(format_of(COLUMNS)))
    [message] = made.encode(batch(COLUMNS, VALUES))
    found = sys.modules[MODULE].Order.FromString(message)  # type: ignore[attr-defined]
    assert (found.id, found.u, found.state, found.place.city) == (1 << 40, 1 << 31, 1, "Rome")
    assert (list(found.tags), [p.city for p in found.places], dict(found.counts)) == (["a", "b"], ["Oslo"], {"k": 1})
    back = made.decode_messages([message, None])
    assert back.length == 1
    expected = batch(COLUMNS, VALUES)
    assert [c.to_pylist() for c in back.columns] == [c.to_pylist() for c in expected.columns]


def test_fields_that_a_message_lacks_are_null_or_defaults() -> None:
    columns = {name: COLUMNS[name] for name in ("id", "s", "state", "place", "tags", "counts")}
    [message] = format_of(columns).encode(batch(columns, [None] * len(columns)))
    assert message == b""
    assert [c.to_pylist() for c in format_of(columns).decode_messages([b""]).columns] == [
        [None], [None], [None], [None], [[]], [[]],
    ]  # fmt: skip
    found = format_of(columns, read_default_values="true").decode_messages([b""])
    assert [c.to_pylist() for c in found.columns] == [[0], [""], ["NEW"], [{"city": ""}], [[]], [[]]]


def test_null_in_arrays_and_numbers_of_other_ranges() -> None:
    columns = {"tags": COLUMNS["tags"], "u": t.IntType(), "state": t.IntType()}
    made = format_of(columns, write_null_string_literal="none")
    [message] = made.encode(batch(columns, [["a", None], -1, 1]))
    assert [c.to_pylist() for c in made.decode_messages([message]).columns] == [[["a", "none"]], [-1], [1]]


def test_broken_messages_are_errors_or_left_out() -> None:
    columns = {"s": TEXT}
    broken: list[bytes | None] = [b"\xff\xff"]
    with pytest.raises(ValueError, match=r"Failed to deserialize a message orders_pb2_of_tests\.Order"):
        format_of(columns).decode_messages(broken)
    assert format_of(columns, ignore_parse_errors="true").decode_messages(broken).length == 0
    with pytest.raises(ValueError, match="the enum has no 'OLD', only NEW, PAID"):
        format_of({"state": TEXT}).encode(batch({"state": TEXT}, ["OLD"]))


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"id": TEXT}, {}, "The field 'id' of the message Order does not fit STRING"),
        ({"tags": TEXT}, {}, "The repeated field 'tags' of the message Order does not fit STRING"),
        ({"counts": TEXT}, {}, "The map 'counts' of the message Order does not fit STRING"),
        ({"place": TEXT}, {}, "The field 'place' of the message Order does not fit STRING"),
        ({"place": t.RowType([t.RowField("zip", TEXT)])}, {}, "'zip' is no field of the message Place, which has city"),
        ({"no": TEXT}, {}, "Column 'no' is no field of the message"),
        ({"id": TEXT}, {"message-class-name": "com.example.Order"}, "the Python class that protoc generates"),
        ({"id": TEXT}, {"message-class-name": "os.path"}, "the Python class that protoc generates"),
        ({"id": TEXT}, {"fast": "1"}, "Unsupported options:\n\nfast"),
    ],
)
def test_what_does_not_fit_is_refused(columns: dict[str, t.DataType], options: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationException, match=re.escape(message)):
        format_of(columns, **options)
