"""The documentation names each kernel that makes Python values of whole rows or keys."""

from __future__ import annotations

import re
from pathlib import Path

from firesteel.columns import kernels

ROOT = Path(__file__).parents[2]


def test_kernels_that_make_python_rows_are_named():
    called = re.compile(r"\b(rows_of|keys_of)\(")
    [folder] = kernels.__path__
    found = {path.stem for path in Path(folder).rglob("*.py") if called.search(path.read_text())}
    page = (ROOT / "docs/internals/sql.md").read_text()
    table = page.partition("### What makes Python tuples")[2].partition("\nOf one column")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == found
