import datetime
import io
import re
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type, to_arrow
from firesteel.connectors.formats import text_columns
from firesteel.connectors.formats.table_format import Columns, make_format
from firesteel.connectors.identifiers import table_formats
from firesteel.connectors.table_options import Options
from firesteel.table import DataTypes
from firesteel.table.errors import ValidationException
from tests.seeds import examples


def format_of(name, columns, **options):
    options = {key.replace("_", "-"): value for key, value in options.items()}
    types = tuple(parse_type(text) for text in columns.values())
    return make_format(name, Columns(tuple(columns), types), Options(options, name), "messages")


def rows_of(batch):
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


CSV = {"a": "INT", "b": "STRING"}


NESTED = {
    "id": "SMALLINT",
    "r": "ROW<x FLOAT, at TIMESTAMP(3), day DATE, inner ROW<n BIGINT>>",
    "xs": "ARRAY<INT>",
    "rs": "ARRAY<ROW<at TIMESTAMP(0)>>",
}


@pytest.mark.parametrize(
    "record",
    [
        b'{"id":1,"r":{"x":0.1,"at":"2024-01-02 03:04:05.678","day":"2024-02-29","inner":{"n":5}},"xs":[1,null]}',
        b'{"id":2,"r":null,"xs":null,"rs":[{"at":"2024-01-02 03:04:05.678"},null,{}]}',
        b'{"r":{"inner":null,"other":[1,{"a":2}]},"xs":[],"rs":[]}',
        b"{}",
    ],
)
def test_nested_json_by_columns_and_by_records_agree(record):
    found = format_of("json", NESTED)
    other = b'{"id":3,"r":{"at":"1969-12-31 23:59:59.999","inner":{}},"xs":[7],"rs":null}'
    batch = found.decode_columns(record + b"\n" + other)
    assert batch is not None
    assert [column.type for column in batch.columns] == [arrow_type(parse_type(text)) for text in NESTED.values()]
    assert rows_of(batch) == rows_of(found._decode_records([record, other]))


@pytest.mark.parametrize(
    "record", [b'{"r":{"day":"2024-2-9"}}', b'{"rs":[{"at":"2024-01-02"}]}', b'{"id":40000}', b'{"r":[1]}']
)
def test_json_that_arrow_might_read_otherwise_is_read_by_records(record):
    assert format_of("json", NESTED).decode_columns(record) is None


TIMES = st.text("0129-: .T\n", max_size=27) | st.sampled_from(
    ["2024-01-02 03:04:05", "2024-01-02 03:04:05.6", "2024-01-02 03:04:05.678", "2024-01-02 03:04:05.678901"]
)


@settings(max_examples=examples(300))
@given(
    st.lists(st.none() | TIMES, max_size=4) | st.tuples(TIMES, st.integers(1, 5)).map(lambda t: [t[0]] * t[1]),
    st.integers(0, 2),
    st.integers(0, 25),
    st.sampled_from("09 x-.é"),
)
def test_the_form_of_times_is_that_of_the_pattern(texts, skipped, place, other):
    changed = [text and text[:place] + other + text[place + 1 :] for text in texts]
    for found in (texts, changed, texts + changed):
        array = pa.array(found, pa.string()).slice(min(skipped, len(found)))
        wanted = all(
            text_columns._TIMESTAMP.match(text) and text[10] == " " and text[-1] != "\n"
            for text in found[skipped:]
            if text is not None
        )
        assert text_columns.has_form(array, "0000-00-00 00:00:00.000000", text_columns._TIMESTAMP, " ") == wanted


def test_csv_by_columns_and_by_records_agree():
    data = b'1,x\n2,"y,\nz ""q"""\n3,\n'
    fast, slow = format_of("csv", CSV), format_of("csv", CSV, allow_comments="true")
    assert fast.decode_columns(data) is not None
    assert slow.decode_columns(data) is None
    assert (
        rows_of(fast.decode_block(data))
        == rows_of(slow.decode_block(data))
        == [
            (1, "x"),
            (2, 'y,\nz "q"'),
            (3, ""),
        ]
    )


