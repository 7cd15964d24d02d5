"""Records what the programs leave when PyFlink runs them: `python -m tests.end_to_end.record [PROGRAM ...]`.

It runs with PyFlink's Python, and records the programs that are not recorded yet, or those that it is given.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.end_to_end.inputs import write_inputs
from tests.end_to_end.outcome import outcome
from tests.end_to_end.recorded_runs import PROGRAMS, PYFLINK, RECORDED


def main() -> None:
    results: dict[str, list[str]] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for program in sys.argv[1:] or [name for name in PYFLINK if name not in results]:
        with tempfile.TemporaryDirectory() as directory:
            results[program] = _run(program, Path(directory))
        print(f"{program}: {len(results[program])} lines", flush=True)
        RECORDED.write_text(json.dumps(results, indent=0, sort_keys=True, ensure_ascii=False) + "\n")


def _run(program: str, directory: Path) -> list[str]:
    given, output = directory / "in", directory / "out"
    write_inputs(given)
    command = [sys.executable, str(PROGRAMS / f"{program}.py"), "--input", str(given), "--output", str(output)]
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # Flink starts `python` for functions
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
    if done.returncode:
        sys.exit(f"{program}:\n{done.stderr}")
    return outcome(done.stdout, output)


if __name__ == "__main__":
    main()
