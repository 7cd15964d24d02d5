from __future__ import annotations

import math
from collections.abc import Callable
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


GETTERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "float": (
        7.5,
        {
            **{
                "1e3": 1000.0,
                " 1": 1.0,
                "1 ": 1.0,
                "1f": 1.0,
                "1F": 1.0,
                "1d": 1.0,
                "0x1p3": 8.0,
                "+1": 1.0,
                ".5": 0.5,
            },
            **{"5.": 5.0, ".5": 0.5, "1e50": 1e50, "1e400": math.inf, "Infinity": math.inf, "-Infinity": -math.inf},
            **dict.fromkeys(["nan", "inf", "1_0", "", "1,5", "true"]),
        },
    ),
    "integer": (
        7,
        {
            **{"1": 1, "+1": 1, "-0": 0, "007": 7, "2147483648": 2**31, "-2147483649": -(2**31) - 1},
            **dict.fromkeys([" 1", "1_0", "0x10", "", "1.0", "9223372036854775808", "1L", "true"]),
        },
    ),
    "boolean": (
        True,
        {
            **{"true": True, "TRUE": True, "True": True, "false": False, "FALSE": False},
            **dict.fromkeys([" true", "yes", "no", "on", "off", "1", "0", ""]),
        },
    ),
}
"""Texts with the values that PyFlink 2.3's getters return, or None where they raise."""


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, (_, texts) in GETTERS.items() for text in texts])
def test_texts_are_read_as_in_pyflink(kind: str, text: str) -> None:
    default, texts = GETTERS[kind]
    configuration = Configuration().set_string("key", text)
    if texts[text] is None:
        with pytest.raises(ValueError, match=r"^key: "):
            getattr(configuration, f"get_{kind}")("key", default)
    else:
        assert getattr(configuration, f"get_{kind}")("key", default) == texts[text]


SETTERS: dict[str, tuple[list[Any], list[Any]]] = {
    "string": (["a", ""], [None, 1, 1.5, True, b"x", ["a"]]),
    "integer": ([1, "1", 2**31, -(2**63)], [None, "x", 1.5, True, 2**63, b"x"]),
    "boolean": ([True, "true", "TRUE"], [None, 0, 1, "yes", "", 1.5]),
    "float": ([1.5, 1, "1.5", True, 2**40, 1e300], [None, "x", b"1"]),
    "bytearray": ([bytearray(b"ab"), b"ab"], [None, "ab", 1, [1, 2]]),
}
"""Values that PyFlink 2.3 sets and gets, and values for which its setter or the getter raises."""


@pytest.mark.parametrize("kind", SETTERS)
def test_setters_take_the_values_that_pyflinks_getters_give_back(kind: str) -> None:
    taken, refused = SETTERS[kind]
    for value in taken:
        getattr(Configuration(), f"set_{kind}")("key", value)
    for value in refused:
        with pytest.raises((TypeError, ValueError), match=r"^key"):
            getattr(Configuration(), f"set_{kind}")("key", value)


def test_floats_have_the_text_of_java() -> None:
    values = {"large": 1e10, "huge": 1e300, "whole": 1.0, "none": math.nan, "most": math.inf}
    configuration = Configuration()
    for key, value in values.items():
        configuration.set_float(key, value)
    texts = {"large": "1.0E10", "huge": "1.0E300", "whole": "1.0", "none": "NaN", "most": "Infinity"}
    assert configuration.to_dict() == texts
    assert all(configuration.get_float(key, 0) == value or math.isnan(value) for key, value in values.items())


@pytest.mark.parametrize(
    "call",
    [
        lambda: Configuration().set_string(None, "a"),  # type: ignore[arg-type]
        lambda: Configuration().set_integer(1, 1),  # type: ignore[arg-type]
        lambda: Configuration().get_string(None, "a"),  # type: ignore[arg-type]
        lambda: Configuration().get_integer(None, 1),  # type: ignore[arg-type]
        lambda: Configuration().get_string("key", 1),  # type: ignore[arg-type]
        lambda: Configuration().get_float("key", None),  # type: ignore[arg-type]
        lambda: Configuration().get_bytearray("key", None),  # type: ignore[arg-type]
        lambda: Configuration().add_all(None),  # type: ignore[arg-type]
        lambda: Configuration().add_all(Configuration(), 1),  # type: ignore[arg-type]
        lambda: Configuration({}),  # type: ignore[arg-type]
        lambda: Configuration.from_dict({"key": None}),  # type: ignore[dict-item]
    ],
)
def test_keys_and_defaults_of_other_types_are_refused(call: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=" takes a"):
        call()


def test_defaults_may_be_none_where_pyflinks_may() -> None:
    configuration = Configuration()
    found = [configuration.get_string("key", None), configuration.get_integer("key", None)]  # type: ignore[arg-type]
    assert [*found, configuration.get_boolean("key", None)] == [None] * 3  # type: ignore[arg-type]
    assert configuration.get_float("key", 1) == 1.0
    assert configuration.get_bytearray("key", b"x") == bytearray(b"x")  # type: ignore[arg-type]
