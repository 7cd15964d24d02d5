"""Compares the names and parameters of our packages with PyFlink's public surface.

A parameter is wrong if a call that is legal in PyFlink fails here: PyFlink's name is missing or has moved, or
a parameter with a default in PyFlink is required. Additional parameters need defaults.

It runs as a process of its own: `import pyflink` adds PyFlink 1's names to the classes of the process that does it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.flink_recordings.recordings import recorded_surface


@dataclass(frozen=True)
class Parameter:
    name: str
    has_default: bool
    stars: str


def parameters(signature: str) -> list[Parameter]:
    """Parse the text of a signature; annotations and defaults may be anything."""
    depth, parts = 0, [""]
    for character in signature[1:]:
        if character == ")" and depth == 0:
            break
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    found = []
    for part in parts:
        if match := re.match(r"\s*(\*{0,2})(\w+)", part):
            found.append(Parameter(match[2], "=" in re.sub(r"\[[^\]]*\]", "", part), match[1]))
    return found


def wrong_parameters(where: str, recorded: str | None, function: Any) -> Iterator[str]:
    if recorded is None:
        return
    try:
        text = str(inspect.signature(function))
    except (TypeError, ValueError):
        return
    wanted, ours = parameters(recorded), parameters(text)
    names = [parameter.name for parameter in ours]
    takes_any = any(parameter.stars == "**" for parameter in ours)
    for index, parameter in enumerate(wanted):
        if parameter.stars or parameter.name in ("self", "cls") or parameter.name.startswith("j_"):
            continue
        if parameter.name not in names:
            if takes_any:
                return
            yield f"{where}: no parameter {parameter.name!r}, has {text}"
        elif names.index(parameter.name) != index:
            yield f"{where}: parameter {parameter.name!r} stands at {names.index(parameter.name)}, wanted at {index}"
        elif parameter.has_default and not ours[index].has_default:
            yield f"{where}: parameter {parameter.name!r} needs a default"
    known = {parameter.name for parameter in wanted}
    for parameter in ours:
        if parameter.name not in known and not parameter.has_default and not parameter.stars:
            yield f"{where}: additional parameter {parameter.name!r} needs a default"


def wrong_in_class(where: str, recorded: dict[str, Any], ours: type, tags: set[str]) -> Iterator[str]:
    constants = [item["name"] for item in (*recorded.get("properties", []), *recorded.get("constants", []))]
    for name in (*recorded.get("members", []), *(name for name in constants if name[0] != "_")):
        if not hasattr(ours, name):
            yield f"{where}.{name} is missing"
    if recorded.get("init") and not recorded.get("init_needs_java_object"):
        yield from wrong_parameters(f"{where}()", recorded["init"], ours.__init__)  # type: ignore[misc]
    for method in recorded["methods"]:
        name = method["name"]
        if name.startswith("__") or method["tag"] not in tags:
            continue
        if not hasattr(ours, name):
            yield f"{where}.{name} is missing"
            continue
        raw = inspect.getattr_static(ours, name)
        yield from wrong_parameters(
            f"{where}.{name}", method["signature"], getattr(raw, "__func__", getattr(ours, name))
        )
    for nested in recorded.get("nested", []):
        name = nested["name"].split(".")[-1]
        if not hasattr(ours, name):
            yield f"{where}.{name} is missing"
        else:
            yield from wrong_in_class(f"{where}.{name}", nested, getattr(ours, name), tags)


def wrong_in_module(recorded: dict[str, Any], tags: set[str]) -> Iterator[str]:
    name = "firesteel" + recorded["module"].removeprefix("pyflink")
    module = importlib.import_module(name)
    for export in recorded["exports"]:
        if not hasattr(module, export.split(" <- ")[0]):
            yield f"{name}.{export} is missing"
    for described in recorded["classes"]:
        if described["tag"] not in tags:
            continue
        where = f"{name}.{described['name']}"
        if not hasattr(module, described["name"]):
            yield f"{where} is missing"
        else:
            yield from wrong_in_class(where, described, getattr(module, described["name"]), tags)
    for function in recorded["functions"]:
        if function["tag"] not in tags:
            continue
        where = f"{name}.{function['name']}"
        if not hasattr(module, function["name"]):
            yield f"{where} is missing"
        else:
            yield from wrong_parameters(where, function["signature"], getattr(module, function["name"]))


TAGS = {"surface": {"core"}, "surface_table": {"core", "catalog", "connector", "plan"}}


def recorded_modules() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield name of the recording, name of the module, and what is recorded of it."""
    for name, tags in TAGS.items():
        for module in recorded_surface(name):
            if module.get("tag") in tags:
                yield name, module["module"], module


if __name__ == "__main__":
    found = {f"{name}-{module}": list(wrong_in_module(what, TAGS[name])) for name, module, what in recorded_modules()}
    print(json.dumps(found))
