"""The lifetime of py4j's objects, which stand for objects in the JVM."""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Any

__all__ = ["RememberedNames", "forget_context", "leave_out_errors_of_py4j", "release_java_objects_at_once"]

_METHODS = {
    "JavaList": {"java_remove": "remove"},
    "JavaMap": {"_get": "get"},
    "JavaSet": {"_add": "add", "_clear": "clear", "_remove": "remove"},
}
"""The methods that py4j's collections keep from their creation on, by attribute."""


@cache
def release_java_objects_at_once() -> None:
    """Let an object of the JVM go with the last Python reference to it.

    py4j's objects keep the methods that were called on them, and each method keeps its object. Only full garbage
    collections free such cycles, and in a large process hours pass between two of them. Until then the RDDs of each
    batch would stay in Python and in the JVM.
    """
    from py4j import java_collections
    from py4j.java_gateway import JavaObject

    cached = JavaObject.__getattr__

    def method_of(java_object: Any, name: str) -> object:
        method = cached(java_object, name)
        java_object._methods.pop(name, None)
        return method

    JavaObject.__getattr__ = method_of
    for collection, methods in _METHODS.items():
        for attribute, method in methods.items():
            setattr(getattr(java_collections, collection), attribute, _made_on_demand(method))


def _made_on_demand(name: str) -> property:
    """Return a property that makes a method whenever it is asked for; what the constructor sets is ignored."""
    from py4j.java_gateway import get_method

    return property(lambda java_object: get_method(java_object, name), lambda java_object, method: None)


class RememberedNames:
    """A cache of Java classes by short name, as each look-up takes Java half a millisecond."""

    def __init__(self, names: object) -> None:
        self._names = names

    def __getattr__(self, name: str) -> object:
        found = getattr(self._names, name)
        setattr(self, name, found)
        return found


def forget_context() -> None:
    """Make PySpark forget the context of a JVM that was or is about to be killed, without contacting it."""
    from pyspark import SparkContext

    if SparkContext._gateway is not None:
        # Java objects that Python releases from now on need not be released in the JVM.
        SparkContext._gateway._gateway_client.is_connected = False
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None


@cache
def leave_out_errors_of_py4j() -> None:
    """Keep calls that end with a JVM that we kill out of the log: a context may be being made, objects be released.

    Py4J writes their traces to the root logger, before it raises the error.
    """
    logging.getLogger().addFilter(lambda record: Path(record.pathname).parent.name != "py4j")
