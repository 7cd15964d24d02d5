from __future__ import annotations

import datetime
import json
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from firesteel.columns.interval_types import DayTimeIntervalType, YearMonthIntervalType
from firesteel.common.time import Instant
from firesteel.common.types import Row, RowKind
from firesteel.gateway.result_rows import RowFormat, results_text
from firesteel.table.types import DataTypes, RowType

ZONE = ZoneInfo("Europe/Berlin")
MOMENT = datetime.datetime(2024, 1, 2, 3, 4, 5, 123456)
YEAR_MONTH = YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH)
DAY_TIME = DayTimeIntervalType(DayTimeIntervalType.DayTimeResolution.DAY_TO_SECOND)


def results(rows: list[Row], form: RowFormat, *types: Any) -> Any:
    row_type = RowType([DataTypes.FIELD(f"c{i}", kind) for i, kind in enumerate(types)])
    return json.loads(results_text(row_type, rows, form, ZONE), parse_float=Decimal)


@pytest.mark.parametrize(
    ("kind", "value", "as_json", "as_text"),
    [
        (DataTypes.BOOLEAN(), True, True, "TRUE"),
        (DataTypes.BIGINT(), 2**63 - 1, 2**63 - 1, "9223372036854775807"),
        (DataTypes.DOUBLE(), 1.5, Decimal("1.5"), "1.5"),
        (DataTypes.DOUBLE(), float("nan"), "NaN", "NaN"),
        (DataTypes.DECIMAL(38, 2), Decimal("12345678901234567890.10"), Decimal("12345678901234567890.1"), None),
        (DataTypes.DECIMAL(10, 2), Decimal("1.50"), Decimal("1.5"), "1.50"),
        (DataTypes.STRING(), 'a"\n\u20ac', 'a"\n\u20ac', 'a"\n\u20ac'),
        (DataTypes.BYTES(), b"ab", "YWI=", "ab"),
        (DataTypes.DATE(), MOMENT.date(), "2024-01-02", "2024-01-02"),
        (DataTypes.TIME(0), datetime.time(3, 4, 5), "03:04:05", "03:04:05"),
        (DataTypes.TIMESTAMP(6), MOMENT, "2024-01-02T03:04:05.123456", "2024-01-02 03:04:05.123456"),
        (DataTypes.TIMESTAMP_LTZ(3), Instant(0, 5_000_000), "1970-01-01T00:00:00.005Z", "1970-01-01 01:00:00.005"),
        (YEAR_MONTH, 14, 14, "+1-02"),
        (DAY_TIME, datetime.timedelta(days=1, milliseconds=5), 86_400_005, "+1 00:00:00.005"),
        (DataTypes.ARRAY(DataTypes.INT()), [1, None], [1, None], "[1, NULL]"),
        (DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()), {"k": 1}, {"k": 1}, "{k=1}"),
        (DataTypes.ROW([DataTypes.FIELD("x", DataTypes.INT())]), Row(1), {"x": 1}, "(1)"),
        (DataTypes.INT(), None, None, None),
    ],
    ids=str,
)
def test_values_in_both_formats(kind: Any, value: Any, as_json: Any, as_text: str | None) -> None:
    for form, expected in ((RowFormat.JSON, as_json), (RowFormat.PLAIN_TEXT, as_text)):
        if expected is None and value is not None:
            continue
        found = results([Row(value)], form, kind)
        assert found["rowFormat"] == form.value
        assert found["data"] == [{"kind": "INSERT", "fields": [expected]}]


def test_each_row_has_the_kind_of_its_change() -> None:
    rows = [Row.of_kind(kind, i) for i, kind in enumerate(RowKind)]
    data = results(rows, RowFormat.JSON, DataTypes.INT())["data"]
    assert [(row["kind"], row["fields"]) for row in data] == [
        ("INSERT", [0]),
        ("UPDATE_BEFORE", [1]),
        ("UPDATE_AFTER", [2]),
        ("DELETE", [3]),
    ]


def test_columns_are_described_also_without_rows() -> None:
    found = results([], RowFormat.JSON, DataTypes.INT())
    assert found == {
        "columns": [{"name": "c0", "logicalType": {"type": "INTEGER", "nullable": True}}],
        "rowFormat": "JSON",
        "data": [],
    }
