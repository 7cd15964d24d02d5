"""Counts what a type checker does not look at: `python -m tests.typing.unchecked`, a part of `make lint`.

The counts may fall, but not rise.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "firesteel"

BOUNDS = {
    "annotations that are `Any`": 635,
    "mentions of `Any`": 2444,
    "`type: ignore`": 26,
}
"""The most of each that the sources may have. Lower them when the counts have fallen."""

_IGNORED = re.compile(r"#\s*type:\s*ignore")


def counts(source: Path) -> Counter[str]:
    """Return how often the sources turn the type checker off, by the ways of `BOUNDS`."""
    found: Counter[str] = Counter()
    for path in sorted(source.rglob("*.py")):
        text = path.read_text()
        tree = ast.parse(text)
        found["annotations that are `Any`"] += sum(map(_is_any, _annotations(tree)))
        found["mentions of `Any`"] += sum(map(_is_any, ast.walk(tree)))
        found["`type: ignore`"] += len(_IGNORED.findall(text))
    return found


def _annotations(tree: ast.Module) -> Iterator[ast.expr | None]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign):
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.returns


def _is_any(node: ast.AST | None) -> bool:
    return isinstance(node, ast.Name) and node.id == "Any"


def main() -> int:
    """Compare the counts with their bounds and return an exit code."""
    found = counts(SOURCE)
    for what, bound in BOUNDS.items():
        if found[what] > bound:
            print(f"{found[what]} {what} in {SOURCE}, at most {bound} are allowed: see Types in CONTRIBUTING.md.")
        elif found[what] < bound:
            print(f"{found[what]} {what} are left: lower the bound of {bound} in {Path(__file__).name}.")
    return any(found[what] > bound for what, bound in BOUNDS.items())


if __name__ == "__main__":
    sys.exit(main())
