"""Sources of the user as tables."""

import pytest

from firesteel.table.errors import ValidationException
from tests.table.environments import environment


def environment_with(factory):
    t_env = environment()
    t_env.execute_sql(
        "CREATE TABLE t (n BIGINT, square BIGINT) "
        f"WITH ('connector' = 'python', 'source' = '{factory}', 'options.count' = '3')"
    )
    return t_env


@pytest.mark.spark
def test_a_custom_source_can_be_a_table():
    t_env = environment_with("tests.table.functions:numbers")
    with t_env.execute_sql("SELECT square FROM t WHERE n > 0").collect() as rows:
        assert [row[0] for row in rows] == [1, 4]


def test_objects_other_than_sources_are_named_in_the_error():
    with pytest.raises(ValidationException, match="expected module:function"):
        environment_with("tests.table.functions:nothing").sql_query("SELECT * FROM t")
