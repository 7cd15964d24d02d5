"""The programs of this directory; they import `pyflink`, which is PyFlink or firesteel under its name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from inspect import isfunction, signature
from typing import Any

MODES = ("STREAMING", "BATCH")
PARALLELISM = 2

_MODULES = ("windows", "functions", "kinds")


def keys() -> list[str]:
    """Return each program in each mode in which PyFlink runs it."""
    return [f"{name} {mode}" for mode in MODES for name in builders() if mode == "STREAMING" or _is_batch_program(name)]


def _is_batch_program(name: str) -> bool:
    """Return whether a result in BATCH mode can be compared.

    PyFlink waits for itself for ever in windows by event time, and Flink chooses the parallelism.
    """
    module, _, program = name.partition(".")
    if module == "windows":
        return program.startswith(("counted", "purging", "never"))
    return not program.startswith("subtasks")


def builders() -> dict[str, Callable[[Any], Any]]:
    """Return the functions that build the programs, by name: each returns a stream of texts."""
    found: dict[str, Callable[[Any], Any]] = {}
    for name in _MODULES:
        module = import_module(f"tests.flink_recordings.streams.programs.{name}")
        made = getattr(module, "BUILDERS", None) or {
            key: value
            for key, value in vars(module).items()
            if isfunction(value) and value.__module__ == module.__name__ and [*signature(value).parameters] == ["env"]
        }
        found |= {f"{name}.{key}": value for key, value in made.items()}
    return found
