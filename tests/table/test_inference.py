from datetime import date, datetime, time
from decimal import Decimal

import pytest

from firesteel.columns.type_text import type_text
from firesteel.table.functions.inference import infer_schema
from firesteel.table.types import DataTypes, Row


def test_columns_get_the_types_of_their_values():
    row = (1, 1.5, "a", True, date(2024, 1, 2), time(3), Decimal("1.5"), [1], {"k": 1}, bytearray(b"x"), datetime.now())
    assert [type_text(field.data_type) for field in infer_schema([row])] == [
        "BIGINT",
        "DOUBLE",
        "STRING",
        "BOOLEAN",
        "DATE",
        "TIME(0)",
        "DECIMAL(38, 18)",
        "ARRAY<BIGINT>",
        "MAP<STRING NOT NULL, BIGINT>",
        "BYTES",
        "TIMESTAMP_LTZ(6)",
    ]


def test_none_takes_the_type_of_other_rows():
    schema = infer_schema([(1, None), (None, "x")], ["a"])
    assert schema.field_names() == ["a", "_2"]
    assert type_text(schema) == "ROW<`a` BIGINT, `_2` STRING>"


def test_names_of_rows_win():
    assert infer_schema([Row(x=1, y=Row("p"))]).field_names() == ["x", "y"]


@pytest.mark.parametrize(("rows", "error"), [([], ValueError), ([(None,)], ValueError), ([(1,), ("a",)], TypeError)])
def test_types_that_cannot_be_inferred_are_an_error(rows, error):
    with pytest.raises(error):
        infer_schema(rows)


def test_interval_between_units():
    assert type_text(DataTypes.INTERVAL(DataTypes.DAY(), DataTypes.SECOND(3))) == "INTERVAL DAY(2) TO SECOND(3)"
    assert type_text(DataTypes.INTERVAL(DataTypes.SECOND(3))) == "INTERVAL SECOND(3)"
    assert type_text(DataTypes.INTERVAL(DataTypes.YEAR(4))) == "INTERVAL YEAR(4)"
    with pytest.raises(ValueError, match="MONTH_TO_DAY"):
        DataTypes.INTERVAL(DataTypes.MONTH(), DataTypes.DAY())
