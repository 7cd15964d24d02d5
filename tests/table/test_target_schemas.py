"""The target schema of `to_changelog_stream`: columns belong to it by their places, as in Flink."""

from __future__ import annotations

import pytest

from firesteel.datastream.functions import ProcessFunction
from firesteel.table import Schema
from firesteel.table.errors import ValidationException
from firesteel.testing import run_local
from tests.table.local_runs import environments

TIMED = """CREATE TABLE s (name STRING, score INT, t TIMESTAMP_LTZ(3), WATERMARK FOR t AS t) WITH (
  'connector' = 'filesystem', 'path' = '{}', 'format' = 'csv')"""


class Timed(ProcessFunction):
    def process_element(self, value, ctx):
        yield tuple(value), ctx.timestamp()


def changes(tmp_path, schema):
    (tmp_path / "rows.csv").write_text('a,1,"2024-01-01 00:00:01Z"\nb,2,"2024-01-01 00:00:02Z"\n')
    env, t_env = environments()
    t_env.execute_sql(TIMED.format(tmp_path))
    stream = t_env.to_changelog_stream(t_env.from_path("s"), schema)
    stream.process(Timed()).collect_async()
    names = stream.get_type().get_field_names()
    return names, run_local(env).elements


def schema_of(*columns):
    builder = Schema.new_builder()
    for name, kind in columns:
        builder.column(name, kind)
    return builder


FIRST_MS = 1704067201000


def test_names_and_types_are_those_of_the_schema(tmp_path):
    schema = schema_of(("a", "STRING"), ("b", "BIGINT"), ("c", "TIMESTAMP_LTZ(3)")).build()
    names, found = changes(tmp_path, schema)
    assert names == ["a", "b", "c"]
    assert [(row[:2], time) for row, time in found] == [(("a", 1), FIRST_MS), (("b", 2), FIRST_MS + 1000)]


def test_a_column_becomes_the_event_time(tmp_path):
    schema = schema_of(("name", "STRING"), ("score", "INT")).column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)").build()
    names, found = changes(tmp_path, schema)
    assert names == ["name", "score"]
    assert found == [(("a", 1), FIRST_MS), (("b", 2), FIRST_MS + 1000)]


def test_other_columns_are_left_out_of_the_schema(tmp_path):
    schema = (
        schema_of(("name", "STRING"), ("score", "INT"), ("t", "TIMESTAMP_LTZ(3)"))
        .column_by_expression("twice", "score * 2")
        .column_by_metadata("topic", "STRING", is_virtual=True)
        .build()
    )
    names, found = changes(tmp_path, schema)
    assert names == ["name", "score", "t"]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (schema_of(("name", "STRING")), "Different number of columns"),
        (
            schema_of(("score", "INT"), ("name", "STRING"), ("t", "TIMESTAMP_LTZ(3)")),
            "Incompatible types for sink column 'score' at position 1",
        ),
        (
            schema_of(("a", "STRING"), ("b", "INT")).column_by_metadata("topic", "TIMESTAMP_LTZ(3)"),
            "Invalid metadata key 'topic' in column 'topic'",
        ),
        (
            schema_of(("a", "STRING"), ("b", "INT")).column_by_metadata("rowtime", "STRING"),
            "Invalid data type for metadata column 'rowtime'",
        ),
    ],
)
def test_a_schema_that_does_not_fit_is_refused(tmp_path, schema, message):
    with pytest.raises(ValidationException, match=message):
        changes(tmp_path, schema.build())
