import pickle

import pytest

from firesteel.columns import types as t
from firesteel.columns.type_text import TypeTextError, parse_type, type_text


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
    with pytest.raises(TypeTextError, match=found):
        parse_type(text)


def test_row_type_grows_by_add():
    row = t.RowType().add("a", t.IntType()).add(t.RowField("b", t.DateType()))
    assert row.field_names() == ["a", "b"]
    assert row["b"].data_type == t.DateType()
    assert len(row[0:1]) == 1
