import datetime
import pickle

import pytest

from firesteel.columns import column_types as t
from firesteel.columns.type_text import TypeTextError, parse_type, type_text
from firesteel.common.types import Row


def test_repr_is_that_of_pyflink():
    row = t.RowType([t.RowField("a", t.IntType()), t.RowField("b", t.VarCharType(t.MAX_LENGTH, False))])
    assert repr(row) == "RowType(RowField(a, IntType(true), ...),RowField(b, VarCharType(2147483647, false), ...))"
    assert repr(t.MapType(t.DecimalType(5, 2), t.ArrayType(t.TimeType()))) == (
        "MapType(DecimalType(5, 2, true), ArrayType(TimeType(0, true), true), true)"
    )


def test_not_null_returns_an_equal_type_apart_from_nullability():
    data_type = t.TimestampType(3)
    assert data_type.not_null() == t.TimestampType(3, False)
    assert data_type != data_type.not_null()
    assert data_type.same_as(data_type.not_null())


def test_kind_of_a_time_attribute_does_not_count_in_equality():
    rowtime = t.TimestampType(3).with_kind(t.TimestampKind.ROWTIME)
    assert rowtime == t.TimestampType(3)
    assert hash(rowtime) == hash(t.TimestampType(3))
    assert type_text(rowtime) == "TIMESTAMP(3) *ROWTIME*"
    assert type_text(rowtime.not_null()) == "TIMESTAMP(3) NOT NULL *ROWTIME*"


@pytest.mark.parametrize(
    "text",
    [
        "BOOLEAN",
        "TINYINT NOT NULL",
        "DECIMAL(38, 18)",
        "CHAR(4) NOT NULL",
        "VARCHAR(3)",
        "STRING",
        "BYTES NOT NULL",
        "BINARY(1) NOT NULL",
        "TIME(0)",
        "TIMESTAMP(9)",
        "TIMESTAMP_LTZ(3) NOT NULL",
        "TIMESTAMP(3) WITH TIME ZONE",
        "INTERVAL SECOND(3) NOT NULL",
        "INTERVAL DAY(2) TO SECOND(6)",
        "INTERVAL MONTH",
        "INTERVAL YEAR(2) TO MONTH",
        "ARRAY<ARRAY<INT NOT NULL> NOT NULL> NOT NULL",
        "MAP<STRING NOT NULL, BIGINT>",
        "MULTISET<STRING>",
        "ROW<`a` STRING, `b` INT NOT NULL> NOT NULL",
        "ROW<`a b` ROW<`c` DOUBLE> 'the ''c'''>",
    ],
)
def test_text_survives_parsing(text):
    assert type_text(parse_type(text)) == text
    assert pickle.loads(pickle.dumps(parse_type(text))) == parse_type(text)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("int", "INT"),
        ("DOUBLE PRECISION", "DOUBLE"),
        ("DEC(5)", "DECIMAL(5, 0)"),
        ("NUMERIC", "DECIMAL(10, 0)"),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", "TIMESTAMP_LTZ(3)"),
        ("TIMESTAMP", "TIMESTAMP(6)"),
        ("INT NOT NULL ARRAY", "ARRAY<INT NOT NULL>"),
        ("CHARACTER VARYING(7)", "VARCHAR(7)"),
        ("ROW(n INT, m STRING)", "ROW<`n` INT, `m` STRING>"),
        ("ROW<INT, ARRAY<STRING>>", "ROW<`f0` INT, `f1` ARRAY<STRING>>"),
        ("ROW<date DATE, map MAP<INT, INT>>", "ROW<`date` DATE, `map` MAP<INT, INT>>"),
        ("VARCHAR", "VARCHAR(1)"),
    ],
)
def test_other_spellings(text, canonical):
    assert type_text(parse_type(text)) == canonical


@pytest.mark.parametrize(
    ("text", "found"),
    [("INTT", "INTT"), ("ARRAY<INT", "end of text"), ("DECIMAL(3, 5)", "scale"), ("INT x", "'x'"), ("MAP<INT>", ">")],
)
def test_error_says_what_was_found(text, found):
    with pytest.raises(TypeTextError, match=found) as error:
        parse_type(text)
    assert error.value.__cause__ is not error.value


@pytest.mark.parametrize(
    ("text", "in_statement", "elsewhere"),
    [
        ("VARCHAR", "STRING", "VARCHAR(1)"),
        ("CHARACTER VARYING", "STRING", "VARCHAR(1)"),
        ("VARBINARY", "BYTES", "VARBINARY(1)"),
        ("CHAR", "CHAR(1)", "CHAR(1)"),
        ("BINARY", "BINARY(1)", "BINARY(1)"),
        ("MAP<VARCHAR, ROW<a VARBINARY>>", "MAP<STRING, ROW<`a` BYTES>>", "MAP<VARCHAR(1), ROW<`a` VARBINARY(1)>>"),
        ("INTERVAL YEAR TO MONTH", "INTERVAL MONTH", "INTERVAL YEAR(2) TO MONTH"),
        ("INTERVAL DAY", "INTERVAL SECOND(3)", "INTERVAL DAY(2)"),
    ],
)
def test_defaults_of_statements_differ_from_those_of_type_texts(text, in_statement, elsewhere):
    assert type_text(parse_type(text, in_statement=True)) == in_statement
    assert type_text(parse_type(text)) == elsewhere


def test_row_type_grows_by_add():
    row = t.RowType().add("a", t.IntType()).add(t.RowField("b", t.DateType()))
    assert row.field_names() == ["a", "b"]
    assert row["b"].data_type == t.DateType()
    assert len(row[0:1]) == 1


@pytest.mark.parametrize(
    ("data_type", "value", "internal"),
    [
        (t.IntType(), 1, 1),
        (t.DateType(), datetime.date(1970, 1, 2), 1),
        (t.TimeType(), datetime.time(0, 0, 1, 5), 1_000_005),
        (t.TimestampType(), datetime.datetime(1970, 1, 1, 0, 0, 1, 5), 1_000_005),
        (t.DayTimeIntervalType(t.DayTimeIntervalType.DayTimeResolution.DAY), datetime.timedelta(seconds=1), 1_000_000),
        (t.ArrayType(t.DateType()), [datetime.date(1970, 1, 2), None], [1, None]),
        (t.MapType(t.IntType(), t.DateType()), {1: datetime.date(1970, 1, 2)}, {1: 1}),
        (t.RowType([t.RowField("a", t.DateType())]), Row(a=datetime.date(1970, 1, 2)), (1,)),
        (t.DateType(), None, None),
    ],
)
def test_internal_forms_are_those_of_pyflink(data_type, value, internal):
    assert data_type.to_sql_type(value) == internal
    assert data_type.from_sql_type(internal) == value
    assert data_type.need_conversion() is (data_type != t.IntType())


def test_local_zoned_timestamp_without_zone_is_in_that_of_the_machine():
    moment = datetime.datetime(2024, 1, 1, 12)
    data_type = t.LocalZonedTimestampType()
    assert data_type.to_sql_type(moment) == int(moment.timestamp()) * 1_000_000
    assert data_type.from_sql_type(data_type.to_sql_type(moment)) == moment
