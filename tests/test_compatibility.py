"""docs/compatibility.md lists all calls that raise NotImplementedError."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "docs" / "compatibility.py"


def test_the_table_is_up_to_date() -> None:
    module = runpy.run_path(str(SCRIPT))
    assert module["DOCUMENT"].read_text() == module["document"](), "run: python docs/compatibility.py"


def test_refusals_are_found_with_their_place_and_text() -> None:
    source = """
class A:
    def f(self, x):
        if x:
            raise NotImplementedError(f"no {x!r} yet")
    def abstract(self):
        raise NotImplementedError
    def g(self):
        raise NotImplementedError(f"{type(self).__name__} has no g")
"""
    found = runpy.run_path(str(SCRIPT))["refusals"](ast.parse(source))
    assert list(found) == [("A.f", "no {x} yet")]
