"""The table of columns in the documentation has each declared type, and the columns that its values really are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from firesteel.common import Types
from firesteel.common.encoding import encoded
from firesteel.common.encoding.kinds import Kind
from tests.common.test_json_values import CASES

PAGE = Path(__file__).parents[2] / "docs" / "internals" / "files.md"
COLUMNS = {
    name: re.findall(r"`(\w+)`", columns)
    for names, columns in re.findall(r"^\| (`[A-Z_`, ]+`) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    for name in re.findall(r"`(\w+)`", names)
}


def test_each_declared_type_is_in_the_table() -> None:
    assert set(COLUMNS) == {name for name in vars(Types) if not name.startswith("_")}


@pytest.mark.parametrize("name", sorted(set(COLUMNS) - {"PICKLED_BYTE_ARRAY"}))
def test_values_of_a_type_are_the_columns_of_the_table(name: str) -> None:
    kind = {
        "ROW": lambda: Types.ROW([Types.INT()]),
        "ROW_NAMED": lambda: Types.ROW_NAMED(["n"], [Types.INT()]),
        "TUPLE": lambda: Types.TUPLE([Types.INT()]),
        "MAP": lambda: Types.MAP(Types.INT(), Types.INT()),
        "LIST": lambda: Types.LIST(Types.INT()),
    }.get(name)
    made = getattr(Types, name)(Types.INT()) if name.endswith("_ARRAY") else (kind or getattr(Types, name))()
    is_plain = kind is None and not name.endswith("_ARRAY")
    values = [value for type_info, value in CASES if type(type_info) is type(made)
              and (not is_plain or repr(type_info) == repr(made))]  # fmt: skip
    assert values
    assert {Kind(encoded(value)[1]).name for value in values} <= set(COLUMNS[name]), values
