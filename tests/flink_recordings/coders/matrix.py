"""Types and values that may or may not fit them; `pyflink` is PyFlink or firesteel under its name."""

from __future__ import annotations

import datetime
import decimal
import enum
from typing import Any

import numpy as np
from pyflink.common import Instant, Row, Types


class Number(enum.IntEnum):
    ONE = 1


class Text(str):
    __slots__ = ()


UTC = datetime.UTC
EAST = datetime.timezone(datetime.timedelta(hours=1))

TYPES: dict[str, Any] = {
    "BOOLEAN": Types.BOOLEAN(),
    "BYTE": Types.BYTE(),
    "SHORT": Types.SHORT(),
    "INT": Types.INT(),
    "LONG": Types.LONG(),
    "FLOAT": Types.FLOAT(),
    "DOUBLE": Types.DOUBLE(),
    "STRING": Types.STRING(),
    "BIG_DEC": Types.BIG_DEC(),
    "SQL_DATE": Types.SQL_DATE(),
    "SQL_TIME": Types.SQL_TIME(),
    "SQL_TIMESTAMP": Types.SQL_TIMESTAMP(),
    "INSTANT": Types.INSTANT(),
    "BYTES": Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "INTS": Types.PRIMITIVE_ARRAY(Types.INT()),
    "DOUBLES": Types.BASIC_ARRAY(Types.DOUBLE()),
    "LIST": Types.LIST(Types.INT()),
    "MAP": Types.MAP(Types.STRING(), Types.INT()),
    "TUPLE": Types.TUPLE([Types.INT(), Types.STRING()]),
    "ROW": Types.ROW([Types.INT(), Types.STRING()]),
    "NAMED": Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()]),
}

VALUES: dict[str, Any] = {
    "None": None,
    "True": True,
    "1": 1,
    "-1": -1,
    "300": 300,
    "2**40": 2**40,
    "2**70": 2**70,
    "1.5": 1.5,
    "2.0": 2.0,
    "nan": float("nan"),
    "inf": float("inf"),
    "1e300": 1e300,
    "'a'": "a",
    "''": "",
    "'1'": "1",
    "b'a'": b"a",
    "bytearray": bytearray(b"a"),
    "Decimal('1.50')": decimal.Decimal("1.50"),
    "Decimal('NaN')": decimal.Decimal("NaN"),
    "date": datetime.date(2020, 2, 29),
    "time": datetime.time(1, 2, 3, 456789),
    "time in the east": datetime.time(1, 2, 3, tzinfo=EAST),
    "datetime": datetime.datetime(2020, 2, 29, 1, 2, 3, 456789),
    "datetime in UTC": datetime.datetime(2020, 2, 29, 1, 2, 3, tzinfo=UTC),
    "datetime in the east": datetime.datetime(2020, 2, 29, 1, 2, 3, tzinfo=EAST),
    "timedelta": datetime.timedelta(seconds=1),
    "Instant": Instant.of_epoch_milli(1),
    "[]": [],
    "[1]": [1],
    "[1.5]": [1.5],
    "['a']": ["a"],
    "[None]": [None],
    "[1, 'a']": [1, "a"],
    "()": (),
    "(1,)": (1,),
    "(1, 'a')": (1, "a"),
    "(1, 'a', 2)": (1, "a", 2),
    "('a', 1)": ("a", 1),
    "Row(1)": Row(1),
    "Row(1, 'a')": Row(1, "a"),
    "Row(a=1, b='a')": Row(a=1, b="a"),
    "Row(b='a', a=1)": Row(b="a", a=1),
    "Row(f1='a', f0=1)": Row(f1="a", f0=1),
    "Row(a=1, c='a')": Row(a=1, c="a"),
    "Row(c=1, d='a')": Row(c=1, d="a"),
    "{}": {},
    "{'a': 1}": {"a": 1},
    "{1: 'a'}": {1: "a"},
    "{'a': None}": {"a": None},
    "{'a': 1.5}": {"a": 1.5},
    "{'a': 1, 'b': 'x'}": {"a": 1, "b": "x"},
    "{'a': 1, 'B': 'x'}": {"a": 1, "B": "x"},
    "set": {1},
    "range": range(2),
    "np.int64": np.int64(5),
    "np.float32": np.float32(1.5),
    "np.bool_": np.bool_(True),
    "np.str_": np.str_("x"),
    "np.array": np.array([1, 2]),
    "np.datetime64": np.datetime64("2020-01-01"),
    "IntEnum": Number.ONE,
    "a subclass of str": Text("q"),
    "complex": 1j,
    "a class": object,
}
