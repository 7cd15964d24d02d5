"""What a program leaves: the lines that it prints, and those of the files below a directory, in any order."""

from __future__ import annotations

import re
from pathlib import Path

from tests.end_to_end.inputs import lines

__all__ = ["outcome"]


def outcome(printed: str, output: Path) -> list[str]:
    """Return the sorted lines, those of files with the directory of the file before them."""
    shown = [re.sub(r"^\d+> ", "", line) for line in printed.splitlines()]
    shown = [line for line in shown if not line.startswith("Job has been submitted")]
    files = [path for path in output.rglob("*") if path.is_file() and path.name[0] not in "._"]
    return sorted([*shown, *(f"{path.parent.relative_to(output)}: {line}" for path in files for line in lines(path))])
