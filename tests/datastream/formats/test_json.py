from __future__ import annotations

import datetime
import importlib.util
import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.common import Instant, Row, Types
from firesteel.connectors.formats.json import batch as json_batch
from firesteel.datastream.formats.json import JsonRowDeserializationSchema, JsonRowSerializationSchema

PAIR = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.STRING()])


@pytest.fixture(params=["json", "orjson"])
def parser(request, monkeypatch):
    if request.param == "json":
        find = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "orjson" else find(name))
    else:
        pytest.importorskip("orjson", reason="the extra firesteel[json] is not installed")


def schema(type_info=PAIR, **settings):
    builder = JsonRowDeserializationSchema.builder().type_info(type_info)
    for name in settings:
        builder = getattr(builder, name)()
    return builder.build()


def one_field(type_info):
    return Types.ROW_NAMED(["x"], [type_info])


@pytest.mark.parametrize(
    ("text", "type_info", "value"),
    [
        ("1", Types.INT(), 1),
        ('"12"', Types.INT(), 12),
        ("1.9", Types.INT(), 1),
        ("2147483647", Types.INT(), 2**31 - 1),
        ("1", Types.STRING(), "1"),
        ("true", Types.STRING(), "true"),
        ("1.0", Types.STRING(), "1.0"),
        ("1", Types.DOUBLE(), 1.0),
        ('"1.5"', Types.DOUBLE(), 1.5),
        ('"TRUE"', Types.BOOLEAN(), True),
        ("1.10", Types.BIG_DEC(), Decimal("1.10")),
        ("12345678901234567890123", Types.BIG_INT(), 12345678901234567890123),
        ('"2021-01-09"', Types.SQL_DATE(), datetime.date(2021, 1, 9)),
        ('"01:02:03Z"', Types.SQL_TIME(), datetime.time(1, 2, 3)),
        ('"2021-01-09T01:02:03.5Z"', Types.SQL_TIMESTAMP(), datetime.datetime(2021, 1, 9, 1, 2, 3, 500_000)),
        ('"1970-01-01T00:00:01Z"', Types.INSTANT(), Instant.of_epoch_milli(1000)),
        ('"YWI="', Types.PRIMITIVE_ARRAY(Types.BYTE()), b"ab"),
        ('[1, "2", null]', Types.LIST(Types.INT()), [1, 2, None]),
        ('{"k": "2"}', Types.MAP(Types.STRING(), Types.INT()), {"k": 2}),
        ('{"b": 1, "a": "2"}', PAIR, Row(a=2, b="1")),
        ('[2, "c"]', PAIR, Row(a=2, b="c")),
        ("null", Types.INT(), None),
        ('{"any": [1]}', Types.PICKLED_BYTE_ARRAY(), {"any": [1]}),
    ],
)
def test_a_field_is_read_as_its_type(parser, text, type_info, value):
    message = f'{{"x": {text}}}'.encode()
    read = schema(one_field(type_info))
    assert read.deserialize(message) == Row(x=value)
    assert read.deserialize_all([message, message]) == [Row(x=value), Row(x=value)]


@pytest.mark.parametrize(
    ("value", "type_info", "text"),
    [
        (datetime.time(1, 2, 3), Types.SQL_TIME(), '"01:02:03Z"'),
        (datetime.datetime(2021, 1, 9, 1, 2, 3, 500_000), Types.SQL_TIMESTAMP(), '"2021-01-09T01:02:03.5Z"'),
        (datetime.date(2021, 1, 9), Types.SQL_DATE(), '"2021-01-09"'),
        (b"ab", Types.PRIMITIVE_ARRAY(Types.BYTE()), '"YWI="'),
        ({"k": [Row(1, "x")]}, Types.MAP(Types.STRING(), Types.LIST(PAIR)), '{"k":[{"a":1,"b":"x"}]}'),
        (Instant.of_epoch_milli(1000), Types.INSTANT(), '"1970-01-01T00:00:01Z"'),
        (Decimal("12345678901234567890.10"), Types.BIG_DEC(), "12345678901234567890.10"),
        (1e10, Types.DOUBLE(), "1.0E10"),
        (float("inf"), Types.DOUBLE(), '"Infinity"'),
        (0.5, Types.FLOAT(), "0.5"),
        ({True: 1}, Types.MAP(Types.BOOLEAN(), Types.INT()), '{"true":1}'),
    ],
)
def test_a_field_is_written_as_its_type_and_read_again(value, type_info, text):
    written = JsonRowSerializationSchema.builder().with_type_info(one_field(type_info)).build().serialize(Row(value))
    assert written.decode() == f'{{"x":{text}}}'
    assert schema(one_field(type_info)).deserialize(written) == Row(x=value)


ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=5,
)
PARTS = st.sampled_from(
    ['{"a":[1', "2]}", '{"b":"1"},{"a":2}', '{"b":"1"}],\n[{"a":2}', '{"a":1', '"b":"x"}', '{"b":"x', '"}', "", "]"]
)
MESSAGES = st.lists((ANYTHING.map(json.dumps) | PARTS).map(str.encode), max_size=6)


@given(MESSAGES)
def test_many_messages_are_read_as_each_by_itself(messages):
    read = schema(ignore_parse_errors=True)
    assert read.deserialize_all(messages) == [read.deserialize(message) for message in messages]


