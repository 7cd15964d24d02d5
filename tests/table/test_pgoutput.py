"""Messages, texts and keys of `postgres-cdc`, without a server."""

from __future__ import annotations

import struct
from itertools import pairwise

import pyarrow as pa
import pytest

from firesteel.columns import column_types as t
from firesteel.connectors.cdc.splits import (
    Chunk,
    KnownTable,
    LateChunks,
    Log,
    chunk_of,
    is_log,
    log_after,
    log_of,
)
from firesteel.connectors.postgres_cdc.pgoutput import (
    UNCHANGED,
    Begin,
    Commit,
    PostgresCdcError,
    Relation,
    RelationColumn,
    RowChange,
    Truncate,
    parse,
)
from firesteel.connectors.postgres_cdc.server import lsn_number, lsn_text
from firesteel.connectors.postgres_cdc.text_columns import (
    KEY_READERS,
    column_of,
    is_readable,
    parse_array,
    readable_types,
)

TABLE = KnownTable({"id": "23/-1"}, ["id"], "id", "int4")


def text(value: str) -> bytes:
    data = value.encode()
    return b"t" + struct.pack(">i", len(data)) + data


def tuple_of(*values: bytes) -> bytes:
    return struct.pack(">h", len(values)) + b"".join(values)


def test_transactions() -> None:
    assert parse(b"B" + struct.pack(">QqI", 0x1A0, 1_500_000, 7)) == Begin(0x1A0, 946_684_801_500)
    assert parse(b"C" + struct.pack(">bQQq", 0, 1, 2, 3)) == Commit(2)


def test_a_table() -> None:
    columns = b"\x01id\0" + struct.pack(">Ii", 23, -1) + b"\x00name\0" + struct.pack(">Ii", 1043, 13)
    data = b"R" + struct.pack(">I", 5) + b"public\0orders\0f" + struct.pack(">h", 2) + columns
    expected = (RelationColumn("id", 23, -1, True), RelationColumn("name", 1043, 13, False))
    assert parse(data) == Relation(5, "public", "orders", "f", expected)


def test_changes_of_rows() -> None:
    row, oid = tuple_of(text("1"), text("é"), b"n", b"u"), struct.pack(">I", 5)
    values = ["1", "é", None, UNCHANGED]
    assert parse(b"I" + oid + b"N" + row) == RowChange("I", 5, None, values)
    assert parse(b"U" + oid + b"N" + row) == RowChange("U", 5, None, values)
    assert parse(b"U" + oid + b"O" + row + b"N" + row) == RowChange("U", 5, values, values)
    assert parse(b"U" + oid + b"K" + tuple_of(b"n") + b"N" + row) == RowChange("U", 5, [None], values, True)
    assert parse(b"D" + oid + b"K" + row) == RowChange("D", 5, values, None, True)
    assert parse(b"T" + struct.pack(">ibII", 2, 0, 5, 6)) == Truncate((5, 6))


def test_other_messages() -> None:
    assert [parse(kind + b"...") for kind in (b"Y", b"O", b"M")] == [None] * 3
    with pytest.raises(PostgresCdcError, match="unknown message of kind 'S'"):
        parse(b"S")


def test_positions_of_the_log() -> None:
    assert lsn_number("1/A0") == (1 << 32) + 160
    assert [lsn_text(lsn_number(one)) for one in ("0/0", "FF/FFFFFFFF")] == ["0/0", "FF/FFFFFFFF"]


def test_ids_have_all_of_a_split() -> None:
    chunk, log = Chunk(3, "t", 77, "0-1-2", "a\"'", None, "id", TABLE), Log({"t": TABLE}, {"t": [(None, "5", 9)]})
    assert chunk_of(chunk.split_id) == chunk
    assert log_of(log.split_id) == log
    assert [is_log(one.split_id) for one in (chunk, log)] == [False, True]


def test_the_log_leaves_out_what_later_chunks_contain() -> None:
    first = [
        Chunk(0, "t", 100, "a", None, "10", "id", TABLE),
        Chunk(1, "t", 100, "a", "10", "20"),
        Chunk(2, "t", 100, "a", "20"),
    ]
    later = [Chunk(1, "t", 200, "b", "10", "20"), Chunk(2, "t", 200, "b", "20")]
    log, start = log_after([one.split_id for one in (*first, *later)])
    assert (start, log) == (100, Log({"t": TABLE}, {"t": [("10", None, 200)]}))
    late = LateChunks(log.late["t"], KEY_READERS["int4"])
    assert [late.contain(key, 150) for key in ("9", "10", "100")] == [False, True, True]
    assert not late.contain("100", 200)
    assert log_after([one.split_id for one in first]) == (Log({"t": TABLE}), 100)


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("int8", ["-5", "9", "10"]),
        ("numeric", ["-Infinity", "-1.5", "9", "1e3", "Infinity", "NaN"]),
        ("text", ["B", "a", "é", "😀"]),
    ],
)
def test_keys_have_the_order_of_the_server(kind: str, keys: list[str]) -> None:
    for start, end in pairwise(keys):
        late = LateChunks([(start, end, 9)], KEY_READERS[kind])
        assert [late.contain(key, 1) for key in keys] == [key == start for key in keys]


@pytest.mark.parametrize(
    ("written", "items"),
    [
        ("{}", []),
        ("{NULL,null,a b}", [None, "null", "a b"]),
        ("[2:3]={1,2}", ["1", "2"]),
        ("{{1},{2}}", [["1"], ["2"]]),
    ],
)
def test_arrays(written: str, items: list[object]) -> None:
    assert parse_array(written) == items


@pytest.mark.parametrize(
    ("value", "kind"),
    [("infinity", t.TimestampType(6)), ("NaN", t.DecimalType(5, 2)), ("{{1},{2}}", t.ArrayType(t.IntType()))],
)
def test_values_without_counterpart_name_the_column(value: str, kind: t.DataType) -> None:
    with pytest.raises(PostgresCdcError, match="column 'v' of type "):
        column_of(pa.array([value]), kind, "v")


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_numbers_without_counterpart_in_decimal(value: str) -> None:
    for kind, text in ((t.DecimalType(5, 2), value), (t.ArrayType(t.DecimalType(5, 2)), f"{{1,{value}}}")):
        with pytest.raises(
            PostgresCdcError, match=f"'v' of type .*: {value} has no counterpart in DECIMAL; read .* as"
        ):
            column_of(pa.array(["1", text] if kind == t.DecimalType(5, 2) else ["{1}", text]), kind, "v")
    assert column_of(pa.array([value]), t.VarCharType(9), "v").to_pylist() == [value]
    (number,) = column_of(pa.array([value]), t.DoubleType(), "v").to_pylist()
    assert repr(number) == repr(float(value))


def test_types_of_columns() -> None:
    assert is_readable("_int4", t.ArrayType(t.BigIntType()))
    assert not is_readable("int4", t.ArrayType(t.IntType()))
    assert not is_readable("_int4", t.IntType())
    assert is_readable("some_enum", t.VarCharType(9))
    assert not is_readable("bool", t.VarCharType(9))
    assert readable_types("_numeric") == "ARRAY of DECIMAL or STRING"
    assert readable_types("money") == "no type"
