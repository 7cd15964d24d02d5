from __future__ import annotations

import ast
import pickle
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

import firesteel
from firesteel.common.trust.pickling import dumps

SOURCE = Path(firesteel.__file__).parent

PROGRAM = """
def parse(line):
    def inner(text):
        return [int(part) for part in text.split(",")]
    return inner(line)

class Parser:
    default = staticmethod(lambda line: int(line))

    def parse(self, line):
        return int(line)

    @property
    def size(self):
        return 1

generator = lambda lines: (int(line) for line in lines)

async def ask(line):
    return await (lambda: line)()
"""


def file_names(code: CodeType) -> set[str]:
    nested = [file_names(constant) for constant in code.co_consts if isinstance(constant, CodeType)]
    return {code.co_filename}.union(*nested)


@pytest.fixture(scope="module")
def program() -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(PROGRAM, "/home/ada/program.py", "exec"), namespace)
    return namespace


@pytest.mark.parametrize("name", ["parse", "generator", "ask", "Parser.parse", "Parser.default", "Parser.size.fget"])
def test_code_keeps_its_file_through_pickling_twice(program: dict[str, Any], name: str) -> None:
    holder, *path = name.split(".")
    value = pickle.loads(dumps(pickle.loads(dumps(program[holder]))))
    for part in path:
        value = value.__dict__[part] if part == "size" else getattr(value, part)
    assert file_names(value.__code__) == {"/home/ada/program.py"}


def test_error_of_an_unpickled_function_names_file_line_and_function(program: dict[str, Any]) -> None:
    parse = pickle.loads(dumps(program["parse"]))
    with pytest.raises(ValueError, match="invalid literal") as raised:
        parse("x")
    frames = [(str(entry.path), entry.lineno + 1, entry.name) for entry in raised.traceback[1:]]
    assert frames[0] == ("/home/ada/program.py", 5, "parse")
    assert frames[-1][:2] == ("/home/ada/program.py", 4)


def test_functions_of_a_module_share_their_globals_once_unpickled(program: dict[str, Any]) -> None:
    first, second = pickle.loads(dumps([program["parse"], program["generator"]]))
    assert first.__globals__ is second.__globals__


def test_no_other_module_uses_cloudpickle() -> None:
    users = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "cloudpickle" in path.read_text()
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Import) and any(name.name.startswith("cloudpickle") for name in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cloudpickle"))
    }
    assert users == {"common/trust/pickling.py"}
