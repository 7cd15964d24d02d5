"""The code of examples in the pages: `python -m docs.generate.snippets` writes it anew, a test compares it.

It is between `<!-- code: FILE NAMES -->` and `<!-- end -->`: the named definitions of a file, or all of it but its
docstring.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]

_PLACE = re.compile(
    r"^(<!-- code: (\S+)((?: \w+)*) -->)$(?:\n\n```python\n.*?^```\n\n<!-- end -->$)?", re.MULTILINE | re.DOTALL
)


def with_snippets(markdown: str) -> str:
    """Return a page with the code that its places name.

    Raises:
        KeyError: a file has no definition of that name.
    """
    return _PLACE.sub(lambda match: f"{match[1]}\n\n{code_of(match[2], match[3].split())}\n\n<!-- end -->", markdown)


def code_of(file: str, names: list[str]) -> str:
    """Return a block of code: the named definitions of a program, or all of it but its docstring.

    Raises:
        KeyError: the program has no definition of that name.
    """
    text = (ROOT / file).read_text()
    lines, body = text.splitlines(), ast.parse(text).body
    parts = {name: lines[_first_line(node) - 1 : node.end_lineno] for node in body for name in _names(node)}
    found = ["\n".join(parts[name]) for name in names] or ["\n".join(lines[_first_line(body[1]) - 1 :])]
    return "```python\n" + "\n\n\n".join(found) + "\n```"


def _names(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Assign):
        return [name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return [node.name] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


if __name__ == "__main__":
    for page in sorted((ROOT / "docs").rglob("*.md")):
        page.write_text(with_snippets(page.read_text()))
