"""Lookups by HTTP against a service."""

from __future__ import annotations

import json
import pickle
import re
from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from firesteel.connectors import key_lookup
from firesteel.connectors.http import finder
from firesteel.connectors.http.requests import elements_of
from firesteel.connectors.http.status_codes import status_codes
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.table.errors import ValidationException
from tests.table.http_service import Request, Service, running
from tests.table.local_runs import create, environments, read

PREFIXES = {"http": "http.", "rest-lookup": "gid.connector.http."}
ORDERS = "CREATE VIEW o AS SELECT *, PROCTIME() AS p FROM (VALUES ('a', 1), ('b', 2), ('a', 3)) AS x (k, n)"
JOIN = "SELECT n, v FROM o LEFT JOIN t FOR SYSTEM_TIME AS OF o.p AS t ON o.k = t.k"


def echo(request: Request) -> tuple[int, str]:
    """Answer with the key and a value made of it; there is none for `b`."""
    key = (parse_qs(urlsplit(request.path).query).get("k") or [json.loads(request.body or "{}").get("k")])[0]
    return (404, "no such key") if key == "b" else (200, json.dumps({"k": key, "v": f"value of {key}"}))


@pytest.fixture
def service() -> Iterator[tuple[Service, str]]:
    with running(echo) as found:
        yield found


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The times waited before retries, which tests do not wait."""
    found: list[float] = []
    clock = SimpleNamespace(sleep=found.append)  # not the module `time`, by which threads of other tests wait, too
    monkeypatch.setattr(finder, "time", clock)
    monkeypatch.setattr(key_lookup, "time", clock)
    return found


def table(address: str, identifier: str = "http", columns: str = "k STRING, v STRING", **options: str) -> str:
    """The statement that creates the table `t`; options that begin with a dot get the prefix of the connector."""
    given = {"connector": identifier, "url": f"{address}/client", "format": "json"}
    given |= {PREFIXES[identifier] + key[1:] if key[0] == "." else key: value for key, value in options.items()}
    return create("t", columns, given)


IGNORED = {".source.lookup.ignored-response-codes": "404"}


@pytest.mark.parametrize("identifier", PREFIXES)
@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_keys_are_parameters_or_the_body(service: tuple[Service, str], identifier: str, method: str) -> None:
    found, address = service
    options = {"lookup-method": method, "asyncPolling": "true", **IGNORED}
    assert sorted(read(JOIN, table(address, identifier, **options), ORDERS)) == [
        (1, "value of a"),
        (2, None),
        (3, "value of a"),
    ]
    assert Counter((one.method, one.path, one.body) for one in found.requests) == Counter(
        [("GET", f"/client?k={key}", "") for key in "ab"]
        if method == "GET"
        else [(method, "/client", f'{{"k":"{key}"}}') for key in "ab"]
    )


def test_columns_may_be_parts_of_the_address(service: tuple[Service, str]) -> None:
    found, address = service
    options = {
        "url": f"{address}/of/{{who}}?all=1",
        "lookup-method": "POST",
        ".source.lookup.query-creator": "http-generic-json-url",
        ".request.url-map": "k:who",
        ".request.query-param-fields": "n",
        ".request.body-fields": "k;n",
        ".source.lookup.header.Authorization": "me:secret",
        ".source.lookup.header.X-Mine": "1",
    }
    columns = "k STRING, n INT, v STRING"
    query = "SELECT v FROM o JOIN t FOR SYSTEM_TIME AS OF o.p AS t ON CONCAT(o.k, '/') = t.k AND o.n = t.n"
    view = ORDERS.replace("('a', 1), ('b', 2), ('a', 3)", "('a', 1)")
    assert read(query, table(address, "http", columns, **options), view) == [("value of a/",)]
    [request] = found.requests
    assert (request.path, request.body) == ("/of/a%2F?all=1&n=1", '{"k":"a/","n":1}')
    assert request.headers["Authorization"] == "Basic bWU6c2VjcmV0"
    assert (request.headers["X-Mine"], request.headers["Content-Type"]) == ("1", "application/json")


def test_answers_may_be_arrays(service: tuple[Service, str]) -> None:
    found, address = service
    found.respond = lambda request: (200, ' [{"k": "a", "v": "[1]"} , {"k":"a","v":"2"}]\n')
    options = {".source.lookup.result-type": "array", "lookup.cache": "PARTIAL", "lookup.partial-cache.max-rows": "9"}
    _, t_env = environments()
    t_env.execute_sql(table(address, **options))
    lookup = t_env.from_path("t")._node.source.lookup(["k"])
    lookup = pickle.loads(pickle.dumps(lookup))
    assert lookup([("a",)]) == lookup([("a",)]) == [[("a", "[1]"), ("a", "2")]]
    assert len(found.requests) == 1
    found.respond = lambda request: (200, "{}")
    with pytest.raises(key_lookup.KeyLookupError, match=r"status 200, but expected an array, found '\{\}'"):
        lookup([("b",)])


@pytest.mark.parametrize(("text", "count"), [("[]", 0), ("[1]", 1), (' [ "a,]" , {"b":[1]} ] ', 2)])
def test_elements_of_arrays_are_found(text: str, count: int) -> None:
    assert len(elements_of(text.encode())) == count


@pytest.mark.parametrize("text", ["", "{}", "[1 2]", "[1,", "[}"])
def test_other_texts_are_no_arrays(text: str) -> None:
    with pytest.raises(ValueError, match=r"expected|Expecting"):
        elements_of(text.encode())


def test_temporary_errors_are_repeated(service: tuple[Service, str], waits: list[float]) -> None:
    found, address = service
    codes = iter([503, 500, 200])
    found.respond = lambda request: (next(codes), '{"k":"a","v":"x"}')
    view = ORDERS.replace("('a', 1), ('b', 2), ('a', 3)", "('a', 1)")
    growing = ".source.lookup.retry-strategy"
    options = {
        f"{growing}.type": "exponential-delay",
        f"{growing}.exponential-delay.initial-backoff": "2 s",
        f"{growing}.exponential-delay.backoff-multiplier": "4",
        f"{growing}.exponential-delay.max-backoff": "5 s",
    }
    assert read(JOIN, table(address, **options), view) == [(1, "x")]
    assert waits == [2.0, 5.0]
    found.respond = lambda request: (503, "too busy")
    with pytest.raises(UserFunctionError, match=r"GET http.*/client\?k=a: status 503: too busy"):
        read(JOIN, table(address, **{"lookup.max-retries": "1", f"{growing}.fixed-delay.delay": "3 s"}), view)
    assert waits == [2.0, 5.0, 3.0]
    found.respond = lambda request: (400, "no")
    with pytest.raises(UserFunctionError, match="status 400: no"):
        read(JOIN, table(address), view)
    assert len(waits) == 3


def test_servers_that_are_not_there_are_errors(waits: list[float]) -> None:
    with pytest.raises(UserFunctionError, match=r"GET http://127.0.0.1:1/client\?k=.*refused"):
        read(JOIN, table("http://127.0.0.1:1", **{"lookup.max-retries": "2"}), ORDERS)
    assert set(waits) == {1.0}


def test_errors_hide_the_secrets_of_an_address(waits: list[float]) -> None:
    url = "http://127.0.0.1:1/client?api_key=geheim"
    with pytest.raises(UserFunctionError, match=r"api_key=\*{6}&k=.*refused") as refused:
        read(JOIN, table("", url=url, **{"lookup.max-retries": "0"}), ORDERS)
    assert "geheim" not in str(refused.value)


def test_a_proxy_gets_the_requests(service: tuple[Service, str]) -> None:
    found, address = service
    host, port = address.removeprefix("http://").split(":")
    proxy = ".source.lookup.proxy"
    options = {f"{proxy}.host": host, f"{proxy}.port": port, f"{proxy}.username": "me", f"{proxy}.password": "x"}
    assert len(read(JOIN, table("http://elsewhere", **options, **IGNORED), ORDERS)) == 3
    assert {one.path for one in found.requests} == {f"http://elsewhere/client?k={key}" for key in "ab"}
    assert found.requests[0].headers["Proxy-Authorization"] == "Basic bWU6eA=="


def test_certificates_are_checked(tmp_path: Any) -> None:
    import ssl

    trustme = pytest.importorskip("trustme")
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.configure_trust(context)
    context.verify_mode = ssl.CERT_REQUIRED
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    mine = authority.issue_cert("me@example.org")
    mine.private_key_pem.write_to_path(tmp_path / "key.pem")
    mine.cert_chain_pems[0].write_to_path(tmp_path / "cert.pem")
    own = {".security.cert.client": f"{tmp_path}/cert.pem", ".security.key.client": f"{tmp_path}/key.pem"}
    options = {**own, "lookup.max-retries": "0", **IGNORED}
    with running(echo, context) as (_, address):
        for trusted in (
            {".security.cert.server": f"{tmp_path}/ca.pem"},
            {".security.cert.server.allowSelfSigned": "true"},
        ):
            assert len(read(JOIN, table(address, **options, **trusted), ORDERS)) == 3
        with pytest.raises(UserFunctionError, match="certificate verify failed"):
            read(JOIN, table(address, **options), ORDERS)


def test_sets_of_status_codes() -> None:
    assert status_codes("2XX,404,!203") == {*range(200, 300), 404} - {203}
    assert status_codes("") == set()
    for text in ("6XX", "!2XX", "20", "abc"):
        with pytest.raises(ValueError, match="is neither a status code"):
            status_codes(text)


BAD: list[tuple[dict[str, str], str]] = [
    ({"url": "file:///etc/passwd"}, "an address such as http://localhost:8080/client"),
    ({"lookup-method": "DELETE"}, "expected one of get, post, put"),
    ({".source.lookup.success-codes": "2YY"}, "status codes such as 2XX,404,!203"),
    ({".source.lookup.result-type": "array", "format": "csv"}, "only the format json has arrays"),
    ({".source.lookup.http-version": "HTTP_2"}, "expected one of http_1_1"),
    ({".source.lookup.proxy.host": "a"}, "must be set together"),
    ({".security.cert.client": "a"}, "must be set together"),
    ({".source.lookup.continue-on-error": "true"}, "a failed request fails the job"),
    ({".security.oidc.token.request": "a"}, "give the token in the header Authorization"),
    ({".source.lookup.query-creator": "mine"}, "other names are classes of Java"),
    (
        {".source.lookup.query-creator": "http-generic-json-url", ".request.body-fields": "v"},
        "a condition = in the join: k",
    ),
    ({".source.lookup.query-creator": "http-generic-json-url", ".request.url-map": "v"}, "pairs of column and place"),
    ({".source.lookup.retry-strategy.type": "random"}, "expected one of fixed-delay, exponential-delay"),
    ({"unknown": "1"}, "Unsupported options:\n\nunknown"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_options_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationException, match=re.escape(message)):
        read(JOIN, table("http://127.0.0.1:1", **options), ORDERS)


def test_a_service_is_not_read_as_a_whole() -> None:
    with pytest.raises(ValidationException, match="can only be looked up, in a join FOR SYSTEM_TIME AS OF"):
        read("SELECT * FROM t", table("http://127.0.0.1:1"))