@pytest.mark.parametrize("field", ['"a" ', '"a"b', '"" x', '"a""" x', "0x1F", "a\n", "a\r\n\r\n"])
def test_csv_that_arrow_reads_otherwise_is_read_by_records(field):
    found = format_of("csv", CSV)
    assert found.decode_columns(f"1,a\n{field.strip()[:1]}{field[1:]},2\n".encode()) is None


QUOTED = st.lists(st.text(st.sampled_from('",\n x'), max_size=5), max_size=5)


@settings(max_examples=examples(300))
@given(QUOTED, QUOTED)
def test_csv_by_columns_means_the_same_as_by_records(written, raw):
    columns = {"a": "STRING", "b": "STRING"}
    found = format_of("csv", columns)
    lines = ["{},{}\n".format(*(f'"{text.replace(chr(34), chr(34) * 2)}"' for text in (one, one))) for one in written]
    for text in ("".join(lines), "".join(f"{one},x\n" for one in raw)):
        fast = found.decode_columns(text.encode())
        if fast is not None:
            assert rows_of(fast) == rows_of(found._decode_records(text.encode()))


def test_csv_messages_are_their_first_line_and_utf_8():
    found = format_of("csv", CSV)
    assert rows_of(found.decode_messages([b"1,a\n2,b", None, b"3,c\n"])) == [(1, "a"), (3, "c")]
    for message in (b"1,\xff", b""):
        with pytest.raises(ValueError, match="Failed to deserialize CSV row"):
            found.decode_messages([message])
        assert format_of("csv", CSV, ignore_parse_errors="true").decode_messages([message]).length == 0


def test_plain_decimals_have_all_digits_of_their_scale():
    plain = format_of("csv", {"d": "DECIMAL(10, 2)"}, **{"write-bigdecimal-in-scientific-notation": "false"})
    batch = plain.decode_block(b"100\n")
    assert plain.encode(batch) == [b"100.00"]
    assert format_of("csv", {"d": "DECIMAL(10, 2)"}).encode(batch) == [b"1E+2"]


def test_json_leaves_null_fields_out_at_any_depth():
    found = format_of("json", {"r": "ROW<x INT, y INT>", "l": "ARRAY<INT>"}, **{"encode.ignore-null-fields": "true"})
    lines = b'{"r":{"x":1,"y":null},"l":[null]}\n{"r":null}\n'
    assert found.encode(found.decode_block(lines)) == [b'{"r":{"x":1},"l":[null]}', b"{}"]


def test_csv_field_that_does_not_fit_fails_or_becomes_null():
    data = b"1,ok\nx,broken\n"
    with pytest.raises(
        ValueError, match=r"Failed to deserialize CSV row \['x', 'broken'\]: field a: 'x' is not an integer"
    ):
        format_of("csv", CSV).decode_block(data)
    assert rows_of(format_of("csv", CSV, ignore_parse_errors="true").decode_block(data)) == [
        (1, "ok"),
        (None, "broken"),
    ]


def test_csv_row_of_another_length():
    with pytest.raises(ValueError, match="2 fields expected but was 1"):
        format_of("csv", CSV).decode_block(b"1\n")
    with pytest.raises(ValueError, match="Too many entries"):
        format_of("csv", CSV).decode_block(b"1,a,b\n")
    assert rows_of(format_of("csv", CSV, ignore_parse_errors="true").decode_block(b"1\n")) == [(1, None)]
    found = format_of("csv", CSV, ignore_additional_fields="true")
    assert rows_of(found.decode_block(b"1,a,b\n2,c\n")) == [(1, "a"), (2, "c")]
    with pytest.raises(ValueError, match="2 fields expected but was 1"):
        found.decode_block(b"1\n")


def test_csv_delimiters_nulls_and_comments():
    found = format_of("csv", CSV, field_delimiter=";", null_literal="n/a", allow_comments="true", quote_character="'")
    assert rows_of(found.decode_block(b"# 1;2\n1;'x;y'\n2;n/a\n")) == [(1, "x;y"), (2, None)]


