"""Checks of the objects that users pass to the API."""

from __future__ import annotations

__all__ = ["require"]


def require(given: object, kinds: type | tuple[type, ...], call: str) -> None:
    """Check that an object is an instance of one of the given classes, as built-in code calls methods of these.

    Raises:
        TypeError: it is not.

    Example:
        >>> require(7, str, "set_topic()")
        Traceback (most recent call last):
        TypeError: set_topic() takes a str; found int 7
    """
    if not isinstance(given, kinds):
        names = " or ".join(kind.__name__ for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))
        raise TypeError(f"{call} takes a {names}; found {type(given).__name__} {given!r}")


def require_function(given: object, kind: type, call: str) -> None:
    """Check that an object is an instance of a class or a callable; otherwise as `require`.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(given, kind) and not callable(given):
        raise TypeError(f"{call} takes a {kind.__name__} or Callable; found {type(given).__name__} {given!r}")
