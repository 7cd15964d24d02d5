"""Ranges of the log whose ends are between two records."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import psycopg
import pytest

from firesteel.columns import column_types as t
from firesteel.connectors.cdc.splits import KnownTable, Log
from firesteel.connectors.postgres_cdc.committer import SlotCommitter
from firesteel.connectors.postgres_cdc.log_reader import LogReader
from firesteel.connectors.postgres_cdc.replication import prepare, require_slot
from firesteel.connectors.postgres_cdc.server import connect, lsn_of, table_shape
from firesteel.connectors.postgres_cdc.settings import Address, CdcSettings
from firesteel.connectors.table_connector import Column
from firesteel.functions.connector_base import CommitRequest
from tests.table.captured_tables import Server, server

PAGE, HEADERS = 8192, (24, 40)
_NEXT = "SELECT pg_current_wal_insert_lsn()"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with server() as found:
        found.execute("CREATE TABLE numbers (n int PRIMARY KEY)")
        yield found


def commit_at_a_page(postgres: Server, number: int) -> int:
    """Insert a number so that its commit is the first record of a page of the log; return the LSN of the page."""
    with psycopg.connect(postgres.url, autocommit=True) as connection:
        for _ in range(20):  # the server's own records may come between
            with connection.transaction() as transaction:
                connection.execute("INSERT INTO numbers VALUES (%s)", (number,))
                begin = lsn_of(connection, _NEXT)
                connection.execute("SELECT pg_logical_emit_message(false, 'p', repeat('x', 600))")
                end = lsn_of(connection, _NEXT)
                left = PAGE - end % PAGE
                size = 600 + left - (end - begin)
                if begin // PAGE == end // PAGE and size > 300:
                    connection.execute(f"SELECT pg_logical_emit_message(false, 'p', repeat('x', {size}))")
                    page = lsn_of(connection, _NEXT)
                    if page % PAGE in HEADERS:
                        return page - page % PAGE
                raise psycopg.Rollback(transaction)
    raise AssertionError("no commit came first in a page")


def settings_of(postgres: Server) -> CdcSettings:
    given = postgres.options("numbers")
    address = Address(given["hostname"], int(given["port"]), "tester", "-", "postgres", "public", "numbers")
    return CdcSettings(address=address, slot=given["slot.name"], columns=(Column("n", t.IntType()),))


def test_a_commit_behind_the_end_of_a_range_comes_with_the_next_one(postgres: Server) -> None:
    settings = settings_of(postgres)
    with closing(connect(settings.address)) as connection:
        start = prepare([settings], connection)
        log = Log({"public.numbers": KnownTable(table_shape(connection, settings.address).signature, ["n"])})
    page = commit_at_a_page(postgres, 7)
    postgres.execute("INSERT INTO numbers VALUES (8)")
    end = page + 2 * PAGE
    with closing(LogReader(settings, [settings], log, start)) as reader:
        found = [[change.texts for change in reader.read(stop)] for stop in (page + 8, page + 16, page + 48, end)]
    assert found == [[], [], [["7"]], [["8"]]]
    # A slot that a checkpoint has advanced to such an end still has the commit.
    request = CommitRequest("job", "source", 0, 0, {log.split_id: page + 8})
    SlotCommitter(replace(settings, kept_checkpoints=0)).commit([request])
    with closing(connect(settings.address)) as connection:
        assert require_slot(settings, connection) == page + 8
    with closing(LogReader(settings, [settings], log, page + 8)) as reader:
        assert [change.texts for change in reader.read(end)] == [["7"], ["8"]]
