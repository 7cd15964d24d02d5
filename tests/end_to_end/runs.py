"""All runs of programs, and the list of them in README.md, which `python -m tests.end_to_end.runs` writes."""

from __future__ import annotations

import ast
from pathlib import Path

from tests.end_to_end.database_runs import DATABASE_RUNS
from tests.end_to_end.kafka_runs import KAFKA_RUNS
from tests.end_to_end.other_runs import OTHER_RUNS
from tests.end_to_end.prepared import Run
from tests.end_to_end.recorded_runs import PROGRAMS, PYFLINK

__all__ = ["RUNS", "WITH_SPARK", "listed"]

RUNS: dict[str, Run] = {**KAFKA_RUNS, **DATABASE_RUNS, **OTHER_RUNS}
"""Runs with servers or with what PyFlink would need more jars for, by the name of the program."""
WITH_SPARK = ("spark_orc",)
"""Programs that Spark must be there for when they are planned."""

_README = Path(__file__).parent / "README.md"
_HEAD = "| program | what it does | systems | compared with | when |\n|---|---|---|---|---|\n"


def listed() -> str:
    """Return the table of all runs."""
    recorded = [_line(name, systems, "PyFlink 2.3", "each change") for name, systems in PYFLINK.items()]
    reckoned = [
        _line(name, run.systems, "computed", "nightly" if run.is_nightly else "each change")
        for name, run in RUNS.items()
    ]
    return _HEAD + "".join([*recorded, *reckoned])


def _line(name: str, systems: tuple[str, ...], compared_with: str, when: str) -> str:
    text = ast.get_docstring(ast.parse((PROGRAMS / f"{name}.py").read_text()))
    return f"| [`{name}`](programs/{name}.py) | {text} | {', '.join(systems)} | {compared_with} | {when} |\n"


if __name__ == "__main__":
    before, _, _ = _README.read_text().partition(_HEAD)
    _README.write_text(before + listed())
