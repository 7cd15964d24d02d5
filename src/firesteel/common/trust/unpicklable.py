"""Which variable of a user's function cannot be sent to other processes."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, MethodType

from firesteel.errors import FiresteelError

__all__ = ["UnpicklableError", "explained"]

_MOST_STEPS = 20

Dumps = Callable[[object], bytes]


class UnpicklableError(FiresteelError, pickle.PicklingError, TypeError):
    """Something that a job carries to its slots cannot be pickled; the argument says what, and where it is used."""


def explained(value: object, dumps: Dumps) -> str | None:
    """Return what in a value can't be pickled, and which functions use it; None if nothing of it is to blame.

    Args:
        value: Such as a job graph.
        dumps: Pickles a part of it, or raises.

    Example:
        >>> import threading
        >>> lock = threading.Lock()
        >>> def count(word):
        ...     with lock:
        ...         return word
        >>> import cloudpickle
        >>> explained([count], cloudpickle.dumps)
        "variable 'lock' of count() (...) is a _thread.lock"
    """
    steps: list[str] = []
    for _ in range(_MOST_STEPS):
        blamed = next(((name, part) for name, part in _parts(value) if not _is_fine(part, dumps)), None)
        if blamed is None:
            break
        name, value = blamed
        if name:
            steps.append(name)
    if not steps:
        return None
    kind = type(value)
    return f"{' of '.join(reversed(steps))} is a {kind.__module__}.{kind.__qualname__}"


def _is_fine(value: object, dumps: Dumps) -> bool:
    try:
        dumps(value)
    except Exception:  # objects may raise anything when they are pickled
        return False
    return True


def _parts(value: object) -> Iterator[tuple[str, object]]:
    """Yield what a value consists of, with the name by which a user knows it, if there is one."""
    if isinstance(value, FunctionType):
        yield from _variables(value)
    elif isinstance(value, MethodType):
        yield "", value.__self__
    elif isinstance(value, Mapping):
        yield from (("", part) for part in value.values())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (("", part) for part in value)
    else:
        yield from _attributes(value)


def _variables(function: FunctionType) -> Iterator[tuple[str, object]]:
    code = function.__code__
    place = f"{function.__name__}() ({code.co_filename}:{code.co_firstlineno})"
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        yield f"variable {name!r} of {place}", cell.cell_contents
    for name in sorted(_global_names(code) & function.__globals__.keys()):
        yield f"variable {name!r} of {place}", function.__globals__[name]
    for part in function.__defaults__ or ():
        yield f"a default of {place}", part


def _global_names(code: CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*map(_global_names, inner))


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    """Yield what the pickle of an object holds."""
    kind = type(value)
    is_ours = kind.__module__.startswith("firesteel.")
    operator = f"operator {getattr(value, 'name', '')!r}" if hasattr(value, "chain_index") else ""
    state = value.__getstate__()  # of `object`, since Python 3.11
    for part in state if isinstance(state, tuple) else (state,):
        if isinstance(part, dict):
            for name, attribute in part.items():
                yield operator if is_ours else f"attribute {name!r} of {kind.__name__}", attribute
        elif part is not None:
            yield operator, part
