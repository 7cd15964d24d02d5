"""Whether a program that was stopped on trial had more to do than what it was doing."""

from __future__ import annotations

import ast
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from firesteel.migration.error_origin import is_of_program

__all__ = ["has_rest"]

_BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


def has_rest(trace: TracebackType | None, directory: str) -> bool:
    """Return whether statements of a program can follow those at which an error passed it.

    None follow an endless loop, nor the last statement of the program. Where it is unknown, some do.

    Args:
        trace: Of the error.
        directory: That of the program.
    """
    frames = [frame for frame in traceback.extract_tb(trace) if is_of_program(frame.filename, directory)]
    if not frames:
        return True
    steps = [step for frame in frames for step in _steps(frame.filename, frame.lineno or 0)]
    return any(not is_last for _, is_last in steps) and not any(_is_endless(statement) for statement, _ in steps)


def _steps(file: str, line: int) -> Iterator[tuple[ast.AST, bool]]:
    """Yield the statements around a line of a file, the outermost first, each with whether it is the last of its block.

    They begin within the innermost function.
    """
    try:
        node: ast.AST = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        yield ast.Pass(), False
        return
    found: list[tuple[ast.AST, bool]] = []
    while (step := _inner(node, line)) is not None:
        node = step[0]
        found = [] if isinstance(node, _SCOPES) else [*found, step]
    yield from found


def _inner(node: ast.AST, line: int) -> tuple[ast.AST, bool] | None:
    for name in _BLOCKS:
        block: list[ast.AST] = getattr(node, name, [])
        if not isinstance(block, list):  # That of a lambda is an expression.
            continue
        for place, one in enumerate(block):
            if _holds(one, line):
                # Handlers and cases are alternatives.
                return one, place == len(block) - 1 or name in ("handlers", "cases")
    return None


def _holds(node: ast.AST, line: int) -> bool:
    lines = [number for inner in ast.walk(node) for number in _lines_of(inner)]
    return bool(lines) and min(lines) <= line <= max(lines)


def _lines_of(node: ast.AST) -> tuple[int, ...]:
    first, last = getattr(node, "lineno", None), getattr(node, "end_lineno", None)
    return () if first is None or last is None else (first, last)


def _is_endless(node: ast.AST) -> bool:
    """Return whether a statement is a loop whose condition is always true, and that nothing leaves but an error."""
    if not isinstance(node, ast.While) or not isinstance(node.test, ast.Constant) or not node.test.value:
        return False
    return not any(_leaves(statement, within_loop=False) for statement in node.body)


def _leaves(node: ast.AST, within_loop: bool) -> bool:
    if isinstance(node, ast.Return) or (isinstance(node, ast.Break) and not within_loop):
        return True
    if isinstance(node, _SCOPES):
        return False
    within = within_loop or isinstance(node, ast.While | ast.For | ast.AsyncFor)
    return any(_leaves(inner, within) for inner in ast.iter_child_nodes(node))
