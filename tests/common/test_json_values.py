"""Keys and values of states in JSON and back, for each of Flink's types."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any

import pytest

from firesteel.common import Row, Types
from firesteel.common.time import Instant
from firesteel.common.typeinfo import ExternalTypeInfo, LocalTimeTypeInfo, TypeInformation
from firesteel.common.values.json_keys import READERS, JsonKeyError, from_json
from firesteel.common.values.json_values import JsonValueError, to_json

TIME = datetime.datetime(2026, 11, 27, 4, 5, 6, 789000)
CASES: list[tuple[TypeInformation[Any], Any]] = [
    (Types.STRING(), "é"),
    (Types.CHAR(), "c"),
    (Types.BOOLEAN(), True),
    (Types.BYTE(), -128),
    (Types.SHORT(), 1),
    (Types.INT(), 1),
    (Types.LONG(), 2**63 - 1),
    (Types.BIG_INT(), 10**30),
    (Types.FLOAT(), 0.5),
    (Types.DOUBLE(), float("inf")),
    (Types.DOUBLE(), 1.25),
    (Types.BIG_DEC(), Decimal("1.50")),
    (Types.INSTANT(), Instant(1_700_000_000, 120_000_000)),
    (Types.INSTANT(), Instant(-5, 0)),
    (Types.SQL_DATE(), TIME.date()),
    (Types.SQL_TIME(), TIME.time()),
    (Types.SQL_TIMESTAMP(), TIME),
    *(
        (LocalTimeTypeInfo(kind), value)
        for kind, value in zip(LocalTimeTypeInfo.TimeType, (TIME.date(), TIME.time(), TIME), strict=True)
    ),
    (Types.ROW([Types.INT(), Types.STRING()]), Row(1, "a")),
    (Types.ROW_NAMED(["n", "s"], [Types.INT(), Types.LIST(Types.INT())]), Row(n=1, s=[2, None])),
    (Types.TUPLE([Types.INT(), Types.TUPLE([Types.BIG_DEC()])]), (1, (Decimal(2),))),
    (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\x00\xff"),
    (Types.PRIMITIVE_ARRAY(Types.INT()), [1, 2]),
    (Types.BASIC_ARRAY(Types.STRING()), ["a", None]),
    (Types.OBJECT_ARRAY(Types.ROW([Types.INT()])), [Row(1)]),
    (Types.LIST(Types.SQL_DATE()), [TIME.date()]),
    (Types.MAP(Types.INT(), Types.LIST(Types.STRING())), {1: ["a"], 2: []}),
    (Types.PICKLED_BYTE_ARRAY(), ("a", (1, None))),
    (ExternalTypeInfo(Types.LONG()), 7),
]


@pytest.mark.parametrize(("type_info", "value"), CASES, ids=lambda one: repr(one))
def test_values_of_each_type_come_back(type_info: TypeInformation[Any], value: Any) -> None:
    shown = json.loads(json.dumps(to_json(value), allow_nan=False))
    read = from_json(type_info)
    assert read(shown) == value
    assert read(shown).__class__ is value.__class__
    assert read(None) is None


def test_each_class_of_types_has_a_case() -> None:
    covered = {next(kind for kind in READERS if isinstance(type_info, kind)) for type_info, _ in CASES}
    assert covered == set(READERS)
    public = {name for name in vars(Types) if not name.startswith("_")}
    plain = {
        name for name in public if name not in ("ROW", "ROW_NAMED", "TUPLE", "MAP", "LIST") and "ARRAY" not in name
    }
    shown = {repr(type_info) for type_info, _ in CASES}
    assert {repr(getattr(Types, name)()) for name in plain} <= shown


@pytest.mark.parametrize(
    ("type_info", "given"),
    [
        (Types.STRING(), 1),
        (Types.LONG(), "1"),
        (Types.LONG(), True),
        (Types.INT(), 2**31),
        (Types.DOUBLE(), "one"),
        (Types.BIG_DEC(), "x"),
        (Types.SQL_DATE(), "yesterday"),
        (Types.TUPLE([Types.INT()]), [1, 2]),
        (Types.ROW_NAMED(["n"], [Types.INT()]), {"m": 1}),
        (Types.LIST(Types.INT()), 1),
        (Types.MAP(Types.INT(), Types.INT()), {"1": 1}),
        (Types.PRIMITIVE_ARRAY(Types.BYTE()), [1]),
        (None, {"a": 1}),
    ],
)
def test_other_values_are_refused(type_info: TypeInformation[Any] | None, given: Any) -> None:
    with pytest.raises(JsonKeyError, match="does not have the type of the operator's keys"):
        from_json(type_info)(given)


def test_other_classes_have_no_form() -> None:
    with pytest.raises(JsonValueError, match=r"values of .*test_json_values\.Other cannot be shown as JSON"):
        to_json([Other()])


class Other: ...
