"""Compilation of generated source text, once per process."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from types import CodeType
from typing import Any

__all__ = ["function_of", "run_source"]


@lru_cache(1024)
def _code(source: str, file: str) -> CodeType:
    return compile(source, file, "exec")


def run_source(source: str, scope: dict[str, Any], file: str) -> None:
    """Run source text, which defines functions in `scope`.

    Args:
        source: The text. It is compiled once, however often tasks open with it.
        scope: The names that it uses, and takes those that it defines.
        file: The path of the module that generates it, for tracebacks; `:compiled` is appended.
    """
    exec(_code(source, f"{file}:compiled"), scope)


def function_of(source: str, scope: dict[str, Any], file: str, name: str) -> Callable[..., Any]:
    """Return a function that source text defines; otherwise as `run_source`."""
    run_source(source, scope, file)
    function: Callable[..., Any] = scope[name]
    return function
