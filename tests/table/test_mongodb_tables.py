"""Tables of MongoDB against SecantusDB, which answers its client; no package brings MongoDB itself."""

from __future__ import annotations

import datetime
import re
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from firesteel.columns import column_types as t
from firesteel.connectors.mongodb.values import reader_of, text_of, writer_of
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.table.errors import ValidationException
from tests.datastream.connectors.database_servers import mongodb
from tests.table.local_runs import create, explained, read, written

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def uri() -> Iterator[str]:
    pytest.importorskip("pymongo")
    with mongodb() as found:
        yield found


@pytest.fixture
def database(uri: str) -> Iterator[Any]:
    """The database `shop`, which is empty."""
    import pymongo

    with pymongo.MongoClient(uri) as client:
        client.drop_database("shop")
        yield client["shop"]


def table(uri: str, columns: str, more: str = "", **options: str) -> str:
    given = {"connector": "mongodb", "uri": uri, "database": "shop", "collection": "items"}
    return create("t", columns, given | options, more)


CHANGES = (
    "SELECT k, SUM(v) FROM (VALUES ('a', 1), ('b', 2), ('a', 3), ('b', -2)) AS x (k, v) GROUP BY k HAVING SUM(v) > 0"
)


def test_documents_are_updated_and_deleted_by_the_key(uri: str, database: Any) -> None:
    written(table(uri, "_id STRING, v INT, PRIMARY KEY (_id) NOT ENFORCED"), CHANGES)
    assert list(database["items"].find()) == [{"_id": "a", "v": 4}]
    with pytest.raises(Exception, match="doesn't support consuming update"):
        explained(table(uri, "k STRING, v INT"), CHANGES)


def test_keys_become_ids(uri: str, database: Any) -> None:
    from bson import ObjectId

    text = "507f1f77bcf86cd799439011"
    written(table(uri, "k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED"), f"SELECT '{text}', 1")
    assert list(database["items"].find()) == [{"_id": ObjectId(text), "k": text, "v": 1}]
    database["items"].drop()
    columns = "a INT, b STRING, v INT, PRIMARY KEY (a, b) NOT ENFORCED"
    written(table(uri, columns), "SELECT 1, 'x', 2 UNION ALL SELECT 1, 'y', 3")
    assert [row["_id"] for row in database["items"].find()] == [{"a": 1, "b": "x"}, {"a": 1, "b": "y"}]
    database["items"].drop()
    columns = "_id INT, shard STRING, v INT, PRIMARY KEY (_id) NOT ENFORCED"
    written(table(uri, columns, "PARTITIONED BY (shard)"), "SELECT 1, 's', 2")
    assert list(database["items"].find()) == [{"_id": 1, "shard": "s", "v": 2}]


def test_rows_without_a_key_are_added_and_read(uri: str, database: Any) -> None:
    columns = (
        "b BOOLEAN, i INT, l BIGINT, d DOUBLE, p DECIMAL(8, 2), s STRING, x BYTES, ts TIMESTAMP_LTZ(3), "
        "r ROW<a INT, b STRING>, g ARRAY<STRING>, m MAP<STRING, INT>, n STRING"
    )
    row = (
        "TRUE, 1, CAST(2 AS BIGINT), 1.5e0, CAST(3.25 AS DECIMAL(8, 2)), 'text', x'00FF', TO_TIMESTAMP_LTZ(1500, 3), "
        "ROW(7, 'z'), ARRAY['u', 'v'], MAP['k', 8], CAST(NULL AS STRING)"
    )
    options = {"sink.buffer-flush.max-rows": "2", "sink.ordered-writes": "false"}
    written(table(uri, columns, **options), " UNION ALL ".join([f"SELECT {row}"] * 5))
    assert database["items"].count_documents({}) == 5
    found = read("SELECT b, i, l, d, p, s, x, r, g, m, n FROM t", table(uri, columns, **{"scan.fetch-size": "2"}))
    assert len(found) == 5
    assert found[0][:6] == (True, 1, 2, 1.5, Decimal("3.25"), "text")
    assert bytes(found[0][6]) == b"\x00\xff"
    assert tuple(found[0][7]) == (7, "z")
    assert found[0][8:] == (["u", "v"], {"k": 8}, None)
    assert read("SELECT COUNT(*) FROM t", table(uri, columns))[-1] == (5,)
    [moment] = {row[0].to_epoch_milli() for row in read("SELECT ts FROM t", table(uri, columns))}
    assert moment == 1500


@pytest.mark.parametrize("is_ordered", ["true", "false"])
def test_a_request_whose_answer_is_lost_is_repeated(
    uri: str, database: Any, monkeypatch: pytest.MonkeyPatch, is_ordered: str
) -> None:
    from pymongo.collection import Collection
    from pymongo.errors import AutoReconnect

    lost, real = [], Collection.bulk_write

    def answering_once_less(collection: Any, requests: Any, *arguments: Any) -> Any:
        answer = real(collection, requests, *arguments)
        if not lost:
            lost.append(requests)
            raise AutoReconnect("connection closed")
        return answer

    monkeypatch.setattr(Collection, "bulk_write", answering_once_less)
    options = {"sink.max-retries": "1", "sink.retry.interval": "1 ms", "sink.ordered-writes": is_ordered}
    written(table(uri, "k STRING, v INT", **options), "SELECT * FROM (VALUES ('a', 1), ('a', 1), ('b', 2)) AS x (k, v)")
    assert len(lost) == 1
    found = sorted((row["k"], row["v"]) for row in database["items"].find())
    assert found == [("a", 1), ("a", 1), ("b", 2)]


