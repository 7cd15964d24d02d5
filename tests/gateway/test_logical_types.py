from __future__ import annotations

from typing import Any

import pytest

from firesteel.columns.interval_types import DayTimeIntervalType, YearMonthIntervalType
from firesteel.gateway.logical_types import logical_type
from firesteel.table.types import DataTypes

RESOLUTION = DayTimeIntervalType.DayTimeResolution
YEAR_TO_MONTH = YearMonthIntervalType(YearMonthIntervalType.YearMonthResolution.YEAR_TO_MONTH)
INT = {"type": "INTEGER", "nullable": True}


@pytest.mark.parametrize(
    ("data_type", "expected"),
    [
        (DataTypes.NULL(), {"type": "NULL"}),
        (DataTypes.BOOLEAN(), {"type": "BOOLEAN"}),
        (DataTypes.TINYINT(), {"type": "TINYINT"}),
        (DataTypes.SMALLINT(), {"type": "SMALLINT"}),
        (DataTypes.INT(), {"type": "INTEGER"}),
        (DataTypes.BIGINT(), {"type": "BIGINT"}),
        (DataTypes.FLOAT(), {"type": "FLOAT"}),
        (DataTypes.DOUBLE(), {"type": "DOUBLE"}),
        (DataTypes.DECIMAL(10, 2), {"type": "DECIMAL", "precision": 10, "scale": 2}),
        (DataTypes.CHAR(5), {"type": "CHAR", "length": 5}),
        (DataTypes.STRING(), {"type": "VARCHAR", "length": 2147483647}),
        (DataTypes.BINARY(2), {"type": "BINARY", "length": 2}),
        (DataTypes.BYTES(), {"type": "VARBINARY", "length": 2147483647}),
        (DataTypes.DATE(), {"type": "DATE"}),
        (DataTypes.TIME(3), {"type": "TIME_WITHOUT_TIME_ZONE", "precision": 3}),
        (DataTypes.TIMESTAMP(3), {"type": "TIMESTAMP_WITHOUT_TIME_ZONE", "precision": 3}),
        (DataTypes.TIMESTAMP_LTZ(9), {"type": "TIMESTAMP_WITH_LOCAL_TIME_ZONE", "precision": 9}),
        (YEAR_TO_MONTH, {"type": "INTERVAL_YEAR_MONTH", "precision": 2, "resolution": "YEAR_TO_MONTH"}),
        (
            DayTimeIntervalType(RESOLUTION.DAY_TO_SECOND, 3, 0),
            {"type": "INTERVAL_DAY_TIME", "precision": 3, "fractionalPrecision": 0, "resolution": "DAY_TO_SECOND"},
        ),
        (DataTypes.ARRAY(DataTypes.INT()), {"type": "ARRAY", "elementType": INT}),
        (DataTypes.MULTISET(DataTypes.INT()), {"type": "MULTISET", "elementType": INT}),
        (DataTypes.MAP(DataTypes.INT(), DataTypes.INT()), {"type": "MAP", "keyType": INT, "valueType": INT}),
        (
            DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("b", DataTypes.INT(), "second")]),
            {
                "type": "ROW",
                "fields": [
                    {"name": "a", "fieldType": INT},
                    {"name": "b", "fieldType": INT, "description": "second"},
                ],
            },
        ),
    ],
    ids=str,
)
def test_types_have_flinks_roots_and_parameters(data_type: Any, expected: dict[str, Any]) -> None:
    assert logical_type(data_type) == {"nullable": True, **expected}


def test_nested_not_null_types_are_printed() -> None:
    assert logical_type(DataTypes.INT(nullable=False))["nullable"] is False
    assert logical_type(DataTypes.ARRAY(DataTypes.INT(nullable=False)))["elementType"]["nullable"] is False
