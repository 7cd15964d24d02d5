"""Tables of functions by the class of a value, whose entries a type checker compares with their classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")


def case(kind: type[T], handle: Callable[Concatenate[T, P], R]) -> tuple[type, Callable[Concatenate[object, P], R]]:
    """Return the entry of a function for values of one class, which are its first argument."""

    def call(value: object, /, *args: P.args, **kwargs: P.kwargs) -> R:
        assert isinstance(value, kind)
        return handle(value, *args, **kwargs)

    return kind, call


def method_case(
    kind: type[T], handle: Callable[Concatenate[S, T, P], R]
) -> tuple[type, Callable[Concatenate[S, object, P], R]]:
    """Return the entry of a method for values of one class, which are its first argument after `self`."""

    def call(self: S, value: object, /, *args: P.args, **kwargs: P.kwargs) -> R:
        assert isinstance(value, kind)
        return handle(self, value, *args, **kwargs)

    return kind, call
