"""The ElasticsearchSink against a small server with the bulk API."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from firesteel.common import Row, Types
from firesteel.connectors.elasticsearch import writer as elasticsearch_writer
from firesteel.connectors.elasticsearch.writer import ElasticsearchError, ElasticsearchWriter
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import DeliveryGuarantee, WriterInitContext
from firesteel.datastream.connectors.elasticsearch import (
    Elasticsearch6SinkBuilder,
    Elasticsearch7SinkBuilder,
    ElasticsearchEmitter,
    FlushBackoffType,
)
from firesteel.errors import InvalidProgramError
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import Fault, run_local
from tests.elasticsearch.bulk_server import SearchModel, running

pytestmark = pytest.mark.slow

CONTEXT = WriterInitContext("job", "sink", 0, 1, 0, False, None, {}, lambda: 0)
WORDS = ElasticsearchEmitter.static_index("words", key_field="word")


@pytest.fixture
def server() -> Iterator[tuple[SearchModel, str]]:
    with running() as found:
        yield found


def builder(url: str, emitter: ElasticsearchEmitter = WORDS, version: Any = Elasticsearch7SinkBuilder) -> Any:
    return version().set_hosts([url]).set_emitter(emitter)


@pytest.fixture
def writers() -> Iterator[Any]:
    made: list[ElasticsearchWriter] = []

    def make(builder: Any) -> ElasticsearchWriter:
        made.append(builder.build().create_writer(CONTEXT))
        return made[-1]

    yield make
    for writer in made:
        writer.close()


def docs(count: int) -> list[dict[str, Any]]:
    return [{"word": f"w{n}", "n": n} for n in range(count)]


# --- jobs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("is_batch", [False, True])
def test_documents_with_ids_are_written_once_whatever_dies(server: tuple[SearchModel, str], is_batch: bool) -> None:
    cluster, url = server
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    if is_batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    stream = env.from_collection(docs(40), Types.MAP(Types.STRING(), Types.PICKLED_BYTE_ARRAY()))
    stream.rebalance().sink_to(builder(url).build())
    faults = [] if is_batch else [Fault(batch, 1, slot) for batch in (0, 2) for slot in (0, 1)]
    run_local(env, batch_elements=6, faults=faults, replayed=[] if is_batch else [1])
    assert cluster.indices == {"words": {doc["word"]: doc for doc in docs(40)}}


def test_a_refused_document_fails_the_job_and_is_named(server: tuple[SearchModel, str]) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([{"word": "to", "n": "two"}]).sink_to(builder(server[1]).build()).name("index")
    refused = (
        r"operator 'index: Writer': .*1 of 1 documents were rejected: index 'words', id 'to': status 400, "
        r"mapper_parsing_exception: failed to parse field \[n\]"
    )
    with pytest.raises(UserFunctionError, match=refused):
        run_local(env)


# --- emitters --------------------------------------------------------------------------------------------------------


def test_elements_become_documents(server: tuple[SearchModel, str], writers: Any) -> None:
    cluster, url = server
    writer = writers(builder(url, ElasticsearchEmitter.dynamic_index("to")))
    writer.write({"to": "a", "at": datetime.datetime(2024, 1, 31)}, None)
    writer.write(Row(to="b", inner=Row(n=1)), None)
    writer.flush(False)
    assert cluster.indices["a"] == {"auto-0": {"to": "a", "at": "2024-01-31T00:00:00"}}
    assert cluster.indices["b"] == {"auto-0": {"to": "b", "inner": {"n": 1}}}
    assert cluster.requests == [[{"index": {"_index": "a"}}, {"index": {"_index": "b"}}]]


def test_a_document_with_an_existing_id_is_updated(server: tuple[SearchModel, str], writers: Any) -> None:
    cluster, url = server
    cluster.indices["words"]["to"] = {"word": "to", "seen": True}
    writer = writers(builder(url))
    writer.write({"word": "to", "n": 2}, None)
    writer.flush(False)
    assert cluster.indices["words"] == {"to": {"word": "to", "seen": True, "n": 2}}


def test_only_elasticsearch_6_is_sent_types(server: tuple[SearchModel, str], writers: Any) -> None:
    cluster, url = server
    cluster.version = "6.8.23"
    typed = ElasticsearchEmitter.static_index("words", "word", "word_type")
    for version, emitter in (
        (Elasticsearch6SinkBuilder, typed),
        (Elasticsearch6SinkBuilder, WORDS),
        (Elasticsearch7SinkBuilder, typed),
    ):
        writer = writers(builder(url, emitter, version))
        writer.write({"word": "to"}, None)
        writer.flush(False)
    about = {"_index": "words", "_id": "to"}
    expected = [{**about, "_type": "word_type"}, {**about, "_type": "_doc"}, about]
    assert [request[0]["update"] for request in cluster.requests] == expected


def test_elements_other_than_documents_are_rejected() -> None:
    with pytest.raises(TypeError, match="must be dicts or Rows with names, found 'to'"):
        WORDS.action("to")
    with pytest.raises(ValueError, match=r"the document has no field 'word': \{'n': 1\}"):
        WORDS.action({"n": 1})


# --- requests --------------------------------------------------------------------------------------------------------


def test_requests_are_bounded_in_number_and_bytes(server: tuple[SearchModel, str], writers: Any) -> None:
    cluster, url = server
    by_number = writers(builder(url).set_bulk_flush_max_actions(3).set_bulk_flush_interval(100))
    for doc in docs(7):
        by_number.write(doc, None)
    assert list(map(len, cluster.requests)) == [3, 3]
    by_number.flush(False)
    assert list(map(len, cluster.requests)) == [3, 3, 1]
    by_number.flush(True)
    cluster.requests.clear()
    by_bytes = writers(builder(url).set_bulk_flush_max_actions(-1).set_bulk_flush_max_size_mb(1))
    for doc in docs(5):
        by_bytes.write({**doc, "text": "x" * 250_000}, None)
    by_bytes.flush(False)
    assert list(map(len, cluster.requests)) == [2, 2, 1]


def test_only_what_a_busy_cluster_rejected_is_sent_again(
    server: tuple[SearchModel, str], writers: Any, monkeypatch: Any
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(elasticsearch_writer, "time", SimpleNamespace(sleep=waits.append))
    cluster, url = server
    cluster.busy_requests, cluster.busy_items = 1, 2
    exponential = builder(url).set_bulk_flush_backoff_strategy(FlushBackoffType.EXPONENTIAL, 3, 50)
    writer = writers(exponential)
    for doc in docs(4):
        writer.write(doc, None)
    writer.flush(False)
    assert list(map(len, cluster.requests)) == [4, 2]
    assert sorted(cluster.indices["words"]) == ["w0", "w1", "w2", "w3"]
    assert waits == [0.05, 0.06]


def test_a_cluster_that_stays_busy_fails_the_job(
    server: tuple[SearchModel, str], writers: Any, monkeypatch: Any
) -> None:
    monkeypatch.setattr(elasticsearch_writer, "time", SimpleNamespace(sleep=lambda seconds: None))
    cluster, url = server
    cluster.busy_items = 100
    for strategy in ((FlushBackoffType.NONE, 5, 1), (FlushBackoffType.CONSTANT, 2, 1)):
        writer = writers(builder(url).set_bulk_flush_backoff_strategy(*strategy))
        writer.write({"word": "to"}, None)
        with pytest.raises(ElasticsearchError, match=r"1 of 1 documents .*: status 429, es_rejected_execution"):
            writer.flush(False)
    assert len(cluster.requests) == 4


def test_user_password_and_prefix_go_along(server: tuple[SearchModel, str], writers: Any) -> None:
    cluster, url = server
    cluster.user = "me:secret"
    good = builder(url).set_connection_username("me").set_connection_password("secret")
    writer = writers(good.set_connection_path_prefix("/behind/").set_socket_timeout(5000))
    writer.write({"word": "to"}, None)
    writer.flush(False)
    assert cluster.paths == {"/behind/_bulk"}
    assert "secret" not in repr(good.build().settings)
    bad = writers(builder(url).set_connection_password("wrong").set_connection_username("me"))
    bad.write({"word": "to"}, None)
    with pytest.raises(ElasticsearchError, match="could not write 1 documents: AuthenticationException"):
        bad.flush(False)


def test_an_unreachable_cluster_is_reported_by_name(writers: Any) -> None:
    writer = writers(builder("http://127.0.0.1:9").set_connection_timeout(100).set_connection_request_timeout(100))
    writer.write({"word": "to"}, None)
    with pytest.raises(ElasticsearchError, match=r"Elasticsearch at http://127.0.0.1:9: could not write 1 documents"):
        writer.flush(False)


# --- builders --------------------------------------------------------------------------------------------------------


def test_builders_reject_invalid_values(monkeypatch: Any) -> None:
    made = Elasticsearch7SinkBuilder()
    with pytest.raises(InvalidProgramError, match=r"call set_emitter\(\)"):
        made.build()
    made.set_emitter(WORDS).set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
    with pytest.raises(InvalidProgramError, match=r"call set_hosts\(\)"):
        made.build()
    for call, text in (
        (lambda: made.set_hosts([]), "hosts must not be empty"),
        (lambda: made.set_hosts("ftp://h"), "a host must be host:port or https://host:port, found 'ftp://h'"),
        (lambda: made.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE), "AT_LEAST_ONCE and a key_field"),
        (lambda: made.set_bulk_flush_max_actions(0), r"num_max_actions must be -1 \(no limit\) or 1 or greater"),
        (
            lambda: made.set_bulk_flush_backoff_strategy(FlushBackoffType.CONSTANT, 0, 1),
            "max_retries must be 1 or greater, found 0",
        ),
    ):
        with pytest.raises(ValueError, match=text):
            call()
    with pytest.raises(TypeError, match="must be an ElasticsearchEmitter, found None"):
        made.set_emitter(None)  # type: ignore[arg-type]
    with pytest.raises(NotImplementedError, match=r"set_hosts\(\) takes addresses as text"):
        made.get_http_host_class()
    monkeypatch.setitem(sys.modules, "elasticsearch7", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'firesteel\[elasticsearch\]'"):
        made.set_hosts("h:9200").build().create_writer(CONTEXT)
