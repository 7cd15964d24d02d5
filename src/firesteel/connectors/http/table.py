"""The connectors `http` and `rest-lookup`, which Flink has not, with the options of the public flink-http-connector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import quote, urlsplit

from firesteel.columns.batch import Kind
from firesteel.common.growth import grown
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.table_format import Columns, Format, make_format
from firesteel.connectors.formats.text_values import writer_of
from firesteel.connectors.http.finder import Answers, HttpFinder
from firesteel.connectors.http.requests import KeyRequests, authorization
from firesteel.connectors.http.status_codes import status_codes
from firesteel.connectors.http_client import HttpClient
from firesteel.connectors.key_lookup import KeyLookup, Retries, constant
from firesteel.connectors.lookup_cache import lookup_cache
from firesteel.connectors.option_table import OptionTable, message_format
from firesteel.connectors.table_connector import INSERT_ONLY, Column, ResolvedTable, ScanRequest
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext

if TYPE_CHECKING:
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

_CACHE = ("lookup.cache", "lookup.max-retries", *(f"lookup.partial-cache.{name}" for name in (
    "cache-missing-key", "expire-after-access", "expire-after-write", "max-rows")))  # fmt: skip
_STRATEGY = "source.lookup.retry-strategy"
_OPTIONAL = (
    *(f"source.lookup.{name}" for name in ("request.timeout", "request.thread-pool.size", "http-version", "result-type",
      "use-raw-authorization-header", "success-codes", "retry-codes", "ignored-response-codes", "query-creator")),
    *(f"{_STRATEGY}.{name}" for name in ("type", "fixed-delay.delay", "exponential-delay.initial-backoff",
      "exponential-delay.max-backoff", "exponential-delay.backoff-multiplier")),
    *(f"source.lookup.proxy.{name}" for name in ("host", "port", "username", "password")),
    *(f"security.{name}" for name in ("cert.server", "cert.client", "key.client", "cert.server.allowSelfSigned")),
    *(f"request.{name}" for name in ("query-param-fields", "body-fields", "url-map")),
)  # fmt: skip
_UNUSED = {
    "source.lookup.connection.timeout": "source.lookup.request.timeout covers connecting, too",
    "source.lookup.response.thread-pool.size": "answers are read where their requests were sent",
}
_JAVA = "it names a class of Java"
_REFUSED = {
    "source.lookup.continue-on-error": "a failed request fails the job; ignored-response-codes stand for no row",
    "source.lookup.request-callback": _JAVA,
    **dict.fromkeys(
        (f"security.oidc.token.{name}" for name in ("request", "endpoint.url", "expiry.reduction")),
        "give the token in the header Authorization",
    ),
    **dict.fromkeys(("lookup.error.code", "lookup.error.code.exclude"), "use source.lookup.success-codes"),
}
_CREATORS = ("http-generic-json-url", "")


def _table(prefix: str) -> OptionTable:
    return OptionTable(
        required=("url", "format"),
        optional=("lookup-method", "lookup-request.format", *_CACHE, *(prefix + name for name in _OPTIONAL)),
        prefixes=(f"{prefix}source.lookup.header.", "lookup-request.format.json."),
        unused={
            "asyncPolling": "requests of a batch are sent several at a time in any case",
            **{prefix + name: reason for name, reason in _UNUSED.items()},
        },
        refused={prefix + name: reason for name, reason in _REFUSED.items()},
        formats=("format",),
    )


_PREFIXES = {"http": "http.", "rest-lookup": "gid.connector.http."}
OPTIONS = {identifier: _table(prefix) for identifier, prefix in _PREFIXES.items()}


def source(table: ResolvedTable, context: ConnectorContext) -> HttpTable:
    """Return the table whose rows a service has."""
    return HttpTable(table)


class HttpTable:
    """The rows that a service has for keys; a lookup table."""

    kinds: frozenset[Kind] = INSERT_ONLY
    is_bounded = True

    def __init__(self, table: ResolvedTable) -> None:
        name = table.options["connector"]
        self._columns = table.physical_columns
        self._options = OPTIONS[name].read(table.options, name)
        self._own = self._options.below(_PREFIXES[name], name)
        self._own.owner = name
        if urlsplit(self._options.text("url")).scheme not in ("http", "https"):
            raise self._options.invalid("url", "an address such as http://localhost:8080/client")
        self._method = self._options.choice("lookup-method", ("get", "post", "put"), "get").upper()
        self._answers = self._made_answers()
        self._client = _client(self._own)

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> NoReturn:
        """Raise a ValidationException: a service is not read as a whole."""
        raise ValidationException(
            f"Connector '{self._options.owner}': the rows of a service can only be looked up, in a join "
            "FOR SYSTEM_TIME AS OF"
        )

    def lookup(self, keys: list[str]) -> KeyLookup:
        """Return the lookup of the rows of keys.

        Raises:
            ValidationException: an option names a column that the keys lack, or is invalid.
        """
        by_name = {column.name: column for column in self._columns}
        requests = self._requests([by_name[key] for key in keys])
        at_once = self._own.positive("source.lookup.request.thread-pool.size", 8)
        finder = HttpFinder(self._client, requests, self._answers, at_once)
        types = tuple(column.type for column in self._columns)
        return KeyLookup(finder, types, lookup_cache(self._options), Retries(0, partial(constant, 0)), "HTTP")

    def _made_answers(self) -> Answers:
        own = self._own
        kind = own.choice("source.lookup.result-type", ("single-value", "array"), "single-value")
        if kind == "array" and self._options.text("format") != "json":
            raise own.invalid("source.lookup.result-type", "single-value, as only the format json has arrays")
        return Answers(
            message_format(self._options, self._columns),
            kind == "array",
            _codes(own, "source.lookup.success-codes", "2XX"),
            _codes(own, "source.lookup.ignored-response-codes", ""),
            _codes(own, "source.lookup.retry-codes", "500,503,504"),
            self._options.number("lookup.max-retries", 3),
            _waits(own),
        )

    def _requests(self, keys: Sequence[Column]) -> KeyRequests:
        own, names = self._own, [column.name for column in keys]
        parameters, body, places = _parts(own, names, self._method)
        headers = own.below("source.lookup.header.", "headers").values
        texts = tuple(writer_of(column.type) for column in keys)
        content = self._body_format([keys[place] for place in body]) if body else None
        is_raw = own.flag("source.lookup.use-raw-authorization-header")
        if content is not None:
            headers = {"Content-Type": "application/json", **headers}
        url = self._options.text("url")
        return KeyRequests(url, self._method, authorization(headers, is_raw), texts, parameters, places, body, content)

    def _body_format(self, columns: Sequence[Column]) -> Format:
        self._options.choice("lookup-request.format", ("json",), "json")
        stored = Columns(tuple(column.name for column in columns), tuple(column.type for column in columns))
        return make_format("json", stored, self._options.below("lookup-request.format.json.", "json"), "messages")


Parts = tuple[tuple[tuple[str, int], ...], tuple[int, ...], tuple[tuple[str, int], ...]]


def _parts(own: Options, names: list[str], method: str) -> Parts:
    """Return which columns of keys are query parameters, in the body, and in places of the address."""
    creator = own.text("source.lookup.query-creator")
    if creator not in _CREATORS:
        raise own.invalid("source.lookup.query-creator", f"{_CREATORS[0]}: other names are classes of Java")
    if not creator:
        every = range(len(names))
        return (tuple(zip(names, every, strict=True)), (), ()) if method == "GET" else ((), tuple(every), ())

    def place(option: str, name: str) -> int:
        if name not in names:
            raise own.invalid(option, f"columns with a condition = in the join: {', '.join(names)}")
        return names.index(name)

    query, body, url = (f"request.{name}" for name in ("query-param-fields", "body-fields", "url-map"))
    pairs = [pair.split(":", 1) for pair in own.text(url).split(",") if pair]
    if any(len(pair) != 2 for pair in pairs):
        raise own.invalid(url, "pairs of column and place in the address, such as customer:cid,order:oid")
    return (
        tuple((name, place(query, name)) for name in own.text(query).split(";") if name),
        tuple(place(body, name) for name in own.text(body).split(";") if name),
        tuple((name.strip(), place(url, column.strip())) for column, name in pairs),
    )


def _codes(own: Options, option: str, default: str) -> frozenset[int]:
    try:
        return status_codes(own.text(option, default))
    except ValueError:
        raise own.invalid(option, "status codes such as 2XX,404,!203") from None


@dataclass(frozen=True)
class _Growing:
    first_s: float
    most_s: float
    factor: float

    def __call__(self, retry: int) -> float:
        return grown(self.first_s, self.factor, retry, self.most_s)


def _waits(own: Options) -> Callable[[int], float]:
    kind = own.choice(f"{_STRATEGY}.type", ("fixed-delay", "exponential-delay"), "fixed-delay")
    if kind == "fixed-delay":
        return partial(constant, _seconds(own, f"{_STRATEGY}.fixed-delay.delay", 1_000))
    growing = f"{_STRATEGY}.exponential-delay"
    try:
        factor = float(own.text(f"{growing}.backoff-multiplier", "1.5"))
    except ValueError:
        raise own.invalid(f"{growing}.backoff-multiplier", "a number") from None
    first, most = _seconds(own, f"{growing}.initial-backoff", 1_000), _seconds(own, f"{growing}.max-backoff", 60_000)
    return _Growing(first, most, factor)


def _seconds(own: Options, option: str, default_ms: int) -> float:
    found = own.duration_ms(option, default_ms)
    assert found is not None
    return found / 1000


def _client(own: Options) -> HttpClient:
    own.choice("source.lookup.http-version", ("http_1_1",), "http_1_1")
    certificate, key = own.text("security.cert.client"), own.text("security.key.client")
    if bool(certificate) != bool(key):
        raise ValidationException("'security.cert.client' and 'security.key.client' must be set together")
    return HttpClient(
        float(own.positive("source.lookup.request.timeout", 30)),
        tuple(path for path in own.text("security.cert.server").split(",") if path),
        own.flag("security.cert.server.allowSelfSigned"),
        (certificate, key) if certificate else None,
        _proxy(own),
    )


def _proxy(own: Options) -> str | None:
    host, port, user, password = (
        own.text(f"source.lookup.proxy.{n}") for n in ("host", "port", "username", "password")
    )
    if bool(host) != bool(port):
        raise ValidationException("'source.lookup.proxy.host' and 'source.lookup.proxy.port' must be set together")
    who = f"{quote(user, safe='')}:{quote(password, safe='')}@" if user else ""
    return f"http://{who}{host}:{port}" if host else None