@given(MESSAGES)
def test_many_messages_are_read_as_each_by_itself_without_orjson(messages):
    read = schema(ignore_parse_errors=True)
    read._read_all = lambda batch: json_batch._compiled(PAIR, False)(json_batch._parse_joined(PAIR, batch))
    assert read.deserialize_all(messages) == [read.deserialize(message) for message in messages]


def test_a_bad_message_is_named_by_its_position_and_field(parser):
    messages = [b'{"a": 1}'] * 100
    messages[41] = b'{"a": "x"}'
    with pytest.raises(
        ValueError, match=r"message 42 of 100: Failed to deserialize JSON b'.*': field a: '.*' is not an integer"
    ):
        schema().deserialize_all(messages)


def test_bad_messages_are_skipped_if_errors_are_ignored(parser):
    read = schema(ignore_parse_errors=True)
    assert read.deserialize_all([b"{", b'{"a":1}', b"[]", b""]) == [None, Row(a=1, b=None), None, None]


def test_a_missing_field_is_null_or_an_error(parser):
    assert schema().deserialize_all([b"{}"]) == [Row(a=None, b=None)]
    with pytest.raises(ValueError, match="Could not find field with name 'b'"):
        schema(fail_on_missing_field=True).deserialize_all([b'{"a":1,"b":""}', b'{"a":1}'])


def test_a_missing_field_of_a_nested_row_is_an_error_too(parser):
    read = schema(one_field(PAIR), fail_on_missing_field=True)
    with pytest.raises(ValueError, match="field x: Could not find field with name 'b'"):
        read.deserialize_all([b'{"x":{"a":1}}'])


@pytest.mark.parametrize("message", [b'{"a":NaN}', b'{"a":Infinity}'])
def test_numbers_that_json_does_not_have_are_refused(parser, message):
    with pytest.raises(ValueError, match="Failed to deserialize JSON"):
        schema(one_field(Types.DOUBLE())).deserialize_all([message])


def test_time_that_is_not_utc_is_refused():
    with pytest.raises(ValueError, match="field x: '2021-01-09T00:00:00\\+02:00' must be in UTC"):
        schema(one_field(Types.SQL_TIMESTAMP())).deserialize(b'{"x": "2021-01-09T00:00:00+02:00"}')


def test_a_json_schema_gives_the_type_as_in_flink():
    text = """{
      "definitions": {"place": {"type": "object", "properties": {"city": {"type": "string"}}}},
      "type": "object",
      "properties": {
        "n": {"type": "integer"}, "x": {"type": ["number", "null"]}, "b": {"type": "boolean"},
        "d": {"type": "string", "format": "date"}, "t": {"type": "string", "format": "date-time"},
        "raw": {"type": "string", "contentEncoding": "base64"},
        "at": {"oneOf": [{"type": "null"}, {"$ref": "#/definitions/place"}]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}
      }}"""
    built = JsonRowDeserializationSchema.builder().json_schema(text).build()
    assert built.row_type == Types.ROW_NAMED(
        ["n", "x", "b", "d", "t", "raw", "at", "tags", "pair"],
        [
            Types.BIG_INT(),
            Types.BIG_DEC(),
            Types.BOOLEAN(),
            Types.SQL_DATE(),
            Types.SQL_TIMESTAMP(),
            Types.PRIMITIVE_ARRAY(Types.BYTE()),
            Types.ROW_NAMED(["city"], [Types.STRING()]),
            Types.OBJECT_ARRAY(Types.STRING()),
            Types.ROW([Types.STRING(), Types.BIG_INT()]),
        ],
    )
    assert built.deserialize(b'{"n": 1, "at": {"city": "Graz"}, "tags": ["a"]}')["at"]["city"] == "Graz"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type": ["string", "integer"]}', "one type besides null is supported"),
        ('{"properties": {"a": {"anyOf": []}}}', "<root>/properties/a: 'anyOf' is not supported"),
        ('{"type": "object", "properties": {"a": {"$ref": "#/x"}}}', "reference '#/x' not found"),
        ('{"type": "float"}', "type 'float' is not supported"),
    ],
)
def test_an_unsupported_json_schema_is_rejected_with_its_position(text, message):
    with pytest.raises(ValueError, match=message):
        JsonRowDeserializationSchema.builder().json_schema(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("128", Types.BYTE()),
        ("-32769", Types.SHORT()),
        ("99999999999", Types.INT()),
        ('"99999999999"', Types.INT()),
        ("1e12", Types.INT()),
        (str(2**63), Types.LONG()),
        ('"1_0"', Types.LONG()),
    ],
)
def test_integers_that_do_not_fit_are_errors_and_do_not_wrap(text, kind):
    builder = JsonRowDeserializationSchema.builder().type_info(Types.ROW_NAMED(["a"], [kind]))
    message = f'{{"a": {text}}}'.encode()
    with pytest.raises(ValueError, match=r"field a: .*(out of the range|is not an integer)"):
        builder.build().deserialize(message)
    with pytest.raises(ValueError, match=r"field a: .*(out of the range|is not an integer)"):
        builder.build().deserialize_all([message])
    assert builder.ignore_parse_errors().build().deserialize_all([message]) == [Row(a=None)]
