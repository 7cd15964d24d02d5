"""Decimals of more digits than Python's operators keep, outside of functions (those: tests/columns)."""

from __future__ import annotations

from decimal import Decimal

from tests.table.local_runs import read


def test_constants_in_a_common_type() -> None:
    found = read("SELECT a FROM (VALUES (1234567890123456789), (0.123456789012345678)) AS t(a)")
    assert found == [(Decimal("1234567890123456789.000000000000000000"),), (Decimal("0.123456789012345678"),)]
