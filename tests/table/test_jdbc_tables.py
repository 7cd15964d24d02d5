"""Tables of a database."""

import pickle
import sqlite3
from contextlib import closing
from decimal import Decimal

import pytest

from firesteel.connectors.jdbc.lookup import JdbcLookupError
from firesteel.connectors.jdbc.table import JdbcTable
from firesteel.connectors.lookup_cache import CacheLimits, LookupCache
from firesteel.connectors.table_connector import ResolvedTable
from firesteel.table.errors import ValidationException
from tests.table.environments import environment
from tests.table.local_runs import create, read


@pytest.mark.spark
def test_rows_replace_those_of_their_keys_and_come_back(tmp_path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE totals (k TEXT PRIMARY KEY, n BIGINT)")
    t_env = environment()
    t_env.execute_sql(
        "CREATE TABLE t (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) "
        f"WITH ('connector' = 'jdbc', 'url' = 'jdbc:sqlite:{path}', 'table-name' = 'totals')"
    )
    t_env.execute_sql("INSERT INTO t SELECT k, COUNT(*) FROM (VALUES ('a'), ('b'), ('a')) AS T(k) GROUP BY k").wait()
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT k, n FROM totals ORDER BY k").fetchall() == [("a", 2), ("b", 1)]
    with t_env.execute_sql("SELECT n, k FROM t").collect() as rows:
        assert sorted(tuple(row) for row in rows) == [(1, "b"), (2, "a")]


# --- ranges ----------------------------------------------------------------------------------------------------------

RANGES = {"column": "n", "num": "3", "lower-bound": "2", "upper-bound": "9"}


def ranges(**changed):
    return {f"scan.partition.{key}": value for key, value in (RANGES | changed).items() if value}


def numbers(tmp_path, **options):
    path = tmp_path / "numbers.db"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS numbers (n BIGINT, d TEXT)")
        database.executemany("INSERT INTO numbers VALUES (?, ?)", [(n, f"{n}.5") for n in range(12)])
    given = {"connector": "jdbc", "url": f"jdbc:sqlite:{path}", "table-name": "numbers", **options}
    return create("t", "n BIGINT, d DECIMAL(4, 1)", given)


@pytest.mark.parametrize("policy", ["always", "never"])
def test_ranges_of_a_column_are_splits_and_filter_the_rows(tmp_path, policy):
    table = numbers(tmp_path, **ranges(), **{"filter.handling.policy": policy})
    assert sorted(read("SELECT n FROM t WHERE n <> 4", table)) == [(n,) for n in (2, 3, 5, 6, 7, 8, 9)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ranges(num=None), "must be set together, found scan.partition.column"),
        (ranges(column="d"), "expected a column of the table with numbers, found 'd'"),
        (ranges(column="x"), "expected a column of the table with numbers, found 'x'"),
        (ranges(**{"lower-bound": "10"}), "expected at most scan.partition.upper-bound, 9, found '10'"),
        ({"filter.handling.policy": "maybe"}, "expected one of always, never, found 'maybe'"),
        ({"compatible-mode": "mysql"}, "the dialect follows from the URL"),
    ],
)
def test_bad_options_are_refused(tmp_path, options, message):
    with pytest.raises(ValidationException, match=message):
        read("SELECT * FROM t", numbers(tmp_path, **options))


def test_properties_are_those_of_the_connection(tmp_path):
    given = {"url": "jdbc:postgresql://localhost/shop?user=a", "table-name": "t", "properties.options": "-c x=1"}
    table = JdbcTable(ResolvedTable(("c", "d", "t"), (), given))
    assert table._url == "jdbc:postgresql://localhost/shop?user=a&options=-c+x%3D1"


# --- lookup joins ----------------------------------------------------------------------------------------------------


@pytest.fixture
def shop(tmp_path):
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE items (id BIGINT, lang TEXT, name TEXT, price TEXT)")
        database.executemany(
            "INSERT INTO items VALUES (?, ?, ?, ?)",
            [(1, "en", "pen", "1.50"), (1, "de", "Stift", "1.50"), (2, "en", "ink", None)],
        )
    return path


