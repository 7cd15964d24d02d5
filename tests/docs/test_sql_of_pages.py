"""The SQL of pages and templates is SQL: none of its names became a reserved word, and no clause has gone."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.generate.hooks import ROOT
from firesteel.table.planner.parse.parser import parse
from firesteel.table.planner.parse.script import split_statements

FILES = [
    ROOT / "README.md",
    *(path for where in ("docs", "examples", "templates") for path in (ROOT / where).rglob("*")),
]


def statements_of(path: Path) -> list[str]:
    blocks = [path.read_text()] if path.suffix == ".sql" else []
    if path.suffix == ".md":
        blocks = re.findall(r"^```sql\n(.*?)^```$", path.read_text(), re.MULTILINE | re.DOTALL)
    return [statement.text for block in blocks for statement in split_statements(block)]


STATEMENTS = {
    f"{path.relative_to(ROOT)}-{number}": text
    for path in sorted(FILES)
    for number, text in enumerate(statements_of(path))
}


@pytest.mark.parametrize("text", STATEMENTS.values(), ids=STATEMENTS)
def test_statements_are_parsed(text: str) -> None:
    assert parse(text) is not None


def test_statements_are_found() -> None:
    assert len(STATEMENTS) > 30
