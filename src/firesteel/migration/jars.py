"""Jars that a program adds."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from firesteel.common.jars import jar_advice
from firesteel.common.options.stored_options import PIPELINE_CLASSPATHS, PIPELINE_JARS

_OPTIONS = (PIPELINE_JARS.key, PIPELINE_CLASSPATHS.key)
_METHODS = ("add_jars", "add_classpaths")
_JAR = re.compile(r"[^/\\;,\s]+\.jar\b")


def jars_of(call: ast.Call) -> Iterator[tuple[str, str]]:
    """Yield each jar that a call names by a constant, with the advice for it."""
    if not _takes_jars(call):
        return
    for text in _constants(call):
        for name in _JAR.findall(text):
            yield name, jar_advice(name)


def _takes_jars(call: ast.Call) -> bool:
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return method in _METHODS or any(text in _OPTIONS for text in _constants(call))


def _constants(call: ast.Call) -> Iterator[str]:
    for argument in call.args:
        for node in ast.walk(argument):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
