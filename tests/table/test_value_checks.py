"""Values that a program gives are checked against the declared types, as PyFlink does, and never cut in silence."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pytest

from firesteel.common import Instant, Row
from firesteel.common.types import RowKind
from firesteel.errors import FiresteelError
from firesteel.table import DataTypes, EnvironmentSettings, TableEnvironment
from firesteel.table.environment.pandas_conversion import pandas_scan, to_pandas
from firesteel.table.functions.value_checks import check_rows

PAIR = DataTypes.ROW([DataTypes.FIELD("x", DataTypes.STRING()), DataTypes.FIELD("y", DataTypes.BOOLEAN())])
NUMBERS = DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())
DAY = datetime.datetime(2024, 1, 2)

FITTING = [
    (DataTypes.INT(), -(2**31)),
    (DataTypes.INT(), np.int64(3)),
    (DataTypes.INT(), None),
    (DataTypes.BOOLEAN(), np.bool_(True)),
    (DataTypes.DOUBLE(), 1),
    (DataTypes.DECIMAL(5, 2), 1.5),
    (DataTypes.CHAR(2), "ab"),
    (DataTypes.BYTES(), bytearray(b"a")),
    (DataTypes.DATE(), DAY),
    (DataTypes.TIMESTAMP_LTZ(3), Instant(1, 0)),
    (DataTypes.ARRAY(PAIR), [("a", True), ["b", None], Row("c", False), {"x": "d", "y": True}]),
    (NUMBERS, {"a": 1}),
]

UNFIT = [
    (DataTypes.INT(), 2**31, "field a: declared as INT, found int 2147483648, which is out of range"),
    (DataTypes.TINYINT(), 200, "out of range"),
    (DataTypes.INT(), True, "found bool True"),
    (DataTypes.INT(), 1.5, "found float 1.5"),
    (DataTypes.INT().not_null(), None, "field a: declared as INT NOT NULL, found None"),
    (DataTypes.STRING(), 1, "found int 1"),
    (DataTypes.CHAR(2), "abc", "of length 3"),
    (DataTypes.VARCHAR(2), "abc", "of length 3"),
    (DataTypes.BYTES(), "a", "declared as BYTES, found str 'a'"),
    (DataTypes.BOOLEAN(), 1, "found int 1"),
    (DataTypes.DATE(), "2024-01-02", "found str '2024-01-02'"),
    (DataTypes.TIMESTAMP(3), DAY.date(), "found date"),
    (DataTypes.ARRAY(DataTypes.INT()), "ab", "declared as ARRAY<INT>, found str 'ab'"),
    (DataTypes.ARRAY(DataTypes.INT()), ["a"], "field a[]: declared as INT, found str 'a'"),
    (DataTypes.ARRAY(DataTypes.INT().not_null()), [None], "field a[]: declared as INT NOT NULL, found None"),
    (DataTypes.ARRAY(PAIR), [("p", True), (True, "p")], "field a[].x: declared as STRING, found bool True"),
    (PAIR, ("p",), "of 1 fields"),
    (PAIR, 3, "found int 3"),
    (NUMBERS, {1: 2}, "field a{key}: declared as STRING, found int 1"),
    (NUMBERS, {"a": "b"}, "field a{value}: declared as INT, found str 'b'"),
]


def row_of(kind):
    return DataTypes.ROW([DataTypes.FIELD("a", kind)])


@pytest.mark.parametrize(("kind", "value"), FITTING)
def test_values_of_a_type_pass(kind, value):
    check_rows([(value,)], row_of(kind))


@pytest.mark.parametrize(("kind", "value", "message"), UNFIT)
def test_a_value_that_does_not_fit_is_refused_when_the_table_is_made(kind, value, message):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with pytest.raises(FiresteelError) as refused:
        t_env.from_elements([(value,)], row_of(kind))
    assert message in str(refused.value)
    assert isinstance(refused.value, TypeError | ValueError)
    t_env.from_elements([(value,)], row_of(kind), verify_schema=False)


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1000, 2], DataTypes.TINYINT()),
        ([1.5], DataTypes.INT()),
        ([1], DataTypes.STRING()),
        (["1"], DataTypes.INT()),
        (["2024-01-02"], DataTypes.DATE()),
        (["true"], DataTypes.BOOLEAN()),
        (pd.to_datetime(["2024-01-02 03:04:05.123456"]), DataTypes.TIMESTAMP(3)),
        (pd.to_datetime(["2024-01-02 03:04:05.123456"]).tz_localize("UTC"), DataTypes.TIMESTAMP_LTZ(3)),
    ],
)
def test_a_data_frame_is_not_cut_to_its_declared_type(values, kind):
    with pytest.raises(TypeError, match="Column 'a' is declared as"):
        pandas_scan(pd.DataFrame({"a": values}), row_of(kind))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], DataTypes.DOUBLE()),
        ([1.0, None], DataTypes.INT()),
        (["a", None], DataTypes.STRING()),
        ([True, False], DataTypes.INT()),
        ([b"a"], DataTypes.BYTES()),
        (pd.to_datetime(["2024-01-02 03:04:05.123"]), DataTypes.TIMESTAMP(3)),
    ],
)
def test_a_data_frame_is_converted_without_loss(values, kind):
    assert pandas_scan(pd.DataFrame({"a": values}), row_of(kind)).row_type == row_of(kind)


def test_times_have_the_units_and_the_zone_of_pyflink():
    kinds = {"s": 0, "ms": 3, "us": 6, "ns": 9}
    row_type = DataTypes.ROW([DataTypes.FIELD(unit, DataTypes.TIMESTAMP(digits)) for unit, digits in kinds.items()])
    row = Row(*[DAY] * 4)
    row.set_row_kind(RowKind.INSERT)
    frame = to_pandas([row], row_type, datetime.UTC)
    assert [str(kind) for kind in frame.dtypes] == [f"datetime64[{unit}]" for unit in kinds]
    local = to_pandas(
        [Row(Instant(0, 0))], row_of(DataTypes.TIMESTAMP_LTZ(3)), datetime.timezone(datetime.timedelta(hours=8))
    )
    assert str(local["a"].iloc[0]) == "1970-01-01 08:00:00+08:00"
