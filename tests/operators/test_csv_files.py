"""CSV files as rows; the expected rows are those of Flink 2.3's `CsvReaderFormat`."""

from __future__ import annotations

import gzip
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import BulkFormat, FileSink, FileSource, StreamFormat
from firesteel.datastream.formats.csv import CsvBulkWriters, CsvReaderFormat, CsvSchema, CsvSchemaBuilder
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.table import DataTypes
from firesteel.testing import run_local


def columns() -> CsvSchemaBuilder:
    return CsvSchema.builder().add_number_column("i").add_string_column("s").add_boolean_column("b")


def arrays() -> CsvSchemaBuilder:
    builder = CsvSchema.builder().set_column_separator("|").add_string_column("a")
    return builder.add_array_column("l").add_array_column("m", ",")


def rows_of(path: Path, schema: CsvSchema, **settings: Any) -> list[Any]:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), str(path)).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "csv")
    assert stream.get_type() == schema.row_type
    stream.collect_async()
    return run_local(env, **settings).elements


READ = {
    "last line without end": (columns(), "1,x,true\n2,y,false", [(1, "x", True), (2, "y", False)]),
    "other line ends": (columns(), "1,x,TRUE\r\n2,y,yes\r\n", [(1, "x", True), (2, "y", False)]),
    "quotes": (columns(), '1,"x, ""y""\nz",true\n2,a"b"c,\n', [(1, 'x, "y"\nz', True), (2, 'a"b"c', False)]),
    "blanks": (columns(), ' 1 , "x" ,  true \n', [(1, ' "x" ', True)]),
    "null": (columns().set_null_value("N"), 'N,N,N\n1,"N",true\n', [(None, None, None), (1, None, True)]),
    "empty as null": (columns().set_null_value(""), ",,\n", [(None, None, None)]),
    "comments": (columns().set_allow_comments(), "#\n1,x,true\n#2\n 3,#,true\n", [(1, "x", True), (3, "#", True)]),
    "comment in quotes": (columns().set_allow_comments(), '1,"x\n#y",true\n', [(1, "x\n#y", True)]),
    "separator": (columns().set_column_separator("|"), "1|x,y|true\n", [(1, "x,y", True)]),
    "quote character": (columns().set_quote_char("'"), "1,'x,\"y',true\n", [(1, 'x,"y', True)]),
    "no quotes": (columns().disable_quote_char(), '1,"x",true\n', [(1, '"x"', True)]),
    "escapes": (
        columns().set_escape_char("\\"),
        '1,x\\,y\\n\\\\,true\n2,"a\\"b",true\n',
        [(1, "x,y\n\\", True), (2, 'a"b', True)],
    ),
    "header": (columns().set_use_header(), "a,b,c\n1,x,true\n", [(1, "x", True)]),
    "strict header": (columns().set_use_header().set_strict_headers(), "i,s,b\n1,x,true\n", [(1, "x", True)]),
    "first row": (columns().set_skip_first_data_row(), "a,b,c\n1,x,true\n", [(1, "x", True)]),
    "arrays": (
        arrays(),
        "x|1; 2;3|p,q\ny||\nz|5|,\n",
        [("x", ["1", " 2", "3"], ["p", "q"]), ("y", [], []), ("z", ["5"], ["", ""])],
    ),
    "numbers of a type": (
        CsvSchema.builder().add_number_column("f", Types.FLOAT()).add_array_column("l", ";", Types.INT()),
        "1.5,1;2\n",
        [(1.5, [1, 2])],
    ),
    "nothing": (columns(), "", []),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_file_is_read_as_rows(name: str, tmp_path: Path) -> None:
    builder, text, expected = READ[name]
    schema = builder.build()
    (tmp_path / "a.csv").write_text(text, newline="")
    names = schema.row_type.get_field_names()
    assert rows_of(tmp_path, schema) == [Row(**dict(zip(names, values, strict=True))) for values in expected]


REFUSED = {
    "empty line": (columns(), "1,x,true\n\n", r"line 2: Row length mismatch. 3 fields expected but was 1"),
    "long row": (
        columns().set_allow_comments(),
        "#\n1,x,true,9\n",
        r"line 2: Too many entries: expected at most 3 but was 4",
    ),
    "no number": (columns(), "1,x,true\n1.5,x,true\n", r"line 2: field i: '1.5' is not an integer"),
    "large number": (columns(), f"{2**63},x,true\n", r"field i: 9223372036854775808 is out of the range of LONG"),
    "open quote": (columns(), '1,"x,true\n', r"a.csv: line 1: unexpected end of data"),
    "strict header": (
        columns().set_use_header().set_strict_headers(),
        "s,i,b\n",
        r"the header has the columns \['s', 'i', 'b'\], the schema has \['i', 's', 'b'\]",
    ),
}


def decimals() -> CsvSchema:
    kind = DataTypes.DECIMAL(2, 0)
    return CsvSchema.builder().add_number_column("d", kind).add_array_column("l", ";", kind).build()


def test_decimals_are_read_with_their_scale(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1.5,-1.5;1.4\n 99.5 ,99.5\n")
    assert rows_of(tmp_path, decimals()) == [Row(d=Decimal(2), l=[Decimal(-2), Decimal(1)]), Row(d=None, l=[None])]


def test_decimals_are_written_with_their_scale(tmp_path: Path) -> None:
    schema = decimals()
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = [Row(Decimal("1.5"), [Decimal("-1.5"), Decimal("1.4")]), Row(Decimal("99.5"), [])]
    sink = FileSink.for_bulk_format(str(tmp_path), CsvBulkWriters.for_schema(schema)).build()
    env.set_parallelism(1)
    env.from_collection(rows, schema.row_type).sink_to(sink)
    (file,) = run_local(env).files
    assert Path(file).read_text() == "2,-2;1\n,\n"


@pytest.mark.parametrize("name", REFUSED)
def test_malformed_records_are_refused_with_their_line(name: str, tmp_path: Path) -> None:
    builder, text, message = REFUSED[name]
    (tmp_path / "a.csv").write_text(text, newline="")
    with pytest.raises(UserFunctionError, match=message):
        rows_of(tmp_path, builder.build())


def test_files_are_read_whole_however_small_the_batches(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("".join(f"{n},{name},true\n" for n in range(100)))
    with gzip.open(tmp_path / "c.csv.gz", "wt") as file:
        file.write("7,c,true\n")
    found = rows_of(tmp_path, columns().build(), batch_elements=2)
    assert sorted((row.s, row.i) for row in found) == [(s, n) for s in "ab" for n in range(100)] + [("c", 7)]


@pytest.mark.parametrize("kind", ["stream", "bulk"])
def test_format_without_reader_is_refused(kind: str, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    if kind == "stream":
        builder = FileSource.for_record_stream_format(StreamFormat("orc"), str(tmp_path))
    else:
        builder = FileSource.for_bulk_file_format(BulkFormat("orc"), str(tmp_path))
    env.from_source(builder.build(), WatermarkStrategy.no_watermarks(), "files").print()
    with pytest.raises(NotImplementedError, match=r"no reader for format 'orc'; there are text_line, csv"):
        run_local(env)


@pytest.mark.parametrize("kind", [Types.DOUBLE(), Types.BIG_INT(), Types.BIG_DEC()])
def test_numbers_have_no_underscores(kind: Any, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1_0\n")
    with pytest.raises(UserFunctionError, match="field n: '1_0' is not a"):
        rows_of(tmp_path / "a.csv", CsvSchema.builder().add_number_column("n", kind).build())
