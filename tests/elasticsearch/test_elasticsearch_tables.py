"""Tables of Elasticsearch and OpenSearch against a small server with the bulk API."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from firesteel.connectors.elasticsearch import writer as elasticsearch_writer
from firesteel.connectors.elasticsearch.table import OPTIONS, tls_of
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.table.errors import ValidationException
from tests.elasticsearch.bulk_server import SearchModel, running
from tests.table.local_runs import create, environments, explained, insert, written

IDENTIFIERS = tuple(OPTIONS)


@pytest.fixture
def server() -> Iterator[tuple[SearchModel, str]]:
    with running() as found:
        yield found


def table(url: str, columns: str, identifier: str = "elasticsearch-7", **options: str) -> str:
    """The statement that creates the table `t`."""
    given = {"connector": identifier, "hosts": url, "index": "words"}
    given |= {"document-type": "word"} if identifier == "elasticsearch-6" else {}
    return create("t", columns, given | options)


CHANGES = """SELECT word, SUM(n) FROM (VALUES ('to', 1), ('be', 2), ('to', 3), ('be', -2)) AS v (word, n)
GROUP BY word HAVING SUM(n) > 0"""


@pytest.mark.parametrize("identifier", IDENTIFIERS)
def test_changes_update_and_delete_documents_by_the_key(server: tuple[SearchModel, str], identifier: str) -> None:
    model, url = server
    model.version = "8.1.0" if identifier == "elasticsearch-8" else model.version
    pytest.importorskip("opensearchpy" if identifier == "opensearch" else "elasticsearch7")
    written(table(url, "word STRING, n INT, PRIMARY KEY (word) NOT ENFORCED", identifier), CHANGES)
    assert model.indices == {"words": {"to": {"word": "to", "n": 4}}}
    types = {next(iter(action.values())).get("_type") for request in model.requests for action in request}
    assert types == {"word" if identifier == "elasticsearch-6" else None}


def test_rows_without_a_key_are_added(server: tuple[SearchModel, str]) -> None:
    model, url = server
    written(table(url, "word STRING, n INT"), "SELECT * FROM (VALUES ('to', 1), ('to', 1)) AS v (word, n)")
    assert list(model.indices["words"].values()) == [{"word": "to", "n": 1}] * 2
    assert {next(iter(action)) for request in model.requests for action in request} == {"index"}
    with pytest.raises(Exception, match="doesn't support consuming update"):
        explained(table(url, "word STRING, n INT"), CHANGES)


def test_keys_of_several_columns_are_joined_as_in_flink(server: tuple[SearchModel, str]) -> None:
    model, url = server
    columns = "a BOOLEAN, b DATE, c TIMESTAMP(3), d DECIMAL(5, 2), e TIME, f DOUBLE"
    row = "TRUE, DATE '2024-02-29', TIMESTAMP '2024-02-29 12:30:00', CAST(1.5 AS DECIMAL(5, 2)), TIME '07:05:00', 1e0"
    key = "PRIMARY KEY (a, b, c, d, e, f) NOT ENFORCED"
    written(table(url, f"{columns}, {key}", **{"document-id.key-delimiter": "$"}), f"SELECT {row}")
    assert list(model.indices["words"]) == ["true$2024-02-29$2024-02-29T12:30$1.50$07:05$1.0"]


@pytest.mark.parametrize(
    ("index", "found"),
    [
        ("logs-{day|yyyy.MM.dd}", "logs-2024.02.29"),
        ("{day|}-logs", "2024_02_29-logs"),
        ("logs-{at|yyyy-MM-dd HH}", "logs-2024-02-29 12"),
        ("logs-{it|HH}", "logs-13"),
        ("logs-{n}", "logs-7"),
        ("logs-{word}", "logs-null"),
        ("logs-{clock|HH:mm}", "logs-07:05"),
    ],
)
def test_an_index_may_depend_on_a_column(server: tuple[SearchModel, str], index: str, found: str) -> None:
    model, url = server
    env, t_env = environments()
    t_env.get_config().set("table.local-time-zone", "Europe/Berlin")
    columns = "`day` DATE, `at` TIMESTAMP(3), it TIMESTAMP_LTZ(3), n INT, word STRING, clock TIME"
    t_env.execute_sql(table(url, columns, index=index))
    row = "DATE '2024-02-29', TIMESTAMP '2024-02-29 12:30:00', TO_TIMESTAMP_LTZ(1709209800, 0), 7, "
    insert(env, t_env, f"INSERT INTO t SELECT {row} CAST(NULL AS STRING), TIME '07:05:00'")
    assert list(model.indices) == [found]


def test_an_index_may_depend_on_the_time_of_the_writer(server: tuple[SearchModel, str]) -> None:
    model, url = server
    written(table(url, "word STRING, n INT", index="logs-{now()|yyyy}"), "SELECT 'to', 1")
    assert re.fullmatch(r"logs-20\d\d", next(iter(model.indices)))
    keyed = table(url, "word STRING, n INT, PRIMARY KEY (word) NOT ENFORCED", index="logs-{now()|yyyy}")
    with pytest.raises(ValidationException, match="only works on append only stream"):
        explained(keyed, CHANGES)


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ("{a}-{b}", "at most one place in braces"),
        ("", "at most one place in braces"),
        ("logs-{no}", "Unknown field 'no' in index pattern 'logs-{no}'"),
        ("logs-{n|yyyy}", "has a pattern of times, but is no time"),
        ("logs-{at}", "is a time and needs a pattern"),
        ("logs-{f}", "depends on a column of type DOUBLE"),
        ("logs-{at|bbbb}", "unsupported pattern"),
        ("logs-{now()|}", "needs a pattern"),
    ],
)
def test_indices_that_cannot_be_named_are_refused(index: str, message: str) -> None:
    with pytest.raises(ValidationException, match=re.escape(message)):
        explained(
            table("http://localhost:1", "n INT, `at` TIMESTAMP(3), f DOUBLE", index=index),
            "SELECT 1, LOCALTIMESTAMP, 1e0",
        )


def test_options_reach_the_writer(server: tuple[SearchModel, str], monkeypatch: pytest.MonkeyPatch) -> None:
    model, url = server
    monkeypatch.setattr(elasticsearch_writer.time, "sleep", lambda _: None)
    model.user = "me:secret"
    model.busy_requests = 2
    options = {
        "username": "me", "password": "secret", "connection.path-prefix": "/v1/", "sink.bulk-flush.max-actions": "2",
        "sink.bulk-flush.backoff.strategy": "CONSTANT", "sink.bulk-flush.backoff.max-retries": "2",
        "sink.bulk-flush.backoff.delay": "5 ms", "socket.timeout": "5 s", "sink.delivery-guarantee": "at-least-once",
        "sink.bulk-flush.interval": "1s", "connection.timeout": "1s", "format": "json",
        "json.map-null-key.mode": "DROP", "sink.parallelism": "1",
    }  # fmt: skip
    rows = ", ".join(f"('w{n}', {n})" for n in range(5))
    written(table(url, "word STRING, n INT", **options), f"SELECT * FROM (VALUES {rows}) AS v (word, n)")
    assert [len(request) for request in model.requests] == [2, 2, 1]
    assert model.paths == {"/v1/_bulk"}


def test_sizes_of_requests_are_limited(server: tuple[SearchModel, str]) -> None:
    model, url = server
    rows = ", ".join(f"('{'x' * 600_000}{n}', {n})" for n in range(3))
    options = {"sink.bulk-flush.max-size": "1mb", "sink.bulk-flush.max-actions": "0"}
    written(table(url, "word STRING, n INT", **options), f"SELECT * FROM (VALUES {rows}) AS v (word, n)")
    assert [len(request) for request in model.requests] == [1, 1, 1]


def test_rejected_documents_fail_the_job(server: tuple[SearchModel, str]) -> None:
    _, url = server
    with pytest.raises(UserFunctionError, match=r"index 'words'.*status 400, mapper_parsing_exception"):
        written(table(url, "n STRING"), "SELECT 'no number'")


BAD: list[tuple[str, dict[str, str], str]] = [
    ("elasticsearch-7", {"hosts": "ftp://a"}, "expected addresses such as http://localhost:9200"),
    ("elasticsearch-7", {"username": "a"}, "'username' and 'password' must be set at the same time"),
    ("elasticsearch-7", {"sink.delivery-guarantee": "exactly-once"}, "expected one of none, at-least-once"),
    ("elasticsearch-7", {"sink.bulk-flush.max-actions": "-2"}, "expected 0 for no limit, or more"),
    ("elasticsearch-7", {"sink.bulk-flush.max-size": "huge"}, "expected a size such as '2mb'"),
    ("elasticsearch-7", {"sink.bulk-flush.backoff.strategy": "RANDOM"}, "expected one of disabled, none, constant"),
    ("elasticsearch-7", {"document-type": "a"}, "Unsupported options:\n\ndocument-type"),
    (
        "elasticsearch-8",
        {"sink.bulk-flush.backoff.delay": "1s"},
        "Unsupported options:\n\nsink.bulk-flush.backoff.delay",
    ),
    ("opensearch", {"connection.skip-verify-ssl": "true"}, "Unsupported options:\n\nconnection.skip-verify-ssl"),
]


@pytest.mark.parametrize(("identifier", "options", "message"), BAD)
def test_bad_options_are_refused(identifier: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationException, match=re.escape(message)):
        explained(table("http://localhost:1", "word STRING, n INT", identifier, **options), "SELECT 'to', 1")


def test_keys_without_a_text_and_reading_are_refused() -> None:
    with pytest.raises(ValidationException, match="primary key on columns of illegal types: 'k' is BYTES NOT NULL"):
        explained(table("http://a", "k BYTES, n INT, PRIMARY KEY (k) NOT ENFORCED"), "SELECT x'00', 1")
    _, t_env = environments()
    t_env.execute_sql(table("http://a", "n INT"))
    with pytest.raises(ValidationException, match="'elasticsearch-7' can only be used as a sink"):
        t_env.explain_sql("SELECT * FROM t")


def test_certificates_are_checked_as_options_say() -> None:
    given = {
        "elasticsearch-7": {"connection.skip-verify-ssl": "true"},
        "elasticsearch-8": {"ssl.certificate-fingerprint": "AB:CD"},
        "opensearch": {"allow-insecure": "true"},
    }
    found = [tls_of(OPTIONS[name].read({"hosts": "a", "index": "b", **more}, name)) for name, more in given.items()]
    unchecked = {"verify_certs": False, "ssl_show_warn": False}
    assert found == [unchecked, {"ssl_assert_fingerprint": "abcd"}, unchecked]
