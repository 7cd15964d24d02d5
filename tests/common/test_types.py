from __future__ import annotations

import pickle

import pytest

from firesteel.common import Configuration, Duration, ExecutionConfig, RestartStrategies, Row, RowKind, Types
from firesteel.common.watermark_strategy import TimestampAssigner, WatermarkStrategy


class _Assigner(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value


def test_row_is_read_by_position_and_by_name():
    row = Row(name="Ann", age=11)
    assert (row.name, row["age"], row[0], len(row), list(row)) == ("Ann", 11, "Ann", 2, ["Ann", 11])
    assert "name" in row
    assert "Ann" not in row
    assert 11 in Row("Ann", 11)
    assert row.as_dict() == {"name": "Ann", "age": 11}


def test_row_of_names_makes_rows():
    assert Row("name", "age")("Ann", 11) == Row(name="Ann", age=11)


def test_row_without_names_equals_the_same_row_with_names():
    assert Row(1, 2) == Row(f0=1, f1=2)
    assert Row(a=1) != Row(b=1)


def test_the_order_of_named_fields_does_not_count():
    assert Row(a=1, b=2) == Row(b=2, a=1)
    assert hash(Row(a=1, b=2)) == hash(Row(b=2, a=1))
    assert Row(a=1, b=2) != Row(b=1, a=2)


def test_rows_of_other_kinds_are_not_equal():
    assert Row.of_kind(RowKind.DELETE, 1) != Row(1)


def test_row_survives_pickling():
    row = Row(a=1, b=[2])
    row.set_row_kind(RowKind.UPDATE_AFTER)
    again = pickle.loads(pickle.dumps(row))
    assert again == row
    assert again.get_row_kind() is RowKind.UPDATE_AFTER


def test_row_refuses_mixed_values_and_unknown_fields():
    with pytest.raises(ValueError, match="positional or named"):
        Row(1, a=2)
    with pytest.raises(AttributeError, match="'b' is not a field"):
        _ = Row(a=1).b


def test_the_repr_of_a_row_is_that_of_pyflink():
    assert (repr(Row(a=1)), repr(Row("x", 1)), str(RowKind.UPDATE_BEFORE)) == ("Row(a=1)", "<Row('x', 1)>", "-U")


@pytest.mark.parametrize(
    "type_info", [Types.INT(), Types.ROW([Types.STRING()]), Types.MAP(Types.STRING(), Types.LIST(Types.INT()))]
)
def test_type_information_is_pickled_and_compared_by_content(type_info):
    assert pickle.loads(pickle.dumps(type_info)) == type_info
    assert hash(pickle.loads(pickle.dumps(type_info))) == hash(type_info)


def test_names_of_fields_are_no_part_of_a_row_type():
    one, other = (Types.LIST(Types.ROW_NAMED([name], [Types.INT()])) for name in "ab")
    assert (one == other, hash(one) == hash(other)) == (True, True)
    assert Types.ROW_NAMED(["a"], [Types.INT()]) == Types.ROW([Types.INT()])


def test_types_differ_by_their_parts():
    assert Types.LIST(Types.INT()) != Types.LIST(Types.LONG())
    assert Types.ROW([Types.INT()]) != Types.ROW([Types.LONG()])
    assert Types.ROW([Types.INT()]) != Types.TUPLE([Types.INT()])


def test_array_of_strings_is_no_primitive_array():
    with pytest.raises(TypeError, match="PRIMITIVE_ARRAY takes elements of"):
        Types.PRIMITIVE_ARRAY(Types.STRING())


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("200", 200_000_000),
        ("200 ms", 200_000_000),
        ("10s", 10**10),
        (" 2 Min ", 120 * 10**9),
        ("1 d", 86400 * 10**9),
        ("5 µs", 5000),
        ("7ns", 7),
        ("P1DT2H", 93600 * 10**9),
        ("pt1m30.25s", 90_250_000_000),
        ("PT1M-1.5S", 58_500_000_000),
        ("-PT-1S", 10**9),
        ("P0D", 0),
    ],
)
def test_duration_is_read_from_text(text, nanos):
    assert Duration.parse(text).to_nanos() == nanos


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty- or whitespace-only"),
        ("soon", "does not start with a number"),
        ("-1 s", "does not start with a number"),
        ("1.5 s", r"unit label '\.5 s' does not match"),
        ("1 us", "unit label 'us' does not match .* MICROSECONDS: \\(µs "),
        ("P", "not a valid ISO-8601"),
        ("-PT1S", "negative duration"),
        ("PT-1S", "negative duration"),
        ("9223372036854775808 ns", "numeric overflow"),
    ],
)
def test_other_texts_are_no_durations(text, reason):
    with pytest.raises(ValueError, match=reason):
        Duration.parse(text)


def test_bad_setting_names_its_key():
    configuration = Configuration().set_string("a.b", "many")
    with pytest.raises(ValueError, match=r"a\.b: 'many' is not an integer"):
        configuration.get_integer("a.b", 1)
    with pytest.raises(ValueError, match=r"a\.b: 'many' is not a duration"):
        configuration.get_duration("a.b", Duration.of_millis(1))


def test_execution_config_writes_into_the_configuration():
    configuration = Configuration()
    config = ExecutionConfig(configuration).set_parallelism(3).set_auto_watermark_interval(50)
    assert config.set_global_job_parameters({"k": 1}).get_global_job_parameters() == {"k": "1"}
    assert configuration.get_string("parallelism.default", "") == "3"
    assert configuration.get_string("pipeline.auto-watermark-interval", "") == "50 ms"


def test_restart_strategy_becomes_options():
    options = RestartStrategies.fixed_delay_restart(3, 1000).to_options()
    assert options["restart-strategy.fixed-delay.delay"] == "1000 ms"


def test_watermark_strategy_is_immutable_data():
    base = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(2))
    strategy = base.with_timestamp_assigner(_Assigner()).with_idleness(Duration.of_seconds(1))
    assert (base.timestamp_assigner, base.idle_timeout) == (None, None)
    assert strategy.generator_kind == "bounded_out_of_orderness"
    assert strategy.max_out_of_orderness == Duration.of_seconds(2)
    assert strategy.timestamp_assigner.extract_timestamp(7, -1) == 7


@pytest.mark.parametrize("error", [KeyError, ValueError])
def test_a_field_that_a_row_does_not_have_is_an_error_of_pyflink_and_of_python(error):
    row = Row(a=1)
    with pytest.raises(error, match="'z' is not a field"):
        row["z"]
    with pytest.raises(error, match="'z' is not a field"):
        row["z"] = 1


def test_durations_are_whole_nanoseconds():
    assert str(Duration.of_nanos(1.5)) == str(Duration.of_nanos(1))
    assert Duration.of_days(1.5) == Duration.of_hours(36)
    with pytest.raises(TypeError, match="a duration takes a Real; found str '1'"):
        Duration.of_nanos("1")
