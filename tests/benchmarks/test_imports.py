"""The imports of benchmarks, which run rarely, still work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_benchmarks_can_be_imported() -> None:
    """All in one process: most of the time is that of the libraries they import."""
    names = sorted(path.stem for path in BENCHMARKS.glob("bench_*.py"))
    done = subprocess.run(
        [sys.executable, "-c", f"import {', '.join(names)}"],
        cwd=BENCHMARKS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
