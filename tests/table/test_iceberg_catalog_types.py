"""Iceberg tables in the catalogs of other systems: a REST catalog, Amazon Glue and databases."""

from __future__ import annotations

from urllib.request import urlopen

import pytest

from firesteel.table.errors import ValidationException

pytest.importorskip("pyiceberg", reason="the extra firesteel[iceberg] is not installed")

from firesteel.connectors.iceberg.committer import WriteMode
from firesteel.connectors.iceberg.tables import IcebergCatalogAddress
from tests.datastream.connectors import database_servers
from tests.table.environments import environment
from tests.table.iceberg_lake import Lake, read, selected
from tests.table.iceberg_rest import TOKEN, rest_catalog

pytestmark = pytest.mark.slow  # Each kind of catalog needs a server.


@pytest.fixture
def rest(tmp_path):
    with rest_catalog(tmp_path) as uri:
        yield {"catalog-type": "rest", "uri": uri, "token": TOKEN}


@pytest.fixture
def glue(tmp_path):
    server = pytest.importorskip("moto.server").ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    urlopen(f"http://{host}:{port}/moto-api/reset", data=b"").close()  # databases of tests before
    yield {
        "catalog-type": "glue",
        "warehouse": f"file://{tmp_path}/lake",
        "glue.endpoint": f"http://{host}:{port}",
        "glue.region": "us-east-1",
        "glue.access-key-id": "nobody",
        "glue.secret-access-key": "secret",
    }
    server.stop()


@pytest.fixture
def postgresql(tmp_path):
    with database_servers.postgresql() as url:
        yield {"catalog-type": "jdbc", "uri": url, "warehouse": f"file://{tmp_path}/lake"}


@pytest.fixture
def mariadb(tmp_path):
    with database_servers.mariadb() as url:
        yield {"catalog-type": "jdbc", "uri": url, "warehouse": f"file://{tmp_path}/lake"}


@pytest.fixture(params=["rest", "glue", "postgresql", "mariadb"])
def catalog(request):
    return request.getfixturevalue(request.param)


def test_rows_are_written_replaced_and_read(tmp_path, catalog):
    lake = Lake(tmp_path, options=catalog)
    requests = lake.commit(lake.sink(), lake.batch((1, "a"), (2, "b")))
    lake.commit(lake.sink(WriteMode.UPSERT), lake.batch((2, "B")), number=1)
    lake.sink().create_committer().commit(requests)
    assert read(lake.source()) == [(1, "a"), (2, "B")]
    assert len(lake.snapshots()) == 2


def test_databases_and_tables_are_created_and_dropped(t_env, catalog):
    options = ", ".join(f"'{key}' = '{text}'" for key, text in catalog.items())
    t_env.execute_sql(f"CREATE CATALOG lake WITH ('type' = 'iceberg', {options})")
    t_env.execute_sql("USE CATALOG lake")
    t_env.execute_sql("CREATE DATABASE sales")
    t_env.execute_sql("CREATE TABLE sales.t (id INT, p STRING) PARTITIONED BY (p)")
    assert sorted(t_env.list_databases()) == ["default", "sales"]
    assert t_env.get_catalog("lake").list_tables("sales") == ["t"]
    with pytest.raises(ValidationException, match="already exists"):
        t_env.execute_sql("CREATE TABLE sales.t (id INT)")
    t_env.execute_sql("DROP TABLE sales.t")
    t_env.execute_sql("DROP DATABASE sales")
    assert t_env.list_databases() == ["default"]


def test_a_refused_token_is_named(t_env, rest):
    with pytest.raises(ValidationException, match=r"Could not open the Iceberg catalog 'lake': .*no token"):
        t_env.execute_sql(
            f"CREATE CATALOG lake WITH ('type' = 'iceberg', 'catalog-type' = 'rest', 'uri' = '{rest['uri']}')"
        )


@pytest.mark.spark
def test_a_job_writes_a_table_of_a_rest_catalog(rest):
    t_env = environment("batch")
    options = ", ".join(f"'{key}' = '{text}'" for key, text in rest.items())
    t_env.execute_sql(f"CREATE CATALOG lake WITH ('type' = 'iceberg', {options})")
    t_env.execute_sql("CREATE TABLE lake.`default`.t (id INT, name STRING)")
    t_env.execute_sql("INSERT INTO lake.`default`.t VALUES (1, 'a'), (2, 'b')").wait()
    t_env.execute_sql("CREATE TABLE more (twice AS id * 2) LIKE lake.`default`.t")
    assert selected(t_env, "SELECT * FROM more") == [(1, "a", 2), (2, "b", 4)]


@pytest.mark.parametrize("uri", ["http://h:1/api/v1", "http://h:1/api/v2/", "http://h:1", "http://h:1/iceberg/other"])
def test_catalogs_of_nessie_are_those_of_its_rest_service(uri):
    given = {"catalog-impl": "org.apache.iceberg.nessie.NessieCatalog", "uri": uri, "ref": "a/b", "warehouse": "w"}
    given |= {"authentication.type": "BEARER", "authentication.token": "t"}
    found = IcebergCatalogAddress.of_options("c", given).properties
    assert found == {"type": "rest", "uri": "http://h:1/iceberg/a%2Fb", "warehouse": "w", "token": "t"}


def test_a_branch_of_nessie_is_asked_for_its_tables(tmp_path):
    with rest_catalog(tmp_path, "/iceberg/dev") as uri:
        server = uri.removesuffix("/iceberg/dev")
        given = {"catalog-type": "nessie", "uri": f"{server}/api/v2", "ref": "dev", "authentication.token": TOKEN}
        lake = Lake(tmp_path, options=given)
        lake.commit(lake.sink(), lake.batch((1, "a")))
        assert read(lake.source()) == [(1, "a")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"catalog-type": "rest", "ref": "dev"}, "'ref' of 'iceberg' is for catalogs of Nessie; 'branch' and 'tag'"),
        ({"catalog-type": "nessie", "authentication.type": "OAUTH2"}, "expected one of NONE, BEARER, found 'OAUTH2'"),
    ],
)
def test_what_is_not_nessies_is_refused(options, message):
    with pytest.raises(ValidationException, match=message):
        IcebergCatalogAddress.of_options("c", {"uri": "http://h:1", **options})
