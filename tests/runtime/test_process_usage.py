"""Resource usage of processes, including their descendants and no others."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from firesteel.runtime import process_usage
from firesteel.runtime.process_usage import usage_of_this_process

MEBIBYTE = 1 << 20
HOLDS = f"import sys; held = b'x' * {200 * MEBIBYTE}; print('ready', flush=True); sys.stdin.read()"


def test_the_usage_of_child_processes_counts() -> None:
    before = usage_of_this_process()
    with subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        during = usage_of_this_process()
        child.communicate()
    after = usage_of_this_process()
    assert during.used_memory - before.used_memory > 200 * MEBIBYTE
    assert after.used_memory - before.used_memory < 100 * MEBIBYTE


def test_memory_that_holds_cached_files_is_free(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_usage, "_PROC", tmp_path)
    (tmp_path / "meminfo").write_text("MemTotal: 900 kB\nMemFree: 100 kB\nMemAvailable: 700 kB\nCached: 600 kB\n")
    assert process_usage.usage_of_this_process().free_memory == 700 * 1024


def test_the_machine_is_described() -> None:
    usage = usage_of_this_process()
    assert usage.cpu_cores == os.cpu_count()
    assert usage.physical_memory > usage.free_memory > 0
    assert usage.used_memory < usage.physical_memory
    assert usage.cpu_time_s > 0
    assert usage.threads >= 1
