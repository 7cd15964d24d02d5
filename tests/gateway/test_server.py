"""The REST API of the gateway, with statements that need no cluster."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.common.time import Instant
from firesteel.common.types import Row, RowKind
from firesteel.gateway import access
from firesteel.gateway.handlers import ROUTES
from firesteel.gateway.server import rest_options, session_defaults
from firesteel.gateway.session_context import SessionContext
from firesteel.table.syntax import statements as s
from firesteel.table.table_result import TableResult
from firesteel.table.types import DataTypes, RowType
from tests.gateway.gateway_client import Client, serving

TABLE = "CREATE TABLE t (n INT, word STRING) WITH ('connector' = 'datagen')"
TOKEN = "0123456789abcdef"
COLUMNS = RowType([DataTypes.FIELD("n", DataTypes.INT())])


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    async with serving() as made:
        yield made


class Job:
    """The job of queries and inserts, which ends when it is told to."""

    def __init__(self) -> None:
        self.ended, self.cancelled = threading.Event(), threading.Event()

    def get_job_id(self) -> str:
        return "ab" * 16

    def rows(self) -> Iterator[Row]:
        yield Row(1)
        self.ended.wait()
        yield Row.of_kind(RowKind.DELETE, 1)

    def cancel(self) -> Job:
        self.cancelled.set()
        self.ended.set()
        return self

    close = cancel

    def __iter__(self) -> Iterator[Row]:
        return self.rows()

    def get_job_execution_result(self) -> Job:
        return self

    def result(self, timeout_s: float | None = None) -> None:
        if not self.ended.wait(timeout_s):
            raise TimeoutError


@pytest.fixture
def job(monkeypatch: pytest.MonkeyPatch) -> Iterator[Job]:
    """Lets queries and inserts run without a cluster."""
    job, execute = Job(), SessionContext.execute

    def executed(self: SessionContext, statement: Any) -> TableResult:
        if isinstance(statement, (s.Query, s.Insert, s.StatementSetBlock)):
            return TableResult(COLUMNS, job, job, is_query=isinstance(statement, s.Query))  # type: ignore[arg-type]
        return execute(self, statement)

    monkeypatch.setattr(SessionContext, "execute", executed)
    yield job
    job.ended.set()


# --- versions --------------------------------------------------------------------------------------------------------


async def test_all_api_versions_have_the_same_endpoints(client: Client) -> None:
    for version in ("", "/v1", "/v2", "/v3", "/v4"):
        client.version = version
        assert (await client.ask("GET", "/api_versions"))["versions"] == ["V1", "V2", "V3", "V4"]
        assert (await client.ask("GET", "/info"))["productName"] == "firesteel"


@pytest.mark.parametrize(("version", "link"), [("/v1", "/v1{}"), ("/v3", "/v3{}?rowFormat=JSON")])
async def test_links_have_the_version_of_the_request(client: Client, version: str, link: str) -> None:
    client.version = version
    operation = await client.submit(await client.open(), "SHOW CATALOGS")
    _, body = await client.first(operation)
    assert body["nextResultUri"] == link.format(f"{operation}/result/1")


# --- sessions --------------------------------------------------------------------------------------------------------


async def test_sessions_have_options_and_tables_of_their_own(client: Client) -> None:
    one, other = await client.open(**{"pipeline.name": "one"}), await client.open()
    await client.rows(one, TABLE)
    assert await client.rows(one, "SHOW TABLES") == [["t"]]
    assert await client.rows(other, "SHOW TABLES") == []
    assert (await client.ask("GET", one))["properties"]["pipeline.name"] == "one"
    assert "pipeline.name" not in (await client.ask("GET", other))["properties"]


async def test_options_are_set_and_reset(client: Client) -> None:
    session = await client.open(**{"pipeline.name": "first"})
    assert await client.rows(session, "SET 'pipeline.name' = 'second'") == [["OK"]]
    assert await client.rows(session, "SET 'pipeline.name'") == [["pipeline.name", "second"]]
    await client.rows(session, "RESET 'pipeline.name'")
    assert (await client.ask("GET", session))["properties"]["pipeline.name"] == "first"
    assert "allowed: streaming, batch" in await client.error(session, "SET 'execution.runtime-mode' = 'never'")


async def test_options_of_a_statement_are_set_for_it_only(client: Client) -> None:
    session = await client.open()
    shown = await client.rows(session, "SET 'a'", executionConfig={"a": "b"})
    assert shown == [["a", "b"]]
    assert await client.rows(session, "SET 'a'") == []


async def test_options_of_processes_and_secrets_stay_outside_of_sessions() -> None:
    async with serving(**{"my.password": "hidden", "rest.address": "flink:8081"}) as client:
        session = await client.open(**{"rest.address": "localhost", "jobmanager.rpc.address": "localhost", "a": "b"})
        properties = (await client.ask("GET", session))["properties"]
        assert properties["rest.address"] == "flink:8081"
        assert properties["execution.target"] == "remote"
        assert properties["a"] == "b"
        assert "jobmanager.rpc.address" not in properties
        assert properties["my.password"] == "******"
        assert ["my.password", "******"] in await client.rows(session, "SET")
        elsewhere = {"rest.address": "elsewhere:1", "security.ssl.rest.truststore": "/tmp/mine.pem"}
        for key, value in elsewhere.items():
            assert "a session cannot change it" in await client.error(session, f"SET '{key}' = '{value}'")
            status, body = await client.call(
                "POST", f"{session}/configure-session", json={"statement": f"SET '{key}' = '{value}'"}
            )
            assert (status, "a session cannot change it" in str(body)) == (500, True)
        shown = await client.rows(session, "SET 'rest.address'", executionConfig=elsewhere)
        assert shown == [["rest.address", "flink:8081"]]
        await client.rows(session, "SET 'rest.address' = 'flink:8081'")
        await client.rows(session, "RESET")


async def test_a_session_is_configured_by_statements_that_start_no_job(client: Client) -> None:
    session = await client.open()
    model = "CREATE MODEL m WITH ('provider' = 'x')"
    for statement in (TABLE, "SET 'a' = 'b'", "CREATE VIEW v AS SELECT n FROM t", model, "DROP MODEL m"):
        assert await client.ask("POST", f"{session}/configure-session", json={"statement": statement}) == {}
    assert await client.rows(session, "SHOW TABLES") == [["t"], ["v"]]
    for statement in ("SELECT n FROM t", "CREATE TABLE c WITH ('connector' = 'print') AS SELECT n FROM t"):
        status, body = await client.call("POST", f"{session}/configure-session", json={"statement": statement})
        assert status == 500
        assert body["errors"][0].startswith("Unsupported statement for configuring session")


async def test_statements_are_completed(client: Client) -> None:
    session = await client.open()
    await client.rows(session, TABLE)
    body = {"statement": "SELECT wo FROM t", "position": 9}
    found = await client.ask("GET", f"{session}/complete-statement", json=body)
    assert found["candidates"][0] == "word"


async def test_a_closed_session_does_not_exist(client: Client) -> None:
    session = await client.open()
    assert await client.ask("POST", f"{session}/heartbeat", json={}) == {}
    assert await client.ask("DELETE", session) == {"status": "CLOSED"}
    status, body = await client.call("GET", session)
    assert (status, body["errors"]) == (500, [f"Session '{session.split('/')[-1]}' does not exist."])


async def test_a_session_without_requests_is_closed_and_its_query_cancelled(job: Job) -> None:
    options = {"sql-gateway.session.idle-timeout": "300 ms", "sql-gateway.session.check-interval": "50 ms"}
    async with serving(**options) as client:
        idle, busy = await client.open(), await client.open()
        await client.first(await client.submit(idle, "SELECT 1"))
        for _ in range(12):
            await asyncio.sleep(0.05)
            await client.ask("POST", f"{busy}/heartbeat", json={})
        assert (await client.call("GET", idle))[0] == 500
        assert (await client.call("GET", busy))[0] == 200
        assert job.cancelled.is_set()


async def test_the_number_of_sessions_is_limited() -> None:
    async with serving(**{"sql-gateway.session.max-num": "1"}) as client:
        session = await client.open()
        status, body = await client.call("POST", "/sessions", json={})
        assert (status, "max count: 1" in body["errors"][0]) == (500, True)
        await client.ask("DELETE", session)
        await client.open()


# --- statements ------------------------------------------------------------------------------------------------------


async def test_a_query_returns_rows_with_their_kinds_until_its_end(client: Client, job: Job) -> None:
    session = await client.open()
    operation = await client.submit(session, "SELECT 1")
    _, body = await client.first(operation)
    assert (body["isQueryResult"], body["resultKind"], body["jobID"]) == (True, "SUCCESS_WITH_CONTENT", "ab" * 16)
    assert body["results"]["columns"] == [{"name": "n", "logicalType": {"type": "INTEGER", "nullable": True}}]
    assert (await client.ask("GET", f"{operation}/status"))["status"] == "FINISHED"
    job.ended.set()
    found = body["results"]["data"]
    while body["resultType"] != "EOS":
        body = await client.ask("GET", body["nextResultUri"].removeprefix(client.version))
        found += body["results"]["data"]
    assert found == [{"kind": "INSERT", "fields": [1]}, {"kind": "DELETE", "fields": [1]}]
    assert "nextResultUri" not in body


@pytest.mark.parametrize(("method", "path", "status"), [("POST", "cancel", "CANCELED"), ("DELETE", "close", "CLOSED")])
async def test_cancelling_or_closing_a_query_cancels_its_job(
    client: Client, job: Job, method: str, path: str, status: str
) -> None:
    operation = await client.submit(await client.open(), "SELECT 1")
    await client.first(operation)
    assert await client.ask(method, f"{operation}/{path}", json={}) == {"status": status}
    assert job.cancelled.is_set()
    code, body = await client.call("GET", f"{operation}/result/0")
    assert code == 500
    assert "Can not f" in body["errors"][0]


async def test_an_insert_gives_the_id_of_its_job_and_does_not_wait(client: Client, job: Job) -> None:
    session = await client.open()
    await client.rows(session, TABLE)
    _, body = await client.first(await client.submit(session, "INSERT INTO t VALUES (1, 'a')"))
    assert body["results"]["columns"][0]["name"] == "job id"
    assert body["results"]["data"] == [{"kind": "INSERT", "fields": ["ab" * 16]}]
    assert (body["jobID"], body["isQueryResult"]) == ("ab" * 16, False)
    await client.ask("DELETE", session)
    assert not job.cancelled.is_set()


async def test_an_awaited_insert_is_ready_after_the_end_of_its_job(client: Client, job: Job) -> None:
    session = await client.open(**{"table.dml-sync": "true"})
    operation = await client.submit(session, "INSERT INTO t VALUES (1, 'a')")
    await asyncio.sleep(0.3)
    body = await client.ask("GET", f"{operation}/result/0?rowFormat=JSON")
    assert body == {"resultType": "NOT_READY", "nextResultUri": f"/v3{operation}/result/0?rowFormat=JSON"}
    assert (await client.ask("GET", f"{operation}/status"))["status"] == "RUNNING"
    later = await client.submit(session, "SHOW TABLES")
    assert (await client.ask("GET", f"{later}/status"))["status"] == "PENDING"
    job.ended.set()
    assert (await client.first(operation))[1]["jobID"] == "ab" * 16
    assert (await client.first(later))[0] == 200


async def test_statements_are_executed_in_the_order_of_their_requests(client: Client) -> None:
    session = await client.open()
    statements = [f"SET 'a' = '{i}'" for i in range(30)]
    for statement in statements:
        await client.submit(session, statement)
    assert await client.rows(session, "SET 'a'") == [["a", "29"]]


async def test_operations_are_cancelled_while_all_workers_are_busy(job: Job) -> None:
    async with serving(**{"sql-gateway.worker.threads.max": "1"}) as client:
        session = await client.open(**{"table.dml-sync": "true"})
        busy = await client.submit(session, "INSERT INTO t VALUES (1, 'a')")
        other = await client.open()
        waiting = await client.submit(other, "SHOW TABLES")
        assert await client.ask("POST", f"{busy}/cancel", json={}) == {"status": "CANCELED"}
        assert (await client.first(waiting))[0] == 200
    assert job.cancelled.is_set()


async def test_a_statement_that_takes_longer_than_its_timeout_is_stopped(client: Client, job: Job) -> None:
    session = await client.open(**{"table.dml-sync": "true"})
    operation = await client.submit(session, "INSERT INTO t VALUES (1, 'a')", executionTimeout=200)
    assert await asyncio.to_thread(job.cancelled.wait, 10)
    assert (await client.ask("GET", f"{operation}/status"))["status"] == "TIMEOUT"
    status, body = await client.call("GET", f"{operation}/result/0")
    assert (status, "in TIMEOUT status" in body["errors"][0]) == (500, True)


async def test_a_statement_set_may_come_statement_by_statement(client: Client, job: Job) -> None:
    session = await client.open()
    insert = "INSERT INTO t VALUES (1, 'a');"
    assert await client.rows(session, "BEGIN STATEMENT SET;") == [["OK"]]
    assert "Only INSERT statements" in await client.error(session, "SHOW TABLES")
    assert await client.rows(session, insert) == [["OK"]]
    assert await client.rows(session, "END;") == [["ab" * 16]]
    assert await client.rows(session, "SHOW TABLES") == []


async def test_an_error_has_its_message_only(client: Client) -> None:
    session = await client.open()
    assert "Object 'missing' not found" in await client.error(session, "SELECT 1 FROM missing")
    assert (await client.error(session, "SELEC 1")).startswith("SQL parse failed.")
    operation = await client.submit(session, "SELEC 1")
    await client.first(operation)
    assert (await client.ask("GET", f"{operation}/status"))["status"] == "ERROR"


# --- requests --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "path", "body", "message"),
    [
        ("GET", "/sessions/me", None, "expected a UUID"),
        ("POST", "{}/statements", {}, "statement is missing"),
        ("POST", "{}/statements", {"statement": 5}, "statement is 5, expected a string"),
        ("POST", "{}/statements", {"statement": "SHOW TABLES", "executionTimeout": "1 s"}, "expected an integer"),
        ("POST", "{}/statements", {"statement": "SHOW TABLES", "executionConfig": {"a": []}}, "expected a string"),
        ("GET", "{}/operations/1/status", None, "expected a UUID"),
        ("GET", "{}/operations/00000000-0000-0000-0000-000000000000/result/0?rowFormat=XML", None, "can not find"),
    ],
)
async def test_malformed_requests_are_refused(client: Client, method: str, path: str, body: Any, message: str) -> None:
    status, answer = await client.call(method, path.format(await client.open()), json=body)
    assert status == (500 if message == "can not find" else 400)
    assert message in answer["errors"][0].replace("Can", "can")


async def test_another_user_of_the_machine_needs_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "is_own_peer", lambda _: False)
    async with serving() as client:
        status, body = await client.call("POST", "/sessions", json={})
        assert (status, "only processes of the gateway's own user" in body["errors"][0]) == (401, True)
        await client.ask("GET", "/info")
    async with serving(**{"security.rest.submit-without-token": "true"}) as client:
        await client.open()


async def test_with_tokens_configured_every_client_needs_one() -> None:
    async with serving(**{"security.rest.token.submit": TOKEN}) as client:
        assert (await client.call("POST", "/sessions", json={}))[0] == 401
        client.http.headers["Authorization"] = f"Bearer {TOKEN}"  # as FLINK_REST_CLIENT_HEADERS does
        await client.open()


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Origin": "http://evil.example", "Content-Type": "application/json"},
        {"Content-Type": "text/plain"},
    ],
)
async def test_pages_of_other_sites_cannot_open_sessions(client: Client, headers: dict[str, str]) -> None:
    assert (await client.call("POST", "/sessions", data="{}", headers=headers))[0] == 403


async def test_other_endpoints_than_rest_are_refused() -> None:
    with pytest.raises(InvalidOptionError, match="allowed: rest"):
        async with serving(**{"sql-gateway.endpoint.type": "hiveserver2"}):
            raise AssertionError("it has started")


async def test_a_gateway_that_others_can_reach_needs_tokens() -> None:
    option = "sql-gateway.endpoint.rest.bind-address"
    with pytest.raises(InvalidOptionError, match=option):
        async with serving(**{option: "0.0.0.0"}):
            raise AssertionError("it has started")


def test_statements_are_sent_by_routes_that_run_code() -> None:
    assert [route.path.rsplit("/", 1)[-1] for route in ROUTES if route.runs_code] == [
        "sessions",
        "configure-session",
        "statements",
    ]


def test_flinks_options_of_the_server() -> None:
    prefix = "sql-gateway.endpoint.rest"
    options = {f"{prefix}.address": "gateway", f"{prefix}.bind-address": "10.0.0.1", f"{prefix}.port": "1234"}
    found = rest_options(options | {"rest.port": "8081", "rest.address": "jobmanager", "rest.server.max-x": "1"})
    assert found["rest.address"] == "gateway"
    assert found["rest.bind-address"] == "10.0.0.1"
    assert found["rest.bind-port"] == "1234"
    assert found["rest.server.max-x"] == "1"
    assert rest_options({f"{prefix}.port": "1", f"{prefix}.bind-port": "2-3"})["rest.bind-port"] == "2-3"
    assert rest_options({})["rest.bind-port"] == "8083"


@pytest.mark.parametrize(
    ("options", "address"),
    [
        ({}, "127.0.0.1:8081"),
        ({"rest.address": "flink", "rest.port": "1"}, "flink:1"),
        ({"rest.address": "flink:2", "rest.port": "1"}, "flink:2"),
        ({"rest.address": "https://flink:3"}, "https://flink:3"),
    ],
)
def test_sessions_submit_jobs_to_the_cluster_of_the_gateways_options(options: dict[str, str], address: str) -> None:
    assert session_defaults(options)["rest.address"] == address


async def test_texts_of_moments_are_in_the_sessions_time_zone(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    row_type = RowType([DataTypes.FIELD("at", DataTypes.TIMESTAMP_LTZ(0))])
    result = TableResult(row_type, [Row(Instant(0, 0))])
    monkeypatch.setattr(SessionContext, "execute", lambda self, statement: result)
    session = await client.open(**{"table.local-time-zone": "Asia/Tokyo"})
    assert await client.rows(session, "SHOW TABLES", "PLAIN_TEXT") == [["1970-01-01 09:00:00"]]
    session = await client.open(**{"table.local-time-zone": "default"})
    assert await client.rows(session, "SHOW TABLES", "PLAIN_TEXT") == [["1970-01-01 00:00:00"]]
    assert await client.rows(session, "SHOW TABLES", "JSON") == [["1970-01-01T00:00:00Z"]]
