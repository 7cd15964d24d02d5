"""Objects of users that have the required methods of a base class without deriving from it."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar, cast

from firesteel.common.checks import with_article, with_class
from firesteel.functions.connector_base import Committer, SinkWriter

__all__ = ["REQUIRED", "completed"]

REQUIRED: dict[type, str] = {SinkWriter: "write", Committer: "commit"}
"""Base classes of objects that methods of users return in a running job, and the method without a default.

Objects that users pass to the API have to derive from their base class: `firesteel.common.checks.require`.
"""

T = TypeVar("T")


def completed(made: object, kind: type[T], maker: Any) -> T:
    """Return an object with all methods of a base class: those that it lacks have their defaults.

    Args:
        made: The object that a user's method returned.
        kind: One of `REQUIRED`.
        maker: The method that returned it, for the error.

    Raises:
        TypeError: the object lacks the method without a default.
    """
    if isinstance(made, kind):
        return made
    if not callable(getattr(made, REQUIRED[kind], None)):
        raise TypeError(
            f"{maker.__qualname__}() must return {with_article(kind)}, or an object with the method "
            f"{REQUIRED[kind]}(); found {with_class(made)}"
        )
    return cast(T, _Completed(made, kind))


class _Completed:
    def __init__(self, made: object, kind: type) -> None:
        self._made = made
        self._kind = kind

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # pickle asks before there are attributes
            raise AttributeError(name)
        try:
            return getattr(self._made, name)
        except AttributeError:
            # Bound to this object, so that a default that calls other methods finds those of the user.
            member = inspect.getattr_static(self._kind, name)
            return member.__get__(self) if hasattr(member, "__get__") else member
