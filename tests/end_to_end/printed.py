"""Tables that a program prints."""

from __future__ import annotations

__all__ = ["printed_rows"]


def printed_rows(printed: str) -> list[tuple[str, ...]]:
    """Return the rows below the headers of the printed tables, sorted."""
    found: list[tuple[str, ...]] = []
    rules = 0
    for line in printed.splitlines():
        if line.startswith("+-"):
            rules += 1
        elif line.startswith("|") and rules % 3 == 2:
            found.append(tuple(cell.strip() for cell in line.strip("|").split("|")))
    return sorted(found)
