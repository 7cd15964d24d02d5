"""The keyed state of a savepoint as a table."""

import shutil
from pathlib import Path

import pytest

from firesteel.common import Row
from firesteel.state_processor import OperatorIdentifier, SavepointReader
from firesteel.table.errors import ValidationException
from tests.table.environments import environment

SAVEPOINT = Path(__file__).parent.parent / "task" / "older_savepoints" / "described"
COLUMNS = (
    "k BIGINT, `value` ROW<number BIGINT, text STRING>, `list` ARRAY<ROW<n BIGINT, s STRING>>, "
    "m MAP<STRING, ARRAY<BIGINT>>, `sum` BIGINT, PRIMARY KEY (k) NOT ENFORCED"
)


def create(t_env, columns=COLUMNS, **options):
    declared = {
        "connector": "savepoint",
        "state.path": SAVEPOINT,
        "operator.uid": "kinds False",
        "fields.m.state-name": "map",
        "fields.m.state-type": "map",
        **options,
    }
    shown = ", ".join(f"'{key}' = '{value}'" for key, value in declared.items() if value is not None)
    t_env.execute_sql(f"CREATE TABLE state ({columns}) WITH ({shown})")


def rows(t_env, query):
    with t_env.execute_sql(query).collect() as found:
        return list(found)


@pytest.mark.spark
@pytest.mark.parametrize("uid", ["kinds False", "kinds True"])
def test_each_key_is_a_row_with_its_states(uid):
    reader, operator = SavepointReader.read(str(SAVEPOINT)), OperatorIdentifier.for_uid(uid)
    t_env = environment("batch")
    create(t_env, **{"operator.uid": uid})
    sums = dict(reader.read_keyed_state(operator, "sum"))
    values = dict(reader.read_keyed_state(operator, "value"))
    lists = dict(reader.read_keyed_state(operator, "list"))
    found = {row[0]: row for row in rows(t_env, "SELECT * FROM state")}
    assert len(found) == 7
    for key, (_, value, elements, entries, total) in found.items():
        assert (tuple(value), total) == (tuple(values[key]), sums[key])
        assert [tuple(element) for element in elements] == lists[key]
        assert entries == {at: item for of, at, item in reader.read_map_state(operator, "map") if of == key}
    assert rows(t_env, "SELECT SUM(`sum`), COUNT(*) FROM state") == [Row(sum(sums.values()), 7)]
    assert rows(t_env, "SELECT `sum` FROM state WHERE k = 3") == [Row(sums[3])]


@pytest.mark.spark
def test_the_newest_checkpoint_of_a_job_is_read(tmp_path):
    job = tmp_path / "checkpoints"
    for number in (9, 10):
        shutil.copytree(SAVEPOINT, job / f"chk-{number}")
    (job / "chk-9" / "versions").rename(job / "chk-9" / "lost")
    t_env = environment("batch", parallelism=2)
    create(t_env, **{"state.path": job})
    assert rows(t_env, "SELECT COUNT(*) FROM state") == [Row(7)]


@pytest.mark.spark
def test_what_the_savepoint_does_not_have_is_named():
    t_env = environment("batch")
    create(t_env, "k BIGINT, other BIGINT, PRIMARY KEY (k) NOT ENFORCED", **dict.fromkeys(FIELDS))
    with pytest.raises(Exception, match=r"operator 'KEYED PROCESS' has no state 'other'; it has 'all', 'list', 'map'"):
        rows(t_env, "SELECT * FROM state")
    t_env.execute_sql("DROP TABLE state")
    create(t_env, **{"operator.uid": "nothing"})
    with pytest.raises(Exception, match=r"there is no operator [0-9a-f]{32} in .*; it has 'Source: numbers'"):
        rows(t_env, "SELECT * FROM state")


FIELDS = ("fields.m.state-name", "fields.m.state-type")


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (COLUMNS, {"state.path": None}, r"Missing required options are:\s+state.path"),
        (COLUMNS, {"operator.uid": None}, "Either 'operator.uid' or 'operator.uid.hash' must be set, found none"),
        (COLUMNS, {"operator.uid.hash": "0" * 32}, "must be set, found ..operator.uid., .operator.uid.hash.."),
        ("k BIGINT, m MAP<STRING, INT>", {}, "needs the key of the operator in one column, .* found none"),
        (COLUMNS, {"fields.lost.state-name": "map"}, "Option 'fields.lost.state-name' names no column with a state"),
        (COLUMNS, {"fields.k.state-name": "map"}, "Option 'fields.k.state-name' names no column with a state"),
        (COLUMNS, {"fields.m.state-type": "set"}, "must be one of value, list, map; found 'set'"),
        (COLUMNS, {"fields.m.key-class": "java.lang.Long"}, "names a class of Java"),
        (COLUMNS, {"fields.m.colour": "red"}, "Option 'fields.m.colour' is not known"),
        (COLUMNS, {"colour": "red"}, "Unsupported options found for 'savepoint'"),
    ],
)
def test_options_that_do_not_fit(columns, options, message):
    t_env = environment("batch")
    create(t_env, columns, **options)
    with pytest.raises(ValidationException, match=message):
        t_env.sql_query("SELECT * FROM state").explain()


def test_a_savepoint_is_not_written():
    t_env = environment("batch")
    create(t_env, "k BIGINT, `sum` BIGINT, PRIMARY KEY (k) NOT ENFORCED", **dict.fromkeys(FIELDS))
    with pytest.raises(ValidationException, match="Connector 'savepoint' can only be used as a source"):
        t_env.execute_sql("INSERT INTO state VALUES (1, 2)")
