"""The examples in the docstrings of the Table API run, and print what they show."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = (
    "catalog_base",
    "catalog_objects",
    "environment_settings",
    "expression",
    "expressions",
    "schema",
    "table",
    "table_config",
    "table_descriptor",
    "table_environment",
    "udf",
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_docstrings_run(name: str) -> None:
    results = doctest.testmod(importlib.import_module(f"firesteel.table.{name}"), optionflags=doctest.ELLIPSIS)
    assert results.attempted > 0
    assert results.failed == 0
