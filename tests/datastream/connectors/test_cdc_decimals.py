"""Decimals of records of changes keep all of their digits, which Python's operators would round to 28."""

from __future__ import annotations

import base64
from decimal import Decimal

import pyarrow as pa
import pytest

from firesteel.connectors.cdc.record_values import DECIMALS
from firesteel.connectors.postgres_cdc.records import record_columns
from firesteel.connectors.postgres_cdc.server import ColumnShape, TableShape
from firesteel.connectors.postgres_cdc.settings import Address

ADDRESS = Address("host", 5432, "user", "password", "database", "public", "orders")


def whole(value: object) -> int:
    assert isinstance(value, str)
    return int.from_bytes(base64.b64decode(value), "big", signed=True)


def test_decimals_with_a_scale() -> None:
    numbers = pa.array([Decimal("-1234567890123456789012345678.1234567891"), None], pa.decimal128(38, 10))
    found, missing = DECIMALS["precise"](numbers)
    assert whole(found) == -12345678901234567890123456781234567891
    assert missing is None


@pytest.mark.parametrize("digits", [38, 2000])
def test_decimals_without_a_scale(digits: int) -> None:
    shape = ColumnShape("amount", 1700, -1, "numeric", False, True, None)
    (column,) = record_columns(ADDRESS, TableShape({"amount": shape}, []), "precise")
    (found,) = column.encode(pa.array([f"-{'7' * digits}.25"]))
    assert isinstance(found, dict)
    assert found["scale"] == 2
    assert whole(found["value"]) == -int("7" * digits + "25")
