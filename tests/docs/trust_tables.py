"""The tables of sockets and of unpickling in the documentation."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "operations" / "security.md"


def rows_of(section: str) -> list[list[str]]:
    """Return the cells of the table in a section, without its head."""
    text = PAGE.read_text().split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
