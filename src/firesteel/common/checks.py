"""Checks of the objects that users pass to the API."""

from __future__ import annotations

from inspect import isgeneratorfunction
from types import NoneType

__all__ = ["BELONG_TO", "require", "require_function", "with_article", "with_class"]

BELONG_TO = {
    "KeyedProcessFunction": "a stream after key_by()",
    "ProcessFunction": "a stream without key_by()",
    "ProcessWindowFunction": "a stream after key_by() and window()",
    "WindowFunction": "a stream after key_by() and window()",
    "ProcessAllWindowFunction": "a stream after window_all()",
    "AllWindowFunction": "a stream after window_all()",
    "CoProcessFunction": "connected streams without key_by()",
    "KeyedCoProcessFunction": "connected streams that both have a key_by()",
    "BroadcastProcessFunction": "a stream without key_by() that is connected to a BroadcastStream",
    "KeyedBroadcastProcessFunction": "a stream after key_by() that is connected to a BroadcastStream",
}
"""Streams whose `process()` or `apply()` takes a class of functions; who mixes them up has often left out a call."""


def with_article(named: type | str) -> str:
    """Return the name of a class with the article that fits.

    Example:
        >>> with_article(int), with_article(str), with_article("UUID")
        ('an int', 'a str', 'a UUID')
    """
    name = named if isinstance(named, str) else named.__name__
    return f"an {name}" if name[:1].lower() in set("aeio") else f"a {name}"


def with_class(given: object) -> str:
    """Return an object after the name of its class; None is its own.

    Example:
        >>> with_class(7), with_class(None)
        ('int 7', 'None')
    """
    return "None" if given is None else f"{type(given).__name__} {given!r}"


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
        allowed = kinds if isinstance(kinds, tuple) else (kinds,)
        names = " or ".join("None" if kind is NoneType else kind.__name__ for kind in allowed)
        raise TypeError(f"{call} takes {with_article(names)}; found {with_class(given)}{_belongs(given)}")


def _belongs(given: object) -> str:
    known = next((one.__name__ for one in type(given).__mro__ if one.__name__ in BELONG_TO), None)
    return "" if known is None else f", {with_article(known)}, which is for {BELONG_TO[known]}"


def require_one_result(function: object, call: str, instead: str) -> None:
    """Check that a function does not yield, where what it returns is a result itself.

    Args:
        function: The function, or the method that is called.
        call: What takes it.
        instead: What takes functions that yield.

    Raises:
        TypeError: it does.
    """
    if isgeneratorfunction(function):
        raise TypeError(f"a function of {call} returns one result; found {function!r}, which yields: use {instead}")


def require_function(given: object, kind: type, call: str) -> None:
    """Check that an object is an instance of a class or a callable; otherwise as `require`.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(given, kind) and not callable(given):
        raise TypeError(f"{call} takes {with_article(kind)} or a callable; found {with_class(given)}")
