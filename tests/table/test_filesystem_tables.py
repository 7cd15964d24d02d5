"""Tables of files."""

import pytest

from firesteel.table import EnvironmentSettings, TableEnvironment

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("format_name", ["parquet", "json", "csv"])
def test_partitions_are_written_overwritten_and_read(tmp_path, format_name):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(
        "CREATE TABLE t (id INT, price DECIMAL(10, 2), name STRING, dt STRING) PARTITIONED BY (dt) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = '{format_name}')"
    )
    t_env.execute_sql("INSERT INTO t VALUES (1, 1.5, 'a', 'x y'), (2, 2, 'b', 'z')").wait()
    t_env.execute_sql("INSERT OVERWRITE t PARTITION (dt = 'z') SELECT 3, CAST(3 AS DECIMAL(10, 2)), 'c'").wait()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["dt=x y", "dt=z"]
    with t_env.execute_sql("SELECT dt, id, CAST(price AS STRING), name FROM t").collect() as rows:
        assert sorted(tuple(row) for row in rows) == [("x y", 1, "1.50", "a"), ("z", 3, "3.00", "c")]
