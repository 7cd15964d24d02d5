from __future__ import annotations

import threading

import pytest

from firesteel.common.types import Row
from firesteel.gateway.gateway_errors import SqlGatewayError
from firesteel.gateway.operation import TRANSITIONS, Operation, OperationStatus
from firesteel.gateway.result_fetcher import ResultFetcher
from firesteel.table.types import DataTypes, RowType

S = OperationStatus
COLUMNS = RowType([DataTypes.FIELD("n", DataTypes.INT())])


def done(_: Operation) -> ResultFetcher:
    return ResultFetcher(COLUMNS, iter([Row(1)]))


class Job:
    """The endless job of a query."""

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def fetcher(self) -> ResultFetcher:
        def rows():  # type: ignore[no-untyped-def]
            self.cancelled.wait()
            yield from ()

        return ResultFetcher(COLUMNS, rows(), self.cancelled.set, is_query=True)


class Statement:
    """A statement that is executed until it is released."""

    def __init__(self) -> None:
        self.started, self.released, self.job = threading.Event(), threading.Event(), Job()
        self.operation = Operation(self._work)
        self.operation.submit()
        self.thread = threading.Thread(target=self.operation.run)
        self.thread.start()
        self.started.wait()

    def _work(self, _: Operation) -> ResultFetcher:
        self.started.set()
        self.released.wait()
        return self.job.fetcher()

    def end(self) -> None:
        self.released.set()
        self.thread.join()


def test_a_statement_goes_from_initialized_to_finished_to_closed() -> None:
    operation = Operation(done)
    seen = [operation.status]
    for step in (operation.submit, operation.run, operation.close, operation.close):
        step()
        seen.append(operation.status)
    assert seen == [S.INITIALIZED, S.PENDING, S.FINISHED, S.CLOSED, S.CLOSED]


def test_results_are_not_ready_before_the_end() -> None:
    operation = Operation(done)
    operation.submit()
    assert operation.fetch() is None
    operation.run()
    fetcher = operation.fetch()
    assert fetcher is not None
    assert fetcher.fetch(0) == [Row(1)]


def test_the_error_of_a_statement_is_the_answer_to_its_fetch() -> None:
    def fails(_: Operation) -> ResultFetcher:
        raise ValueError("no such table")

    operation = Operation(fails)
    operation.submit()
    operation.run()
    assert operation.status is S.ERROR
    with pytest.raises(ValueError, match="no such table"):
        operation.fetch()


@pytest.mark.parametrize(("stop", "status"), [("cancel", S.CANCELED), ("time_out", S.TIMEOUT), ("close", S.CLOSED)])
def test_a_running_statement_that_is_stopped_leaves_no_job(stop: str, status: OperationStatus) -> None:
    statement = Statement()
    assert statement.operation.status is S.RUNNING
    getattr(statement.operation, stop)()
    assert statement.operation.has_stopped
    statement.end()
    assert statement.operation.status is status
    assert statement.job.cancelled.is_set()
    with pytest.raises(SqlGatewayError, match=f"in {status.name} status"):
        statement.operation.fetch()


def test_a_statement_that_was_cancelled_while_it_waited_is_not_executed() -> None:
    def never(_: Operation) -> ResultFetcher:
        raise AssertionError("it was executed")

    operation = Operation(never)
    operation.submit()
    operation.cancel()
    operation.run()
    assert operation.status is S.CANCELED


def test_cancelling_a_query_cancels_its_job_and_afterwards_is_refused() -> None:
    statement = Statement()
    statement.end()
    assert statement.operation.status is S.FINISHED
    statement.operation.cancel()
    assert statement.job.cancelled.is_set()
    with pytest.raises(SqlGatewayError, match="from CANCELED to CANCELED"):
        statement.operation.cancel()


def test_a_statement_that_has_ended_is_neither_cancelled_nor_timed_out() -> None:
    operation = Operation(done)
    operation.submit()
    operation.run()
    operation.time_out()
    with pytest.raises(SqlGatewayError, match="Failed to convert the Operation Status from FINISHED to CANCELED"):
        operation.cancel()
    assert operation.status is S.FINISHED


def test_every_status_can_be_closed_and_closed_is_the_end() -> None:
    assert TRANSITIONS.keys() == set(S)
    assert not TRANSITIONS[S.CLOSED]
    assert all(S.CLOSED in after for status, after in TRANSITIONS.items() if status is not S.CLOSED)