def test_documents_are_looked_up(uri: str, database: Any) -> None:
    database["items"].insert_many([{"_id": n, "k": key, "v": n} for n, key in enumerate("aab")])
    view = "CREATE VIEW o AS SELECT *, PROCTIME() AS p FROM (VALUES ('a', 1), ('c', 3)) AS x (k, n)"
    query = "SELECT n, v FROM o LEFT JOIN t FOR SYSTEM_TIME AS OF o.p AS t ON o.k = t.k"
    assert sorted(read(query, table(uri, "k STRING, v INT"), view), key=repr) == [(1, 0), (1, 1), (3, None)]


def test_values_of_other_types_are_converted() -> None:
    from bson import Code, Decimal128, ObjectId, Regex, Timestamp

    ago = datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.UTC)
    whole, big, number = reader_of(t.IntType()), reader_of(t.BigIntType()), reader_of(t.DoubleType())
    assert [whole(v) for v in (1.9, Decimal128("2.5"), "7", True, ago)] == [1, 2, 7, 1, 1709208000]
    assert [big(v) for v in (ago, Timestamp(5, 1), Decimal128("Infinity"))] == [1709208000000, 5000, 2**63 - 1]
    assert [number(v) for v in (1, "1.5", Decimal128("2.5"))] == [1.0, 1.5, 2.5]
    decimals = reader_of(t.DecimalType(5, 2))
    assert [decimals(v) for v in (1, 1.25, "3", Decimal128("NaN"))] == [1, Decimal("1.25"), 3, None]
    assert [reader_of(t.BooleanType())(v) for v in (1, 2, "TRUE", False)] == [True, False, True, False]
    name = uuid.UUID(int=5)
    values = [
        ObjectId("507f1f77bcf86cd799439011"),
        1.0,
        True,
        ago,
        Timestamp(5, 1),
        name,
        b"\x01",
        Regex("a", "i"),
        Code("f()"),
    ]
    assert [text_of(value) for value in values] == [
        "507f1f77bcf86cd799439011", "1.0", "true", "2024-02-29T12:00:00Z", "1970-01-01T00:00:05Z", str(name),
        "01", "/a/i", "f()",
    ]  # fmt: skip
    assert text_of({"a": [1, {"$b": ObjectId("507f1f77bcf86cd799439011")}]}) == (
        '{"a": [1, {"$b": {"$oid": "507f1f77bcf86cd799439011"}}]}'
    )
    for kind, value in (
        (t.IntType(), []),
        (t.VarBinaryType(5), "a"),
        (t.ArrayType(t.IntType()), 1),
        (t.BooleanType(), []),
    ):
        with pytest.raises(ValueError, match="Unable to convert to"):
            reader_of(kind)(value)
    with pytest.raises(ValueError, match="which has no end"):
        decimals(Decimal128("Infinity"))
    assert writer_of(t.DecimalType(5, 2))(Decimal("1.50")) == Decimal128("1.50")
    with pytest.raises(ValueError, match="MongoDB has decimals of up to 34 digits"):
        writer_of(t.DecimalType(38, 2))(Decimal("123456789012345678901234567890123456.78"))


BAD: list[tuple[str, dict[str, str], str]] = [
    ("k STRING", {"uri": "http://a"}, "an address such as mongodb://"),
    ("k STRING", {"scan.partition.strategy": "sample"}, "expected one of default, single"),
    ("k STRING", {"scan.partition.size": "1mb"}, "a collection is one split"),
    ("k STRING", {"sink.delivery-guarantee": "exactly-once"}, "expected one of none, at-least-once"),
    ("k DATE", {}, "Column 'k' is DATE, which cannot be written to MongoDB"),
    ("_id STRING", {}, "Ambiguous keys being used due to the presence of an _id field"),
    ("k ARRAY<INT>, PRIMARY KEY (k) NOT ENFORCED", {}, "The primary key 'k' is ARRAY<INT> NOT NULL, which is no _id"),
]

VALUES = {
    "k STRING": "SELECT 'a'",
    "k DATE": "SELECT DATE '2024-02-29'",
    "_id STRING": "SELECT 'a'",
    "k ARRAY<INT>": "SELECT ARRAY[1]",
}


@pytest.mark.parametrize(("columns", "options", "message"), BAD)
def test_bad_tables_are_refused(columns: str, options: dict[str, str], message: str) -> None:
    given = {"uri": "mongodb://localhost"} | options
    with pytest.raises(ValidationException, match=re.escape(message)):
        explained(table(columns=columns, **given), VALUES[columns.split(",")[0]])


def test_documents_that_do_not_fit_are_named(uri: str, database: Any) -> None:
    database["items"].insert_one({"_id": 7, "k": "text"})
    with pytest.raises(Exception, match="field 'k' of the document with _id 7: "):
        read("SELECT _id, k FROM t", table(uri, "_id INT, k INT, PRIMARY KEY (_id) NOT ENFORCED"))
    database["items"].create_index("k", unique=True)
    with pytest.raises(UserFunctionError, match=r"MongoDB: could not write shop.items: .*\(code 11000\)"):
        written(table(uri, "k STRING"), "SELECT 'text'")
