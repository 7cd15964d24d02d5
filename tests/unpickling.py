"""The places in the sources that unpickle, or load something else that can run code."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "firesteel"
MODULES = ("pickle", "_pickle", "cPickle", "cloudpickle", "dill", "marshal", "shelve", "joblib")
NAMES = ("load", "loads", "Unpickler", "open", "_loads", "_load")
OTHERS = (
    "read_pickle",
    "allow_pickle",
    "unsafe_load",
    "full_load",
    "UnsafeLoader",
    "CPickleSerializer",
    "PickleSerializer",
)


def unpicklings() -> set[tuple[str, str]]:
    """Return the file, and the name of the function or class, of each place."""
    return {
        (str(path.relative_to(SOURCE)), place)
        for path in sorted(SOURCE.rglob("*.py"))
        if any(name in path.read_text() for name in (*MODULES, *OTHERS))
        for place in _places(ast.parse(path.read_text()))
    }


def _places(tree: ast.Module) -> Iterator[str]:
    modules, names = _imported(tree)

    def visit(node: ast.AST, around: tuple[str, ...]) -> Iterator[str]:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            around = (*around, node.name)
        if _unpickles(node, modules, names):
            yield ".".join(around) or "module"
        for child in ast.iter_child_nodes(node):
            yield from visit(child, around)

    yield from visit(tree, ())


def _imported(tree: ast.Module) -> tuple[set[str], set[str]]:
    """Return the local names of the modules, and of what was imported from them."""
    modules, names = set[str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(alias.asname or alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            names.update(alias.asname or alias.name for alias in node.names if alias.name in NAMES)
    return modules, names


def _unpickles(node: ast.AST, modules: set[str], names: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        is_of_module = isinstance(node.value, ast.Name) and node.value.id in modules and node.attr in NAMES
        return is_of_module or node.attr in OTHERS
    if isinstance(node, ast.keyword):
        return node.arg in OTHERS
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names
