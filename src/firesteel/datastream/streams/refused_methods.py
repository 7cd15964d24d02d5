"""Inherited methods of streams that are not supported."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import NoReturn

from firesteel.common.checks import with_article
from firesteel.errors import InvalidProgramError


def refuse(stream: type, names: Iterable[str], allowed: str) -> None:
    """Replace methods of a stream class by ones that raise an `InvalidProgramError`.

    Args:
        stream: The class that inherits the methods.
        names: Names of the methods.
        allowed: What to do instead, for the message.
    """
    for name in names:
        setattr(stream, name, _refused(stream, name, allowed))


def _refused(stream: type, name: str, allowed: str) -> Callable[..., NoReturn]:
    def refused(self: object, *args: object, **kwargs: object) -> NoReturn:
        raise InvalidProgramError(f"{name}() is not supported on {with_article(stream)}: {allowed}")

    refused.__doc__ = f"""Raise an error: {allowed}.

    Raises:
        InvalidProgramError: always.
    """
    refused.__name__ = name
    refused.__qualname__ = f"{stream.__name__}.{name}"
    vars(refused)["__signature__"] = inspect.signature(getattr(stream, name))
    return refused
