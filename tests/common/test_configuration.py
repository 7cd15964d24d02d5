from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Configuration


def test_add_all_to_dict_keeps_the_types_of_values() -> None:
    configuration = Configuration()
    configuration.set_string("text", "1").set_integer("whole", 1).set_boolean("flag", True)
    configuration.set_float("number", 1.5).set_bytearray("bytes", bytearray(b"ab"))
    found: dict[str, Any] = {}
    configuration.add_all_to_dict(found)
    assert found == {"text": "1", "whole": 1, "flag": True, "number": 1.5, "bytes": b"ab"}
    assert [type(value) for value in found.values()] == [str, int, bool, float, bytes]


def test_to_dict_and_getters_give_what_was_set() -> None:
    configuration = Configuration().set_integer("whole", 1).set_boolean("flag", False).set_float("number", 1.5)
    assert configuration.to_dict() == {"whole": "1", "flag": "false", "number": "1.5"}
    assert configuration.get_string("whole", "") == "1"
    assert configuration.get_integer("whole", 0) == 1
    assert configuration.get_boolean("flag", True) is False
    assert configuration.get_float("number", 0.0) == 1.5
    assert configuration.set_bytearray("bytes", bytearray(b"ab")).get_bytearray("bytes", bytearray()) == b"ab"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", []),
        ("a;b", ["a", "b"]),
        ("- jar1\n- jar2", ["jar1", "jar2"]),
        ("[a, b]", ["a", "b"]),
        ("['a b', \"c\"]", ["a b", "c"]),
        ("[file:///a.jar]", ["file:///a.jar"]),
    ],
)
def test_lists_are_separated_texts_or_yaml(text: str, items: list[str]) -> None:
    assert Configuration.parse_list_value(text) == items


def test_a_boolean_may_be_given_as_text():
    configuration = Configuration().set_boolean("k", "false")
    assert configuration.get_boolean("k", True) is False
    for text in ("no way", "yes", "1", ""):
        with pytest.raises(ValueError, match=f"k: '{text}' is not a boolean"):
            configuration.set_boolean("k", text)
        with pytest.raises(ValueError, match=f"k: '{text}' is not a boolean"):
            Configuration().set_string("k", text).get_boolean("k", True)


def test_an_integer_has_no_underscores():
    with pytest.raises(ValueError, match="k: '1_0' is not an integer"):
        Configuration().set_string("k", "1_0").get_integer("k", 3)


def test_the_text_of_a_configuration_masks_secrets():
    configuration = Configuration.from_dict({"db.password": "geheim", "a": "1", "url": "jdbc://sa:geheim@db/x"})
    assert str(configuration) == "{db.password=******, a=1, url=jdbc://sa:******@db/x}"
    assert configuration.get_string("db.password", "") == "geheim"