def test_csv_ignores_blanks_around_times_and_numbers():
    kinds = {
        "t": "TIME(3)",
        "u": "TIMESTAMP(3)",
        "z": "TIMESTAMP_LTZ(3)",
        "d": "DATE",
        "n": "DECIMAL(2, 0)",
        "i": "INT",
    }
    found = format_of("csv", kinds | {"l": "ARRAY<TIME(0)>"})
    plain = "01:02:03.5,2024-01-01 00:00:00.5,2024-01-01 00:00:00Z,2024-01-01,1.5,7,01:02:03;01:02:04"
    blank = ",".join(f" {field}\t" for field in plain.split(",")).replace(";", " ; ")
    rows = rows_of(found.decode_block(f"{plain}\n".encode()))
    assert rows_of(found.decode_block(f"{blank}\n".encode())) == rows
    assert rows[0][4] == 2


@pytest.mark.parametrize(("text", "expected"), [("1.5", "2"), ("-1.5", "-2"), ("1.4", "1"), ("99.5", None)])
def test_csv_rounds_decimals_to_their_scale(text, expected):
    found = format_of("csv", {"d": "DECIMAL(2, 0)"})
    assert rows_of(found.decode_block(f"{text}\n".encode())) == [(None if expected is None else Decimal(expected),)]


def test_csv_quotes_as_jackson():
    found = format_of("csv", {"s": "STRING", "t": "TIMESTAMP(3)", "d": "DECIMAL(10, 3)"})
    batch = found.decode_block(b'abc,2024-01-01 00:00:00.5,1.500\n"a b",2024-01-01 00:00:00,2\n')
    assert found.encode(batch) == [b'abc,"2024-01-01 00:00:00.5",1.5', b'"a b","2024-01-01 00:00:00",2']


JSON = {"a": "INT", "b": "STRING", "t": "TIMESTAMP(3)", "d": "DOUBLE"}


def test_json_by_columns_and_by_records_agree():
    data = b'{"a":1,"b":"x","t":"2024-01-01 00:00:00.123456","d":1}\n{"b":null,"z":[1]}\n'
    found = format_of("json", JSON)
    assert found.decode_columns(data) is not None
    assert (
        rows_of(found.decode_block(data))
        == rows_of(found._decode_records(data.split(b"\n")))
        == [
            (1, "x", datetime.datetime(2024, 1, 1, 0, 0, 0, 123000), 1.0),
            (None, None, None, None),
        ]
    )


def test_json_converts_scalars_as_flink():
    found = format_of("json", {"i": "INT", "s": "STRING", "d": "DECIMAL(5, 2)", "b": "BOOLEAN"})
    assert rows_of(found.decode_block(b'{"i": "7", "s": 1.50, "d": 1.239, "b": "true"}\n{"s": {"k": [1]}}\n')) == [
        (7, "1.50", Decimal("1.24"), True),
        (None, '{"k":[1]}', None, None),
    ]


def test_json_ignores_fields_and_lines():
    data = b'{"a": 1}\n{"a": "oops"}\nnot json\n{"a": 3}\n'
    with pytest.raises(ValueError, match="Failed to deserialize JSON"):
        format_of("json", {"a": "INT"}).decode_block(data)
    ignoring = format_of("json", {"a": "INT"}, ignore_parse_errors="true")
    assert rows_of(ignoring.decode_block(data)) == [(1,), (None,), (3,)]


def test_json_nested_values_there_and_back():
    found = format_of("json", {"r": "ROW<x INT, y ARRAY<STRING>>", "m": "MAP<STRING, INT>"})
    line = b'{"r":{"x":2,"y":["p",null]},"m":{"k":1}}'
    assert found.encode(found.decode_block(line + b"\n")) == [line]


def test_json_array_at_the_root_gives_several_rows():
    assert rows_of(format_of("json", {"a": "INT"}).decode_messages([b'[{"a": 1},\n {"a": 2}]'])) == [(1,), (2,)]


def test_json_missing_field_can_fail():
    with pytest.raises(ValueError, match="Could not find field with name 'a'"):
        format_of("json", {"a": "INT"}, fail_on_missing_field="true").decode_block(b"{}\n")


