"""Detection of functions that can't keep their arguments or results, whose results need no copies."""

from __future__ import annotations

import builtins
import sys
from enum import Enum
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType

_SAFE_BUILTINS = frozenset(
    {
        *("abs", "all", "any", "bool", "bytes", "chr", "dict", "divmod", "enumerate", "float", "frozenset", "hash"),
        *("int", "isinstance", "len", "list", "max", "min", "ord", "pow", "range", "repr", "reversed", "round", "set"),
        *("sorted", "str", "sum", "tuple", "zip"),
    }
)
"""Builtins that neither keep their arguments nor return shared objects."""


def keeps_nothing(function: object) -> bool:
    """Return whether a function has no place to keep a value: no object, closure, default or global of its own.

    Its results are then new or come from its argument. This is true for most lambdas and functions of the standard
    library. Elements whose own methods keep references are not detected.

    Example:
        >>> keeps_nothing(lambda pair: pair[0]), keeps_nothing(lambda pair: pair.total())
        (True, False)
    """
    if isinstance(function, type):
        return function.__module__ == "builtins"
    if isinstance(function, BuiltinFunctionType):
        owner = function.__self__
        # A bound method such as `list.append` keeps what it gets.
        return owner is None or isinstance(owner, ModuleType)
    if not isinstance(function, FunctionType) or function.__closure__:
        return False
    if (function.__module__ or "").partition(".")[0] in sys.stdlib_module_names:
        return True
    # A mutable default or attribute is a place where values can be kept.
    if function.__defaults__ or function.__kwdefaults__ or function.__dict__:
        return False
    return all(_is_safe(name, function.__globals__) for name in _names(function.__code__))


def _names(code: CodeType) -> set[str]:
    """Return the names of globals and attributes that code and its nested code refer to."""
    nested = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return set(code.co_names).union(*map(_names, nested))


def _is_safe(name: str, scope: dict[str, object]) -> bool:
    return name in _SAFE_BUILTINS and (name not in scope or scope[name] is getattr(builtins, name))


def is_ours(strategy: object) -> bool:
    """Return whether an assigner or trigger consists only of firesteel's own code, which keeps no elements."""
    kind = strategy if isinstance(strategy, (type, FunctionType)) else type(strategy)
    if kind.__module__ == "builtins":
        return not callable(strategy)
    if kind is strategy or isinstance(strategy, Enum):
        return kind.__module__.startswith("firesteel.")
    slots = [getattr(strategy, name, None) for name in getattr(kind, "__slots__", ())]
    parts = [*slots, *getattr(strategy, "__dict__", {}).values()]
    return kind.__module__.startswith("firesteel.") and all(map(is_ours, parts))
