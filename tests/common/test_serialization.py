from __future__ import annotations

import pickle

import pytest

from firesteel.common import ByteArraySchema, SimpleStringSchema, Types


@pytest.mark.parametrize(
    ("charset", "text", "data"),
    [
        ("UTF-8", "a\u00e4", b"a\xc3\xa4"),
        ("ISO-8859-1", "a\u00e4", b"a\xe4"),
        ("UTF-16", "a", b"\xfe\xff\x00a"),
        ("UTF-16LE", "a", b"a\x00"),
        ("UTF-32", "a", b"\x00\x00\x00a"),
        ("GBK", "\u4e2d", b"\xd6\xd0"),
    ],
)
def test_text_has_the_bytes_that_java_gives_it(charset, text, data):
    schema = SimpleStringSchema(charset)
    assert schema.serialize(text) == data
    assert schema.deserialize(data) == text
    assert schema.deserialize_all([data, data]) == [text, text]


@pytest.mark.parametrize(
    ("charset", "data", "text"),
    [
        ("UTF-8", b"a\xff", "a\ufffd"),
        ("ascii", b"\xe4", "\ufffd"),
        ("UTF-16", b"\xff\xfea\x00", "a"),
        ("UTF-16", b"", ""),
    ],
)
def test_bytes_are_decoded_as_java_does(charset, data, text):
    assert SimpleStringSchema(charset).deserialize(data) == text


def test_unencodable_characters_become_question_marks():
    assert SimpleStringSchema("ISO-8859-1").serialize("\u4e2d") == b"?"


def test_an_unknown_charset_is_refused_at_once():
    with pytest.raises(LookupError, match="nope"):
        SimpleStringSchema("nope")


def test_a_schema_can_be_pickled():
    assert pickle.loads(pickle.dumps(SimpleStringSchema("GBK"))).serialize("\u4e2d") == b"\xd6\xd0"


def test_schemas_tell_their_type():
    assert SimpleStringSchema().get_produced_type() == Types.STRING()


def test_bytes_stay_as_they_are():
    assert ByteArraySchema().deserialize(b"\x00") == ByteArraySchema().serialize(b"\x00") == b"\x00"