def test_json_writes_numbers_as_java():
    found = format_of("json", {"d": "DOUBLE", "e": "DECIMAL(10, 2)"})
    assert found.encode(found.decode_block(b'{"d": 1e10, "e": 100}\n')) == [b'{"d":1.0E10,"e":1E+2}']
    plain = format_of("json", {"e": "DECIMAL(10, 2)"}, **{"encode.decimal-as-plain-number": "true"})
    assert plain.encode(plain.decode_block(b'{"e": 100}\n')) == [b'{"e":100.00}']


def test_raw_takes_one_column_as_it_is():
    assert rows_of(format_of("raw", {"line": "STRING"}).decode_block(b"to be\n\nor\n")) == [("to be",), ("",), ("or",)]
    numbers = format_of("raw", {"n": "INT"})
    assert rows_of(numbers.decode_messages([b"\0\0\1\0", None])) == [(256,), (None,)]
    with pytest.raises(ValidationException, match="single physical column"):
        format_of("raw", CSV)


def test_unknown_formats_and_options_name_what_there_is():
    with pytest.raises(ValidationException, match="debezium-json"):
        format_of("xml", CSV)
    with pytest.raises(ValidationException, match="for messages are:\n\navro\n"):
        format_of("parquet", CSV)
    with pytest.raises(ValidationException, match="field-delimiter"):
        format_of("csv", CSV, delimiter=";")


def test_json_lines_that_are_no_objects():
    """Arrow's parser dies at such a line, and takes `null` for a row."""
    found = format_of("json", {"id": "INT", "n": "STRING"})
    assert rows_of(found.decode_block(b'null\n{"id":1}\nnull\n  {"id":2}\n\n')) == [(1, None), (2, None)]
    for line in (b"1", b'"x"', b"true", b"nul"):
        with pytest.raises(ValueError, match="Failed to deserialize JSON"):
            found.decode_block(b'{"id":1}\n' + line)


def test_half_a_surrogate_pair_is_a_question_mark():
    found = format_of("json", {"n": "STRING"})
    assert rows_of(found.decode_block(rb'{"n":"a\ud83db\ud83d\ude00"}')) == [("a?b\U0001f600",)]


def test_parquet_is_written_as_its_options_say(tmp_path):
    columns = Columns(("s",), (DataTypes.STRING(),))
    batch = ColumnBatch((pa.array(["same"] * 5000),), 5000)
    found = {}
    for name, options in {
        "default": {},
        "other": {"compression": "GZIP", "enable.dictionary": "false", "page.size": "1000"},
    }.items():
        with (tmp_path / name).open("wb") as file:
            make_format("parquet", columns, Options(options, "parquet"), "files").write_file(file, [batch])
        column = pyarrow.parquet.read_metadata(tmp_path / name).row_group(0).column(0)
        found[name] = (column.compression, column.has_dictionary_page)
    assert found == {"default": ("SNAPPY", True), "other": ("GZIP", False)}
    assert (tmp_path / "default").stat().st_size < (tmp_path / "other").stat().st_size


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"utc-timezone": "false"}, "Invalid value for option 'utc-timezone' of 'parquet': expected one of true"),
        ({"compression": "lzo"}, "'compression' of 'parquet'"),
        ({"block.size": "1"}, "Unsupported options:\n\nblock.size"),
    ],
)
def test_other_options_of_parquet_are_refused(options, message):
    with pytest.raises(ValidationException, match=re.escape(message)):
        make_format("parquet", Columns(("s",), (DataTypes.STRING(),)), Options(options, "parquet"), "files")


