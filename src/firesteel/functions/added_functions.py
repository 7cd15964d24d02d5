"""Functions of users, as they are when they are added to a program."""

from __future__ import annotations

import pickle
from typing import TypeVar

__all__ = ["as_added"]

T = TypeVar("T")


def as_added(value: T) -> T:
    """Return a copy of a function or a descriptor, which later changes of the program do not reach.

    PyFlink pickles a function in the call that takes it. So a lambda made in a loop keeps the value that the variable
    of the loop had, and operators that are given the same object have one each.

    Example:
        >>> functions = []
        >>> for factor in (1, 2):
        ...     functions.append(as_added(lambda number: number * factor))
        >>> [function(10) for function in functions]
        [10, 20]
    """
    # Here, as cloudpickle takes time to import, which programs without functions save.
    from firesteel.common.trust import pickling

    try:
        copy: T = pickle.loads(pickling.dumps(value))
    except (Exception, SystemExit):  # objects may raise anything; the submission pickles them again, and tells it
        return value
    return copy
