"""The options of connectors agree with the documentation."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from firesteel.connectors.identifiers import table_connectors
from firesteel.connectors.option_table import OptionTable
from firesteel.table.errors import ValidationException

PAGE = (Path(__file__).parents[2] / "docs/table_connectors.md").read_text()
PREFIXES = ("http.", "gid.connector.http.")
"""Prefixes of options that the page gives without them."""


def tables() -> dict[str, OptionTable]:
    found: dict[str, OptionTable] = {}
    for identifier, module in table_connectors().items():
        one = getattr(importlib.import_module(module), "OPTIONS", {})
        found |= {identifier: one[identifier]} if isinstance(one, dict) and identifier in one else {}
    spark = importlib.import_module("firesteel.connectors.spark.formats").OPTIONS
    return found | spark


@pytest.mark.parametrize("identifier", tables())
def test_each_option_is_named_by_the_page(identifier: str) -> None:
    missing = []
    for option in tables()[identifier].all_options():
        name = next((option.removeprefix(p) for p in PREFIXES if option.startswith(p)), option)
        parts = name.split(".")
        generic = {f"{'.'.join(parts[:n])}.*" for n in range(1, len(parts))}
        if not any(f"`{one}`" in PAGE for one in (name, *generic)) and not name.startswith("fields."):
            missing.append(option)
    assert missing == []


@pytest.mark.parametrize("identifier", tables())
def test_an_option_is_of_one_kind(identifier: str) -> None:
    table = tables()[identifier]
    kinds = [set(table.optional), set(table.unused), set(table.refused), set(table.formats)]
    assert sum(map(len, kinds)) == len(set().union(*kinds))
    assert not {*table.unused, *table.refused} & {*table.required}


@pytest.mark.parametrize("identifier", tables())
def test_refused_options_have_their_reason_in_the_message(identifier: str) -> None:
    table = tables()[identifier]
    for option, reason in table.refused.items():
        given = dict.fromkeys(table.required, "x") | {option: "1"}
        message = f"Option '{option}' of '{identifier}' is not supported: {reason}"
        with pytest.raises(ValidationException, match=re.escape(message)):
            table.read(given, identifier)
    given = dict.fromkeys(table.required, "x") | {"no.such.option": "1"}
    with pytest.raises(ValidationException, match=r"Unsupported options:\n\nno\.such\.option"):
        table.read(given, identifier)
