from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from firesteel.common import Row, RowKind, Types
from firesteel.common.coercion import coercer


@pytest.mark.parametrize(
    ("type_info", "value", "expected"),
    [
        (Types.SHORT(), 43878, -21658),
        (Types.BYTE(), 200, -56),
        (Types.INT(), 2**31, -(2**31)),
        (Types.LONG(), 2**63, -(2**63)),
        (Types.LONG(), True, 1),
        (Types.FLOAT(), 110.1, 110.0999984741211),
        (Types.FLOAT(), 1e300, float("inf")),
        (Types.DOUBLE(), 3, 3.0),
        (Types.BOOLEAN(), 1, True),
        (Types.INT(), -2.9, -2),
        (Types.TUPLE([Types.LONG()]), (Decimal("7.5"),), (7,)),
        (Types.BIG_INT(), 2**80, 2**80),
        (Types.BIG_DEC(), 0.1, Decimal("0.1")),
        (Types.STRING(), None, None),
        (Types.TUPLE([Types.STRING(), Types.SHORT()]), ["a", 43878], ("a", -21658)),
        (Types.TUPLE([Types.INT(), Types.TUPLE([Types.BYTE()])]), (1, (128,)), (1, (-128,))),
        (Types.LIST(Types.INT()), (1, 2**31), [1, -(2**31)]),
        (Types.MAP(Types.STRING(), Types.BYTE()), {"a": 128}, {"a": -128}),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [1, 255], b"\x01\xff"),
        (Types.BASIC_ARRAY(Types.INT()), [1], [1]),
        (
            Types.SQL_TIMESTAMP(),
            datetime.datetime(2021, 1, 9, 12, 0, 0, 11_999),
            datetime.datetime(2021, 1, 9, 12, 0, 0, 11_000),
        ),
    ],
)
def test_value_becomes_what_flink_would_read_back(type_info, value, expected):
    assert coercer(type_info)(value) == expected


def test_untyped_values_pass_as_they_are():
    assert coercer(None) is None
    assert coercer(Types.PICKLED_BYTE_ARRAY()) is None


def test_tuple_that_fits_is_not_copied():
    value = ("a", 1)
    assert coercer(Types.TUPLE([Types.STRING(), Types.INT()]))(value) is value


def test_row_gets_the_declared_names_and_keeps_its_kind():
    row = coercer(Types.ROW([Types.STRING(), Types.INT()]))(Row.of_kind(RowKind.DELETE, "a", 2**31))
    assert repr(row) == "Row(f0='a', f1=-2147483648)"
    assert row.get_row_kind() is RowKind.DELETE


def test_row_is_copied_so_that_later_changes_do_not_show():
    given = Row("a", 1)
    taken = coercer(Types.ROW([Types.STRING(), Types.INT()]))(given)
    given[0] = "b"
    assert taken[0] == "a"


def test_named_row_is_read_by_name():
    coerce = coercer(Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()]))
    assert list(coerce(Row(b=2, a=1))) == [1, 2]
    assert list(coerce({"b": 2, "a": 1})) == [1, 2]


@pytest.mark.parametrize(
    ("type_info", "value", "text"),
    [
        (Types.INT(), "1", "value: declared as INT (int), found str '1'"),
        (Types.INT(), float("nan"), "value: declared as INT (int), found float nan"),
        (Types.STRING(), 1, "value: declared as STRING (str), found int 1"),
        (Types.TUPLE([Types.INT(), Types.INT()]), (1, "b"), "field [1]: declared as INT (int), found str 'b'"),
        (Types.ROW([Types.INT()]), ("b",), "field f0: declared as INT (int), found str 'b'"),
        (
            Types.TUPLE([Types.LIST(Types.FLOAT()), Types.INT()]),
            ([1.0, "x"], 1),
            "field [0][1]: declared as FLOAT (float), found str 'x'",
        ),
        (Types.TUPLE([Types.INT()]), (1, 2), "value: declared as TUPLE (tuple) of 1 fields, found tuple (1, 2)"),
        (Types.MAP(Types.STRING(), Types.INT()), {"k": "v"}, "field ['k']: declared as INT (int), found str 'v'"),
    ],
)
def test_value_of_another_type_is_refused_with_its_place(type_info, value, text):
    with pytest.raises(TypeError) as error:
        coercer(type_info)(value)
    assert str(error.value) == text
