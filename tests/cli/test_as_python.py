"""A program prints the same as `python PROGRAM` and as `firesteel run PROGRAM`."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.seeds import ALL

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SKIPPED = ("kafka_", "mysql_", "postgres_", "pyflink_", "test_")
EXAMPLES = sorted(path for path in (ROOT / "examples").glob("*.py") if not path.name.startswith(SKIPPED))
"""Those for Kafka and PostgreSQL need a server, Python alone has no `pyflink`, and tests print nothing."""

ARGUMENTS = {"word_count": ["--input", "examples/data/alice.txt", "--top", "10"]}
ARGUMENTS["sql_word_count"] = ARGUMENTS["word_count"]

LOOKS = {
    "annotations": """
        import dataclasses, inspect, typing

        @dataclasses.dataclass
        class Reading:
            sensor: str
            degrees: float = 0.0

        def convert(value: int) -> list[float]: ...

        count: int = 0
        print([field.type is kind for field, kind in zip(dataclasses.fields(Reading), (str, float))])
        print(Reading.__annotations__, typing.get_type_hints(Reading), __annotations__)
        print(inspect.signature(convert), convert.__annotations__)
    """,
    "future annotations": """
        from __future__ import annotations

        def convert(value: int) -> list[float]: ...

        print(convert.__annotations__)
    """,
    "named tuples and typed dictionaries": """
        import typing

        class Point(typing.NamedTuple):
            x: int

        class Options(typing.TypedDict, total=False):
            name: typing.Required[str]

        print(Point.__annotations__, Options.__required_keys__, Point(1), Point.__module__)
    """,
    "module": """
        \"\"\"The docstring.\"\"\"
        import sys

        names = ["__name__", "__file__", "__doc__", "__package__", "__spec__", "__cached__"]
        print({name: globals()[name] for name in names}, type(__loader__).__name__, "__builtins__" in globals())
        print(sys.modules["__main__"].__dict__ is globals(), sys.argv, sys.path[0])
        if __name__ == "__main__":
            print("main")
    """,
    "source": """
        import inspect, os

        def double(value):
            return 2 * value  # doubled

        os.chdir("/")
        print(inspect.getsource(double), inspect.getsourcefile(double), double.__code__.co_filename)
        print(inspect.getmodule(double).__name__)
    """,
    "resources": """
        from pathlib import Path

        print(Path(__file__).with_name("beside.txt").read_text(), Path("looks/beside.txt").read_text())
        import beside_module
        print(beside_module.VALUE)
    """,
    "encoding": "# -*- coding: latin-1 -*-\nprint('h\xf6he')",
    "exit code": """
        import sys
        print("before")
        sys.exit(3)
    """,
    "arguments": """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--input")
        parser.add_argument("rest", nargs="*")
        print(parser.prog, parser.parse_args())
    """,
}


@pytest.fixture
def looks(tmp_path: Path) -> Path:
    directory = tmp_path / "looks"
    directory.mkdir()
    (directory / "beside.txt").write_text("beside")
    (directory / "beside_module.py").write_text("VALUE = 7\n")
    return tmp_path


def run(launcher: list[str], program: str, arguments: list[str], directory: Path) -> tuple[int, str]:
    command = [sys.executable, *launcher, program, *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONSAFEPATH": ""}
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, cwd=directory, env=environment, check=False
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stdout


@pytest.mark.parametrize("look", LOOKS)
def test_programs_see_what_python_shows_them(look: str, looks: Path) -> None:
    text = textwrap.dedent(LOOKS[look])
    program = looks / "looks" / "program.py"
    program.write_bytes(text.encode("latin-1" if "latin-1" in text else "utf-8"))
    arguments = ["a", "--input", "b"] if look == "arguments" else []
    # A program for a cluster starts no JVM, and these submit no job.
    fires = ["-m", "firesteel", "run", "-t", "remote", "-m", "localhost:1"]
    expected = run([], "looks/program.py", arguments, looks)
    assert run(fires, "looks/program.py", arguments, looks) == expected
    assert expected[1]


@pytest.mark.spark
@pytest.mark.parametrize("example", EXAMPLES[:: 1 if ALL else 2], ids=lambda path: path.stem)
def test_examples_print_the_same_both_ways(example: Path) -> None:
    program, arguments = str(example.relative_to(ROOT)), ARGUMENTS.get(example.stem, [])
    status, printed = run(["-m", "firesteel", "run", "-q"], program, arguments, ROOT)
    assert (status, bool(printed)) == (0, True)
    # Which subtask prints first is not determined.
    assert sorted(run([], program, arguments, ROOT)[1].splitlines()) == sorted(printed.splitlines())
