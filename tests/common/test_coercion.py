from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pytest

from firesteel.common import Instant, Row, RowKind, Types
from firesteel.common.typeinfo import BasicType, BasicTypeInfo
from firesteel.common.values.coercion import batch_coercer, coercer
from firesteel.common.values.whole_numbers import WHOLE_BITS, range_of
from firesteel.errors import ValueOverflowError


@pytest.mark.parametrize(
    ("type_info", "value", "expected"),
    [
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
        (Types.TUPLE([Types.STRING(), Types.SHORT()]), ["a", True], ("a", 1)),
        (Types.LIST(Types.INT()), (1, 2**31 - 1), [1, 2**31 - 1]),
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


RANGES: dict[BasicType, tuple[int, int] | None] = {
    BasicType.BYTE: (-(2**7), 2**7 - 1),
    BasicType.SHORT: (-(2**15), 2**15 - 1),
    BasicType.INT: (-(2**31), 2**31 - 1),
    BasicType.LONG: (-(2**63), 2**63 - 1),
    BasicType.BIG_INT: None,
    BasicType.BIG_DEC: None,
    BasicType.BOOLEAN: None,  # a truth value
    BasicType.FLOAT: None,  # infinite, as in PyFlink
    BasicType.DOUBLE: None,
    BasicType.STRING: None,
    BasicType.CHAR: None,
    BasicType.INSTANT: None,  # see below
}
PLACES = {
    "itself": (lambda one: one, lambda value: value),
    "numpy": (lambda one: one, lambda value: np.uint64(value) if value > 0 else np.int64(value)),
    "a float": (lambda one: one, float),
    "tuple": (lambda one: Types.TUPLE([Types.STRING(), one]), lambda value: ("a", value)),
    "list for tuple": (lambda one: Types.TUPLE([Types.STRING(), one]), lambda value: ["a", value]),
    "nested": (lambda one: Types.TUPLE([Types.TUPLE([one])]), lambda value: ((value,),)),
    "row": (lambda one: Types.ROW([one]), Row),
    "dict for row": (lambda one: Types.ROW_NAMED(["n"], [one]), lambda value: {"n": value}),
    "list": (lambda one: Types.LIST(one), lambda value: [value]),
    "array": (lambda one: Types.BASIC_ARRAY(one), lambda value: [value]),
    "map value": (lambda one: Types.MAP(Types.STRING(), one), lambda value: {"k": value}),
    "map key": (lambda one: Types.MAP(one, Types.STRING()), lambda value: {value: "v"}),
}
INTEGERS = [basic for basic, limits in RANGES.items() if limits is not None]


def test_the_range_of_every_basic_type_is_decided():
    assert set(RANGES) == set(BasicType)
    assert {basic: range_of(basic) for basic in WHOLE_BITS} == {b: limits for b, limits in RANGES.items() if limits}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("basic", INTEGERS)
def test_an_integer_out_of_range_is_an_overflow_wherever_it_is(basic, place):
    wrap_type, wrap = PLACES[place]
    type_info = wrap_type(BasicTypeInfo(basic))
    convert, convert_all = coercer(type_info), batch_coercer(type_info)
    low, high = RANGES[basic]
    if place != "a float":
        for value in (low, high):
            assert convert(wrap(value)) == convert_all([wrap(value)])[0]
    for value in (high + 1, *((low - 1,) if place != "numpy" or basic is not BasicType.LONG else ())):
        value = value * 2 if place == "a float" else value
        for call in (lambda: convert(wrap(value)), lambda: convert_all([wrap(value)])):  # noqa: B023
            with pytest.raises(OverflowError, match=rf"declared as {basic.name} \(int\), found .* out of range"):
                call()


@pytest.mark.parametrize(
    ("type_info", "value"),
    [
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [1, 256]),
        (Types.PRIMITIVE_ARRAY(Types.INT()), [1, 2**31]),
        (Types.INSTANT(), Instant(2**63, 0)),
    ],
)
def test_other_types_have_ranges_too(type_info, value):
    with pytest.raises(OverflowError):
        coercer(type_info)(value)


def test_an_overflow_names_its_place():
    with pytest.raises(ValueOverflowError) as error:
        coercer(Types.TUPLE([Types.STRING(), Types.LIST(Types.INT())]))(("a", [1, 2**31]))
    assert str(error.value) == "field [1][1]: declared as INT (int), found int 2147483648, which is out of range"


def test_untyped_values_pass_as_they_are():
    assert coercer(None) is None
    assert coercer(Types.PICKLED_BYTE_ARRAY()) is None


def test_tuple_that_fits_is_not_copied():
    value = ("a", 1)
    assert coercer(Types.TUPLE([Types.STRING(), Types.INT()]))(value) is value


def test_row_gets_the_declared_names_and_keeps_its_kind():
    row = coercer(Types.ROW([Types.STRING(), Types.INT()]))(Row.of_kind(RowKind.DELETE, "a", 2.5))
    assert repr(row) == "Row(f0='a', f1=2)"
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
