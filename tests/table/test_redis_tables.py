"""Tables of Redis against a server."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.table.errors import ValidationException
from tests.datastream.connectors.database_servers import redis as redis_server
from tests.table.local_runs import create, environments, explained, read, written

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    pytest.importorskip("redis")
    with redis_server() as found:
        yield found


@pytest.fixture
def client(port: int) -> Iterator[Any]:
    import redis

    with redis.Redis("127.0.0.1", port, decode_responses=True) as found:
        found.flushall()
        yield found


def table(port: int, command: str, columns: str = "k STRING, v INT", **options: str) -> str:
    given = {"connector": "redis", "host": "127.0.0.1", "port": str(port), "command": command}
    return create("t", columns, given | options)


def rows(*values: str) -> str:
    return f"SELECT * FROM (VALUES {', '.join(values)}) AS v (k, v)"


SUMS = rows("('a', 1)", "('b', 2)", "('a', 3)", "('b', -2)")
CHANGES = f"SELECT k, SUM(v) FROM ({SUMS}) GROUP BY k HAVING SUM(v) > 0"


def test_values_are_set_and_deleted_by_the_key(port: int, client: Any) -> None:
    written(table(port, "set", "k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED"), CHANGES)
    assert {key: client.get(key) for key in client.scan_iter()} == {"a": "4"}
    with pytest.raises(Exception, match="doesn't support consuming update"):
        explained(table(port, "set"), CHANGES)


def test_fields_of_hashes_are_set_and_deleted(port: int, client: Any) -> None:
    columns = "h STRING, k STRING, v INT, PRIMARY KEY (h, k) NOT ENFORCED"
    written(table(port, "hset", columns), f"SELECT 'counts', k, v FROM ({CHANGES}) AS c (k, v)")
    assert client.hgetall("counts") == {"a": "4"}


def test_elements_are_added(port: int, client: Any) -> None:
    values = rows("('a', 1)", "('a', 2)", "('a', 2)")
    for command, found in (("rpush", ["1", "2", "2"]), ("lpush", ["2", "2", "1"])):
        client.flushall()
        written(table(port, command), values)
        assert client.lrange("a", 0, -1) == found
    client.flushall()
    written(table(port, "sadd", ttl="100"), values)
    assert client.smembers("a") == {"1", "2"}
    assert 0 < client.ttl("a") <= 100
    with client.pubsub() as listening:
        listening.subscribe("a")
        assert listening.get_message(timeout=5)["type"] == "subscribe"
        written(table(port, "publish"), rows("('a', 7)"))
        assert listening.get_message(timeout=5)["data"] == "7"


def test_sets_follow_a_changelog(port: int, client: Any) -> None:
    columns = "k STRING, v INT, PRIMARY KEY (k, v) NOT ENFORCED"
    written(table(port, "sadd", columns), CHANGES)
    assert client.smembers("a") == {"4"}


def test_values_that_are_there_are_kept_if_told(port: int, client: Any) -> None:
    client.set("a", "0")
    written(table(port, "set", **{"set.if.absent": "true"}), rows("('a', 1)", "('b', 2)"))
    assert (client.get("a"), client.get("b")) == ("0", "2")


def test_many_rows_and_another_database(port: int, client: Any) -> None:
    values = [f"('k{n}', {n})" for n in range(2500)]
    written(table(port, "set", database="3"), rows(*values))
    assert client.info("keyspace")["db3"]["keys"] == 2500


ORDERS = "CREATE VIEW o AS SELECT *, PROCTIME() AS p FROM (VALUES ('a', 1), ('b', 2), ('c', 3)) AS x (k, n)"


def test_values_are_looked_up(port: int, client: Any) -> None:
    client.set("a", "1.50")
    client.set("b", "-2")
    columns = "k STRING, v DECIMAL(8, 2)"
    query = "SELECT n, v FROM o LEFT JOIN t FOR SYSTEM_TIME AS OF o.p AS t ON o.k = t.k"
    found = read(query, table(port, "get", columns), ORDERS)
    assert sorted(found) == [(1, Decimal("1.50")), (2, Decimal("-2.00")), (3, None)]
    query = "SELECT n FROM o JOIN t FOR SYSTEM_TIME AS OF o.p AS t ON o.k = t.k AND o.n = t.v"
    client.mset({"a": "7", "b": "2"})
    assert read(query, table(port, "get", "k STRING, v INT"), ORDERS) == [(2,)]


def test_fields_are_looked_up_and_cached(port: int, client: Any) -> None:
    client.hset("h", mapping={"1": "2024-02-29 12:00:00", "2": "2024-03-01 00:00:00.5"})
    options = {"lookup.cache": "PARTIAL", "lookup.partial-cache.max-rows": "5"}
    _, t_env = environments()
    t_env.execute_sql(table(port, "hget", "h STRING, f INT, v TIMESTAMP(3)", **options))
    lookup = t_env.from_path("t")._node.source.lookup(["f", "h"])
    for each in (lookup, pickle.loads(pickle.dumps(lookup))):
        assert [[str(row[2]) for row in found] for found in each([(1, "h"), (3, "h")])] == [["2024-02-29 12:00:00"], []]
    client.delete("h")
    assert len(lookup([(1, "h")])[0]) == 1
    assert lookup([(2, "h")]) == [[]]


BAD: list[tuple[str, str, dict[str, str], str]] = [
    ("incrby", "k STRING, v INT", {}, "The command 'incrby' is not supported: it adds rows that are written again"),
    ("zadd", "k STRING, v INT", {}, "The command 'zadd' is not supported: there are no sorted sets"),
    ("eval", "k STRING, v INT", {}, "expected one of get, set, hget"),
    ("hset", "k STRING, v INT", {}, "needs the columns key, field, value; the table has k, v"),
    ("set", "k STRING, v ARRAY<INT>", {}, "The connector 'redis' doesn't support type: ARRAY<INT>"),
    ("set", "k STRING, v INT NOT NULL, PRIMARY KEY (v) NOT ENFORCED", {}, "must be (k), found (v)"),
    ("rpush", "k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED", {}, "cannot have a primary key"),
    ("set", "k STRING, v INT", {"redis-mode": "cluster"}, "expected one of single, found 'cluster'"),
    ("set", "k STRING, v INT", {"cluster-nodes": "a:1"}, "only single servers are supported"),
    ("rpush", "k STRING, v INT", {"set.if.absent": "true"}, "unless the command is set or hset"),
    ("set", "k STRING, v INT", {"ttl": "0"}, "expected an integer above zero"),
]


@pytest.mark.parametrize(("command", "columns", "options", "message"), BAD)
def test_bad_tables_are_refused(command: str, columns: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationException, match=re.escape(message)):
        explained(table(1, command, columns, **options), "SELECT * FROM t")


@pytest.mark.parametrize(
    ("command", "options", "condition", "message"),
    [
        ("sadd", {}, "o.k = t.k", "cannot be used in lookups"),
        ("get", {}, "o.n = t.v", "needs a condition = on k"),
        ("get", {"lookup.cache.ttl": "10", "lookup.cache.max-rows": "1"}, "o.k = t.k", "a duration with a unit"),
    ],
)
def test_bad_lookups_are_refused(command: str, options: dict[str, str], condition: str, message: str) -> None:
    query = f"SELECT n FROM o JOIN t FOR SYSTEM_TIME AS OF o.p AS t ON {condition}"
    with pytest.raises(ValidationException, match=message):
        read(query, table(1, command, **options), ORDERS)


def test_a_server_is_not_read_as_a_whole() -> None:
    with pytest.raises(ValidationException, match="can be written and looked up, but not read as a whole"):
        read("SELECT * FROM t", table(1, "get"))


def test_errors_name_the_server(port: int, client: Any) -> None:
    client.set("a", "text")
    with pytest.raises(UserFunctionError, match=rf"at 127.0.0.1:{port}/0: ResponseError: .*wrong kind of value"):
        written(table(port, "rpush"), rows("('a', 1)"))
    with pytest.raises(UserFunctionError, match="Redis has no NULL, found"):
        written(table(port, "set"), rows("('a', CAST(NULL AS INT))"))
    options = {"lookup.max-retries": "0"}
    query = "SELECT n FROM o JOIN t FOR SYSTEM_TIME AS OF o.p AS t ON o.k = t.k"
    with pytest.raises(UserFunctionError, match=r"Redis lookup of \('a',\), .*: ConnectionError"):
        read(query, table(1, "get", **options), ORDERS)
