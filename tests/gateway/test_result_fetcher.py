from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator

import pytest

from firesteel.common.types import Row
from firesteel.gateway import result_fetcher
from firesteel.gateway.gateway_errors import SqlGatewayError
from firesteel.gateway.result_fetcher import ResultFetcher
from firesteel.table.types import DataTypes, RowType

COLUMNS = RowType([DataTypes.FIELD("n", DataTypes.INT())])
END = None
WAIT_S = 10


class Query:
    """A query whose rows are given one by one; it ends with END or with an error."""

    def __init__(self) -> None:
        self.given: queue.Queue[int | Exception | None] = queue.Queue()
        self.taken = 0
        self.closed = 0
        self.fetcher = ResultFetcher(COLUMNS, self._rows(), self._close, is_query=True)

    def _rows(self) -> Iterator[Row]:
        while (value := self.given.get()) is not END:
            if isinstance(value, Exception):
                raise value
            self.taken += 1
            yield Row(value)

    def _close(self) -> None:
        self.closed += 1
        self.given.put(RuntimeError("the job was cancelled"))

    def give(self, *values: int | Exception | None) -> None:
        for value in values:
            self.given.put(value)

    def fetch_rows(self, token: int) -> tuple[list[int] | None, int]:
        """Fetch until there are rows or the end; return them and the next token."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            rows = self.fetcher.fetch(token)
            if rows is None:
                return None, token
            token += 1
            if rows:
                return [row[0] for row in rows], token
            time.sleep(0.01)
        raise AssertionError("no rows arrived")


@pytest.fixture
def query() -> Iterator[Query]:
    made = Query()
    yield made
    made.fetcher.close()


def test_rows_arrive_while_the_query_runs(query: Query) -> None:
    assert query.fetcher.fetch(0) == []
    query.give(1)
    first, token = query.fetch_rows(1)
    assert first == [1]
    query.give(2, END)
    assert query.fetch_rows(token)[0] == [2]


def test_after_the_last_row_every_fetch_returns_the_end(query: Query) -> None:
    query.give(END)
    rows, token = query.fetch_rows(0)
    assert rows is None
    assert query.fetcher.fetch(token) is None


def test_the_last_token_returns_the_same_rows_again_and_others_are_refused() -> None:
    fetcher = ResultFetcher(COLUMNS, iter([Row(1), Row(2)]))
    with pytest.raises(SqlGatewayError, match="Expecting token to be 0, but found 3"):
        fetcher.fetch(3)
    rows = fetcher.fetch(0)
    assert rows == [Row(1), Row(2)]
    assert fetcher.fetch(0) == rows
    assert fetcher.fetch(1) is None
    with pytest.raises(SqlGatewayError, match="Expecting token to be 0 or 1, but found 2"):
        fetcher.fetch(2)


def test_an_error_comes_after_the_rows_before_it(query: Query) -> None:
    query.give(1, ValueError("the job failed"))
    rows, token = query.fetch_rows(0)
    assert rows == [1]
    with pytest.raises(ValueError, match="the job failed"):
        query.fetch_rows(token)


def test_a_query_waits_for_a_client_that_does_not_fetch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_fetcher, "_MAX_BUFFERED", 2)
    query = Query()
    query.give(1, 2, 3, 4, 5, END)
    deadline = time.monotonic() + WAIT_S
    while query.taken < 3:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(0.05)
    assert query.taken == 3  # two in the buffer, and the one that waits
    found, token = query.fetch_rows(0)
    while (more := query.fetch_rows(token))[0] is not None:
        found, token = [*(found or []), *more[0]], more[1]
    assert found == [1, 2, 3, 4, 5]


def test_close_cancels_the_job_once_and_its_error_is_not_reported(query: Query) -> None:
    query.fetcher.close()
    query.fetcher.close()
    assert query.closed == 1
    assert query.fetch_rows(0)[0] is None


def test_closing_ends_a_thread_that_waits_for_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_fetcher, "_MAX_BUFFERED", 1)
    query = Query()
    query.give(1, 2, 3)
    query.fetcher.close()
    deadline = time.monotonic() + WAIT_S
    while query.fetcher.is_running:
        assert time.monotonic() < deadline, threading.enumerate()
        time.sleep(0.01)


def test_a_query_that_has_ended_has_no_job_to_cancel(query: Query) -> None:
    query.give(END)
    query.fetch_rows(0)
    query.fetcher.close()
    assert query.closed == 0
