"""Values of columns as Python objects are those that Arrow gives, in less time."""

from __future__ import annotations

import datetime
import re
from decimal import Context, Decimal, localcontext
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.columns import pylist as module
from firesteel.columns import values
from firesteel.columns.pylist import pylist
from firesteel.columns.years import OutOfYearsError

pytestmark = pytest.mark.libraries

FIRST, LAST = datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31, 23, 59, 59, 999999)
MOMENTS = st.none() | st.sampled_from([FIRST, LAST, datetime.datetime(1970, 1, 1)]) | st.datetimes()
VALUES = {
    pa.timestamp("us"): MOMENTS,
    pa.timestamp("us", "UTC"): MOMENTS.map(lambda value: value and value.replace(tzinfo=datetime.UTC)),
    pa.date32(): st.none() | st.dates(),
    pa.time32("ms"): st.none()
    | st.integers(0, 86_399_999).map(lambda ms: (FIRST + datetime.timedelta(milliseconds=ms)).time()),
    pa.duration("us"): st.none()
    | st.integers(-(10**18), 10**18).map(lambda micros: datetime.timedelta(microseconds=micros)),
}
DECIMALS = {
    pa.decimal128(10, 2): st.none() | st.integers(-(10**10) + 1, 10**10 - 1),
    pa.decimal128(5, 0): st.none() | st.integers(-99999, 99999),
    pa.decimal128(38, 30): st.none() | st.sampled_from([0, -1, 10**38 - 1, 1 - 10**38, 2**62, -(2**62)]),
    pa.decimal128(3, -2): st.none() | st.integers(-999, 999),
}
PLAIN = {pa.int32(): [1, None], pa.string(): ["a", None], pa.bool_(): [True], pa.list_(pa.date32()): [[None]]}


@given(st.sampled_from(list(VALUES)).flatmap(lambda kind: st.tuples(st.just(kind), st.lists(VALUES[kind], max_size=5))))
def test_values_are_those_of_arrow(given_values):
    kind, items = given_values
    for column in (pa.array(items, kind), pa.array([None, *items], kind).slice(1)):
        found = pylist(column)
        assert found == column.to_pylist() == items
        assert [type(value) for value in found] == [type(value) for value in column.to_pylist()]
        assert [getattr(value, "tzinfo", None) for value in found] == [
            getattr(value, "tzinfo", None) for value in column.to_pylist()
        ]


@given(
    st.sampled_from(list(DECIMALS)).flatmap(lambda kind: st.tuples(st.just(kind), st.lists(DECIMALS[kind], max_size=5)))
)
def test_decimals_are_those_of_arrow_in_any_context(given_values):
    kind, unscaled = given_values
    items = [None if value is None else Decimal(value).scaleb(-kind.scale, Context(prec=40)) for value in unscaled]
    for column in (pa.array(items, kind), pa.array([None, *items], kind).slice(1)):
        with localcontext(prec=2):
            found = pylist(column)
        assert list(map(repr, found)) == list(map(repr, column.to_pylist()))


@pytest.mark.parametrize("kind", PLAIN, ids=str)
def test_other_values_are_left_to_arrow(kind):
    assert pylist(pa.array(PLAIN[kind], kind)) == PLAIN[kind]


@pytest.mark.parametrize("micros", [253402300800000000, -62135596800000001])
def test_a_time_that_python_does_not_have_is_an_error(micros):
    with pytest.raises(OutOfYearsError):
        pylist(pa.array([micros], pa.int64()).cast(pa.timestamp("us")))


def test_all_times_of_columns_are_fast():
    times = {kind for kind in values._ARROW.values() if pa.types.is_temporal(kind)}
    assert times == module._CONVERSIONS.keys() == VALUES.keys()


def test_nobody_else_calls_to_pylist():
    """Except for dictionaries of whole batches, which Spark's and Parquet's readers make."""
    source = Path(module.__file__).parents[1]
    callers = (path for path in source.rglob("*.py") if re.search(r"\.to_pylist\(", path.read_text()))
    assert {path.relative_to(source).as_posix() for path in callers} == {
        "columns/pylist.py",
        "connectors/formats/parquet/files.py",
        "datastream/streams/spark_dataframes.py",
    }
