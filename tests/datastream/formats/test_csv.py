from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import Instant, Row, Types
from firesteel.common.typeinfo import LocalTimeTypeInfo
from firesteel.connectors.formats.csv.dialect import CsvDialect
from firesteel.datastream.formats.csv import CsvRowDeserializationSchema, CsvRowSerializationSchema, CsvSchema
from firesteel.table import DataTypes

LOCAL_DATE_TIME = LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME)
PAIR = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])


def schema(type_info=PAIR, **settings):
    builder = CsvRowDeserializationSchema.Builder(type_info)
    for name, value in settings.items():
        builder = getattr(builder, name)(value)
    return builder.build()


@pytest.mark.parametrize(
    ("text", "type_info", "value"),
    [
        ("1.10", Types.BIG_DEC(), Decimal("1.10")),
        ("1;2", Types.LIST(Types.INT()), [1, 2]),
        ("2021-01-09", Types.SQL_DATE(), datetime.date(2021, 1, 9)),
        ("01:02:03", Types.SQL_TIME(), datetime.time(1, 2, 3)),
        ("2021-01-09 01:02:03.5", Types.SQL_TIMESTAMP(), datetime.datetime(2021, 1, 9, 1, 2, 3, 500_000)),
        (" 2021-01-09 ", Types.SQL_DATE(), datetime.date(2021, 1, 9)),
        (" 01:02:03 ", Types.SQL_TIME(), datetime.time(1, 2, 3)),
        (" 2021-01-09 01:02:03.5\t", Types.SQL_TIMESTAMP(), datetime.datetime(2021, 1, 9, 1, 2, 3, 500_000)),
        ("TRUE", Types.BOOLEAN(), True),
        ('"a,""b"', Types.STRING(), 'a,"b'),
    ],
)
def test_a_field_is_read_as_its_type(text, type_info, value):
    read = schema(Types.ROW([type_info]))
    assert read.deserialize(text.encode()) == Row(value)
    assert read.deserialize_all([text.encode()] * 2) == [Row(value)] * 2


def test_rows_are_written_and_read_again():
    write = CsvRowSerializationSchema.Builder(PAIR).build()
    rows = [Row(1, 'x"y'), Row(2, "a,b"), Row(3, "two\nlines")]
    assert schema().deserialize_all([write.serialize(row) for row in rows]) == rows


MESSAGES = st.lists(st.text(st.sampled_from('1,"\n#ax')).map(str.encode), max_size=6)


@given(MESSAGES)
def test_many_messages_are_read_as_each_by_itself(messages):
    read = schema(set_ignore_parse_errors=True, set_allow_comments=True)
    assert read.deserialize_all(messages) == [read.deserialize(message) for message in messages]


def test_a_bad_message_is_named_by_its_position_and_field():
    with pytest.raises(
        ValueError, match=r"message 2 of 3: Failed to deserialize CSV row 'x,y': field a: 'x' is not an integer"
    ):
        schema().deserialize_all([b"1,a", b"x,y", b"2,b"])


def test_comments_and_null_literals_follow_the_settings():
    read = schema(set_allow_comments=True, set_null_literal="-")
    assert read.deserialize_all([b"#1,2", b"1,-"]) == [None, Row(a=1, b=None)]


def test_the_schema_tells_its_type():
    assert schema().get_produced_type() == PAIR


def test_strings_are_quoted_by_jacksons_rules_and_numbers_are_not():
    row_type = Types.ROW([Types.STRING(), Types.INT(), Types.BIG_DEC(), Types.LIST(Types.STRING())])
    write = CsvRowSerializationSchema.Builder(row_type).build()
    row = Row("two words", -5, Decimal("1.5"), ["a", "b c"])
    assert write.serialize(row) == b'"two words",-5,1.5,"a;b c"\n'
    assert write.serialize(Row("x" * 25, 1, None, [])) == b'"' + b"x" * 25 + b'",1,,\n'


