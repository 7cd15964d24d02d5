"""Random programs give the graphs that Flink 2.3 made of them, recorded in `random_programs.jsonl`.

Left out are programs that PyFlink can't make, and those in which it runs an operator twice by mistake: behind a
`forward()` that two operators read, and before a stream that is connected with itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
AS_PYFLINK = """
import runpy, sys
from firesteel.compat import alias_pyflink
alias_pyflink()
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def graphs_in(path: Path) -> dict[int, Any]:
    return {graphs["seed"]: graphs for graphs in map(json.loads, path.read_text().splitlines())}


RECORDED = graphs_in(HERE / "random_programs.jsonl")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Any]:
    path = tmp_path_factory.mktemp("graphs") / "made.jsonl"
    command = [
        sys.executable,
        "-c",
        AS_PYFLINK,
        str(HERE / "random_programs.py"),
        str(path),
        "0",
        str(max(RECORDED) + 1),
    ]
    subprocess.run(command, check=True, capture_output=True)
    return graphs_in(path)


@pytest.mark.parametrize("seed", RECORDED)
def test_a_program_becomes_the_graphs_of_flink(seed: int, made: dict[int, Any]) -> None:
    assert made.get(seed) == RECORDED[seed]
