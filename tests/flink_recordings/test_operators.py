"""The large recordings have all operators of Flink's documentation, over inserts and changes, in several time zones."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from tests.flink_recordings.large.operators import NOT_RECORDED, OF_ONE_KIND, OPERATORS
from tests.flink_recordings.large.queries import Query, queries
from tests.flink_recordings.recordings import recorded_large_results

QUERIES = list(queries())
LEAST, LEAST_ZONES = 200, 2


def is_over_changes(query: Query) -> bool:
    return "_of_changes" in query.name


def is_run(query: Query) -> bool:
    return any("error" not in recorded_large_results()[query.key(*case)] for case in query.cases)


def zones(recorded: Iterable[Query]) -> set[str]:
    return {zone for query in recorded for _, zone in query.cases}


def test_there_are_more_queries_than_needed() -> None:
    assert recorded_large_results().keys() == {query.key(*case) for query in QUERIES for case in query.cases}
    assert sum(map(is_run, QUERIES)) >= LEAST


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_is_recorded_over_inserts_and_over_changes(operator: str) -> None:
    found = [query for query in QUERIES if OPERATORS[operator] in query.sql]
    assert len(zones(query for query in found if not is_over_changes(query) and is_run(query))) >= LEAST_ZONES
    over_changes = [query for query in found if is_over_changes(query)]
    results = [recorded_large_results()[query.key(*case)] for query in over_changes for case in query.cases]
    assert len(zones(over_changes)) >= LEAST_ZONES
    assert all("error" not in result or "update and delete changes" in result["error"] for result in results)


@pytest.mark.parametrize("operator", OF_ONE_KIND)
def test_an_operator_of_one_kind_is_recorded(operator: str) -> None:
    name, reason = OF_ONE_KIND[operator]
    assert reason
    assert any(is_run(query) for query in QUERIES if query.name == name)


def test_an_operator_is_in_one_table() -> None:
    assert len(OPERATORS | OF_ONE_KIND | NOT_RECORDED) == len(OPERATORS) + len(OF_ONE_KIND) + len(NOT_RECORDED)
