"""Writes the table of docs/compatibility.md that says which calls raise NotImplementedError, and what they say.

    python docs/compatibility.py

The rest of that page is written by hand.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCUMENT = ROOT / "docs" / "compatibility.md"
SOURCE = ROOT / "src" / "firesteel"
PACKAGES = ("common", "datastream", "metrics", "operators", "coordinator")

BEGIN = "<!-- written by docs/compatibility.py -->\n"
END = "<!-- end -->\n"


def refusals(tree: ast.AST, name: str = "") -> Iterator[tuple[str, str]]:
    """`(where, what it says)` of each `raise NotImplementedError(...)` below a node, abstract methods left out."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from refusals(node, f"{name}.{node.name}" if name else node.name)
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            message = _message(node.exc)
            if ast.unparse(node.exc.func) == "NotImplementedError" and message and "{self}" not in message:
                yield name.removesuffix(".__init__"), message
        else:
            yield from refusals(node, name)


def _message(call: ast.Call) -> str:
    """The text of an error; what is filled in stands in braces."""
    if not call.args:
        return ""
    argument = call.args[0]
    parts = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
    return "".join(str(part.value) if isinstance(part, ast.Constant) else f"{{{_name(part)}}}" for part in parts)


def _name(part: ast.expr) -> str:
    names = [node.id for node in ast.walk(part) if isinstance(node, ast.Name)]
    return names[-1] if names else "..."


def table() -> str:
    """All refusals as a table."""
    rows = []
    for package in PACKAGES:
        for path in sorted((SOURCE / package).rglob("*.py")):
            module = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            for where, message in refusals(ast.parse(path.read_text())):
                rows.append(f"| `{module}` | `{where}` | {message.replace('|', '/')} |\n")
    return "| module | where | what it says |\n|---|---|---|\n" + "".join(rows)


def document() -> str:
    """The page with its table made anew."""
    text = DOCUMENT.read_text()
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    DOCUMENT.write_text(document())
