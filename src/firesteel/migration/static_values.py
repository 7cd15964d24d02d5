"""Static values of expressions: the object of firesteel that an expression refers to, or its class."""

from __future__ import annotations

import inspect
import typing
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from firesteel.common.java_objects import WithoutJava
from firesteel.compat.missing import MissingModule, MissingName
from firesteel.datastream import data_stream


@dataclass(frozen=True)
class Known:
    """A module, class or function of firesteel, or a placeholder of one that firesteel does not have.

    Attributes:
        value: The object.
        name: Its name in PyFlink.
        owner: The class in which a method was looked up.
    """

    value: Any
    name: str
    owner: type | None = None


@dataclass(frozen=True)
class Instance:
    """An instance of a class of firesteel."""

    cls: type


Static = Known | Instance | None
"""The static value of an expression; None if it is unknown."""


def attribute_of(value: Static, name: str) -> Static:
    """Return the value of an attribute; None if it does not exist or is unknown."""
    if isinstance(value, Instance):
        found = getattr(value.cls, name, None)
        return Known(found, f"{value.cls.__name__}.{name}", value.cls) if callable(found) else None
    if value is None or isinstance(value.value, MissingName):
        return value
    try:
        found = getattr(value.value, name)
    except AttributeError:
        return None
    owner = value.value if isinstance(value.value, type) else None
    return Known(found, found.name if isinstance(found, MissingName) else f"{_prefix(value)}{name}", owner)


def _prefix(value: Known) -> str:
    return "" if isinstance(value.value, ModuleType) else f"{value.name}."


_WITHOUT_JAVA = vars(WithoutJava)["__getattr__"]
"""Finds no attributes: it only raises errors with advice."""


def lacks(value: Static, name: str) -> bool:
    """Return whether an object is known not to have an attribute or method."""
    if isinstance(value, Instance):
        finds_names = getattr(value.cls, "__getattr__", None) not in (None, _WITHOUT_JAVA)
        return not hasattr(value.cls, name) and not finds_names
    if value is None or isinstance(value.value, (MissingName, MissingModule)):
        return False
    return isinstance(value.value, (type, ModuleType)) and not hasattr(value.value, name)


def result_of(called: Static) -> Static:
    """Return the value of a call, from the declared return type."""
    if not isinstance(called, Known) or isinstance(called.value, MissingName):
        return None
    if isinstance(called.value, type):
        return Instance(called.value)
    declared = _declared_result(called.value)
    if declared is typing.Self:
        declared = called.owner
    return instance_of(declared)


def instance_of(declared: object) -> Static:
    """Return an instance of a declared class of firesteel, or None for other classes."""
    if isinstance(declared, type) and declared.__module__.startswith("firesteel."):
        return Instance(declared)
    return None


def refusal_of(called: Static) -> Callable[..., Any] | None:
    """Return the method if it always raises an error, which is declared by the return type NoReturn."""
    if isinstance(called, Known) and inspect.isfunction(called.value):
        return called.value if _declared_result(called.value) is typing.NoReturn else None
    return None


def _declared_result(function: object) -> object:
    """Return the declared return class of a function, without type parameters.

    The modules of streams import each other for type checkers only, so names are looked up in `data_stream`, too.
    """
    try:
        names = ChainMap(getattr(function, "__globals__", {}), vars(data_stream))
        declared = typing.get_type_hints(function, localns=names).get("return")
        return typing.get_origin(declared) or declared
    except (NameError, TypeError, AttributeError):
        return None