KINDS = [
    "BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "DECIMAL(10, 2)", "CHAR(3)", "STRING",
    "BINARY(2)", "BYTES", "DATE", "TIME(0)", "TIMESTAMP(3)", "TIMESTAMP(9)", "TIMESTAMP_LTZ(3)",
    "TIMESTAMP(3) WITH TIME ZONE",
    "ARRAY<INT>", "MAP<STRING, INT>", "MAP<INT, INT>", "MULTISET<STRING>", "ROW<x INT>", "INTERVAL DAY TO SECOND(3)",
    "INTERVAL YEAR TO MONTH", "VARIANT", "NULL",
]  # fmt: skip
VALUES = {"NULL": None, "VARIANT": None,
          "BOOLEAN": True, "CHAR(3)": "abc", "STRING": "a", "BINARY(2)": b"ab", "BYTES": b"a", "ARRAY<INT>": [1],
          "MAP<STRING, INT>": {"a": 1}, "MAP<INT, INT>": {1: 1}, "MULTISET<STRING>": {"a": 1}, "ROW<x INT>": (1,),
          "DECIMAL(10, 2)": Decimal("1.50"), "DATE": datetime.date(2024, 1, 2), "TIME(0)": datetime.time(1, 2, 3),
          "INTERVAL DAY TO SECOND(3)": datetime.timedelta(1)}  # fmt: skip
MOMENT = datetime.datetime(2024, 1, 2)


@pytest.mark.parametrize("use", ["files", "messages"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_format_writes_and_reads_a_type_or_refuses_it_at_once(kind, use):
    """A type that it has not must not fail where rows are."""
    for name in table_formats(use):
        if "confluent" in name or name == "protobuf":
            continue
        parsed = parse_type(kind)
        try:
            found = make_format(name, Columns(("c",), (parsed,)), Options({}, name), use)
        except (ValidationException, ModuleNotFoundError):
            continue
        moment = MOMENT.replace(tzinfo=datetime.UTC) if "LTZ" in kind else MOMENT
        value = moment if kind.startswith("TIMESTAMP") else VALUES.get(kind, 1)
        array = to_arrow([value, value], parsed)
        batch = ColumnBatch((array,), 2)
        if found.is_text or use == "messages":
            lines = found.encode(batch)
            read = found.decode_messages(lines) if use == "messages" else found.decode_block(b"\n".join(lines) + b"\n")
            assert read.columns[0].equals(array), name
        else:
            found.write_file(io.BytesIO(), [batch])


def test_raw_messages_of_another_size_and_null():
    found = format_of("raw", {"n": "INT"})
    with pytest.raises(ValueError, match="deserializing INT type is not 4, but 3"):
        found.decode_messages([b"abc"])
    batch = ColumnBatch((pa.array([1, None], pa.int32()),), 2)
    assert found.encode_messages(batch) == [b"\0\0\0\1", None]
    with pytest.raises(ValueError, match="has no bytes for NULL in column 'n'"):
        found.encode(batch)


RAW = {
    "STRING": st.binary(max_size=4) | st.text("aé", max_size=3).map(str.encode),
    "BYTES": st.binary(max_size=4),
    "VARBINARY(9)": st.binary(max_size=4),
    "BOOLEAN": st.sampled_from([b"\x00", b"\x01"]),
    "INT": st.binary(min_size=4, max_size=4),
    "BIGINT": st.binary(min_size=8, max_size=8),
    "DOUBLE": st.binary(min_size=8, max_size=8),
}


@given(st.data(), st.sampled_from(list(RAW)), st.sampled_from(["big-endian", "little-endian"]), st.booleans())
def test_raw_messages_are_read_and_written_together_as_one_by_one(data, kind, order, has_nulls):
    messages = data.draw(st.lists(st.none() | RAW[kind] if has_nulls else RAW[kind], max_size=5))
    found = format_of("raw", {"c": kind}, endianness=order)
    together = found.decode_messages(messages).columns[0]
    read = found._reader(found.columns.types[0])
    one_by_one = to_arrow([None if one is None else read(one) for one in messages], found.columns.types[0])
    assert repr(together.to_pylist()) == repr(one_by_one.to_pylist())
    assert together.type == one_by_one.type
    again = found.decode_messages(found.encode_messages(ColumnBatch((together,), len(messages)))).columns[0]
    assert repr(again.to_pylist()) == repr(together.to_pylist())


def test_messages_have_no_header() -> None:
    columns = Columns(("a",), (DataTypes.STRING(),))
    options = Options({"ignore-first-line": "true"}, "csv")
    assert make_format("csv", columns, options, "files").skips_first_line
    with pytest.raises(ValidationException, match="'ignore-first-line' of 'csv' is for files"):
        make_format("csv", columns, options, "messages")