def test_columns_take_the_types_of_tables():
    schema = CsvSchema.builder().add_number_column("a", DataTypes.INT())
    schema = schema.add_array_column("b", element_type=DataTypes.STRING()).build()
    assert schema.row_type.get_field_types() == [Types.INT(), Types.LIST(Types.STRING())]
    with pytest.raises(TypeError, match=r"Column 'a': the type must be one of .*DataTypes, found 'INT'"):
        CsvSchema.builder().add_number_column("a", "INT")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("128", Types.BYTE()),
        ("32768", Types.SHORT()),
        ("99999999999", Types.INT()),
        (str(2**63), Types.LONG()),
        ("1_000", Types.INT()),
        ("1_0.5", Types.DOUBLE()),
        ("1_0.5", Types.BIG_DEC()),
        ("x", Types.BIG_DEC()),
    ],
)
def test_numbers_that_do_not_fit_are_errors_and_do_not_wrap(text, kind):
    row_type = Types.ROW([kind])
    with pytest.raises(ValueError, match=r"field f0: .*(out of the range|is not a)"):
        schema(row_type).deserialize(text.encode())
    with pytest.raises(ValueError, match=r"field f0: .*(out of the range|is not a)"):
        schema(row_type).deserialize_all([text.encode()])
    ignoring = schema(row_type, set_ignore_parse_errors=True)
    assert ignoring.deserialize_all([text.encode()]) == [ignoring.deserialize(text.encode())] == [Row(None)]


def test_a_message_that_is_no_utf_8_can_be_skipped():
    messages = [b"1,\xff", b"2,b"]
    assert schema(set_ignore_parse_errors=True).deserialize_all(messages) == [None, Row(2, "b")]
    with pytest.raises(ValueError, match=r"Failed to deserialize CSV row '1,\\\\xff'"):
        schema().deserialize(messages[0])


@pytest.mark.parametrize(
    "declare",
    [
        lambda: CsvSchema.builder().set_column_separator("||"),
        lambda: CsvSchema.builder().set_quote_char(""),
        lambda: CsvSchema.builder().set_escape_char("ab"),
        lambda: CsvRowDeserializationSchema.Builder(PAIR).set_field_delimiter("||"),
        lambda: CsvRowSerializationSchema.Builder(PAIR).set_quote_character("''"),
        lambda: CsvRowSerializationSchema.Builder(PAIR).set_escape_character(""),
    ],
)
def test_delimiters_and_quotes_are_single_characters(declare):
    with pytest.raises(ValueError, match="must be a single character, found"):
        declare()


@pytest.mark.parametrize("builder", [CsvRowDeserializationSchema.Builder, CsvRowSerializationSchema.Builder])
def test_array_elements_need_a_delimiter(builder):
    with pytest.raises(ValueError, match="delimiter of array elements must not be empty"):
        builder(PAIR).set_array_element_delimiter("")


@pytest.mark.parametrize(
    ("text", "plain", "with_comments"),
    [
        ("1,a\n\n2,b\n", ["1 a", "", "2 b"], ["1 a", "2 b"]),
        ("\n1,a\n", ["", "1 a"], ["1 a"]),
        ("1,a\n#c\n2,b", ["1 a", "#c", "2 b"], ["1 a", "2 b"]),
        ("1,a\n  #c\n  \n2,b", ["1 a", "  #c", "  ", "2 b"], ["1 a", "2 b"]),
        ("#", ["#"], []),
        ('1,"x\n#y"\n', ["1 x\n#y"], ["1 x\n#y"]),
        ("1,a\r\n2,b\r3,c", ["1 a", "2 b", "3 c"], ["1 a", "2 b", "3 c"]),
        ('"a" ,b\n"a"\t,b\na,"b" \n', ["a b", "a b", "a b"], ["a b", "a b", "a b"]),
        ('"a" ,"x\ny"\n1,2', ["a x\ny", "1 2"], ["a x\ny", "1 2"]),
        (' "a" ,b\n"",b', [' "a"  b', " b"], [' "a"  b', " b"]),
    ],
)
def test_text_is_split_as_by_jackson(text: str, plain: list[str], with_comments: list[str]) -> None:
    """The expected records are those of Flink 2.3's Jackson."""
    for dialect, wanted in ((CsvDialect(), plain), (CsvDialect(allow_comments=True), with_comments)):
        assert [" ".join(fields) for fields in dialect.records(text.splitlines(keepends=True))] == wanted


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("a\\nb,\\r\\t\\0\\q\\\\", ["a\nb", "\r\t\0q\\"]),
        ('"a\\"b",c', ['a"b', "c"]),
        ("a\\\nb,c", ["a\nb", "c"]),
        ('\\"a,b', ['"a', "b"]),
        ('"x\\,y",z', ["x,y", "z"]),
        ('a""b,"c""d\\""', ['a""b', 'c"d"']),
    ],
)
def test_escapes_are_read_as_by_jackson(text: str, fields: list[str]) -> None:
    dialect = CsvDialect(escape_character="\\")
    assert list(dialect.records(text.splitlines(keepends=True))) == [fields]