def environment_with(path, mode="streaming", **options):
    t_env = environment(mode)
    declared = {"connector": "jdbc", "url": f"jdbc:sqlite:{path}", "table-name": "items", **options}
    shown = ", ".join(f"'{key}' = '{value}'" for key, value in declared.items())
    t_env.execute_sql(f"CREATE TABLE items (id BIGINT, lang STRING, name STRING, price DECIMAL(8, 2)) WITH ({shown})")
    t_env.execute_sql(
        "CREATE VIEW orders AS SELECT *, PROCTIME() AS p "
        "FROM (VALUES ('a', 1), ('b', 2), ('c', 3), ('d', CAST(NULL AS INT))) AS t (o, item)"
    )
    return t_env


def lookup(t_env, *keys):
    table = t_env.from_path("items")._node.source
    return table.lookup(list(keys))


def join(t_env, kind, condition):
    query = f"SELECT o, name, price FROM orders {kind} JOIN items FOR SYSTEM_TIME AS OF orders.p AS i ON {condition}"
    with t_env.execute_sql(query).collect() as rows:
        return sorted((tuple(row) for row in rows), key=repr)


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_rows_are_joined_with_those_of_a_database(shop, mode):
    t_env = environment_with(shop, mode)
    pens, ink = [("a", "Stift", Decimal("1.50")), ("a", "pen", Decimal("1.50"))], ("b", "ink", None)
    assert join(t_env, "", "orders.item = i.id") == [*pens, ink]
    assert join(t_env, "LEFT", "orders.item = i.id AND i.lang = 'de'") == [
        pens[0],
        *((order, None, None) for order in "bcd"),
    ]


def test_a_lookup_finds_the_rows_of_each_key_and_survives_pickling(shop):
    found = lookup(environment_with(shop), "id", "lang")
    for each in (found, pickle.loads(pickle.dumps(found))):
        assert each([(1, "de"), (3, "en"), (2, "en")]) == [
            [(1, "de", "Stift", Decimal("1.50"))],
            [],
            [(2, "en", "ink", None)],
        ]


def test_a_cache_keeps_rows_and_missing_keys(shop):
    caching = {"lookup.cache": "PARTIAL", "lookup.partial-cache.max-rows": "10"}
    cached, plain = (lookup(environment_with(shop, **options), "id") for options in (caching, {}))
    keys = [(2,), (3,)]
    before = plain(keys)
    assert cached(keys) == before
    with sqlite3.connect(shop) as database:
        database.execute("UPDATE items SET name = 'blue ink' WHERE id = 2")
        database.execute("INSERT INTO items VALUES (3, 'en', 'pad', '2')")
    assert cached(keys) == before
    assert plain(keys) == [[(2, "en", "blue ink", None)], [(3, "en", "pad", Decimal("2.00"))]]


def test_cached_rows_expire():
    now = [0]
    cache = LookupCache(CacheLimits(2, 100, 30, keeps_missing=False), lambda: now[0])
    cache.put((1,), [("a",)])
    cache.put((2,), [])
    assert cache.get((2,)) is None
    for now[0] in (20, 40, 60, 80):
        assert cache.get((1,)) == [("a",)]
    now[0] = 100
    assert cache.get((1,)) is None, "too long after the write"
    cache.put((1,), [("a",)])
    now[0] = 131
    assert cache.get((1,)) is None, "too long after the last use"
    for key in "xyz":
        cache.put((key,), [(key,)])
    assert [cache.get((key,)) for key in "xyz"] == [None, [("y",)], [("z",)]]


def test_a_failed_lookup_names_query_and_key(shop):
    found = lookup(environment_with(shop), "id")
    shop.unlink()
    with pytest.raises(JdbcLookupError, match=r'WHERE "id" = \?. with parameters \(7,\).*no such table'):
        found([(7,)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lookup.cache": "FULL"}, "lookup.cache"),
        ({"lookup.cache": "PARTIAL"}, "lookup.partial-cache.max-rows"),
        ({"lookup.max-retries": "often"}, "an integer"),
    ],
)
def test_invalid_options_of_lookups_are_refused(shop, options, message):
    with pytest.raises(ValidationException, match=message):
        lookup(environment_with(shop, **options), "id")


def test_a_lookup_join_needs_a_key(shop):
    query = "SELECT * FROM orders JOIN items FOR SYSTEM_TIME AS OF orders.p AS i ON i.lang = 'de'"
    with pytest.raises(ValidationException, match="requires an equality condition"):
        environment_with(shop).execute_sql(query)