@pytest.mark.parametrize(
    ("text", "message"),
    [('"a"b,c', "a separator or a line end was expected"), ('1,"a', "a closing quote is missing"), ("", "no record")],
)
def test_malformed_messages_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        schema().deserialize(text.encode())
    assert schema(set_ignore_parse_errors=True).deserialize_all([text.encode()]) == [None]


def test_a_line_end_may_be_escaped_and_a_quote_may_stay_open() -> None:
    dialect = CsvDialect(escape_character="\\")
    lines = ["a\\\n", "b,c\n", "d,e\n", '"f\\\n', "g\n", 'h",i\n']
    assert list(dialect.records(lines)) == [["a\nb", "c"], ["d", "e"], ["f\ng\nh", "i"]]
    with pytest.raises(ValueError, match="a closing quote is missing"):
        list(dialect.records(['"a\n', *["x,y\n"] * 50_000]))


def test_reading_goes_on_after_a_malformed_record() -> None:
    records, found = CsvDialect().records(["1,a\n", '"x"y,b\n', "2,c\n"]), []
    while True:
        try:
            found.append(next(records))
        except StopIteration:
            break
        except ValueError:
            found.append([])
    assert found == [["1", "a"], [], ["2", "c"]]
    assert records.line == 3


@pytest.mark.parametrize(
    ("value", "type_info", "text"),
    [
        (Decimal("1.50"), Types.BIG_DEC(), "1.50"),
        (Decimal("1E+30"), Types.BIG_DEC(), "1E+30"),
        (1e10, Types.DOUBLE(), "1.0E10"),
        (datetime.datetime(2024, 1, 9, 1, 2, 3), Types.SQL_TIMESTAMP(), '"2024-01-09 01:02:03.0"'),
        (datetime.datetime(2024, 1, 9), LOCAL_DATE_TIME, '"2024-01-09 00:00:00"'),
        (Instant.of_epoch_milli(120), Types.INSTANT(), '"1970-01-01 00:00:00.12Z"'),
        (b"ab", Types.PRIMITIVE_ARRAY(Types.BYTE()), "YWI="),
        ([1, None, 2], Types.OBJECT_ARRAY(Types.INT()), "1;;2"),
        (Row(1, "a b"), Types.ROW([Types.INT(), Types.STRING()]), '"1;a b"'),
    ],
)
def test_values_are_written_as_by_flink(value: object, type_info: object, text: str) -> None:
    write = CsvRowSerializationSchema.Builder(Types.ROW([type_info])).set_line_delimiter("").build()
    assert write.serialize(Row(value)).decode() == text


def test_what_csv_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match=r"the type Map<String, Integer> is not supported|MapTypeInfo"):
        schema(Types.ROW([Types.MAP(Types.STRING(), Types.INT())]))
    with pytest.raises(ValueError, match="line delimiter"):
        CsvRowSerializationSchema.Builder(PAIR).set_line_delimiter(";")
