"""Records what Flink gives for the programs. It runs with PyFlink's Python, and records what is not recorded yet.

`record.py [--full DIRECTORY] [KEY ...]` records anew programs in modes; the directory gets the whole results.
A program that does not end is recorded as such.
"""

from __future__ import annotations

import argparse
import gzip
import json
import multiprocessing
import os
import sys
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))
os.environ["PYTHONPATH"] = str(HERE.parents[2])

from pyflink.common import Configuration  # noqa: E402
from pyflink.common.serialization import Encoder  # noqa: E402
from pyflink.datastream import RuntimeExecutionMode, StreamExecutionEnvironment  # noqa: E402
from pyflink.datastream.connectors.file_system import FileSink  # noqa: E402

from tests.flink_recordings.large.folding import summary  # noqa: E402
from tests.flink_recordings.streams.cases import PARALLELISM, builders, keys  # noqa: E402

QUICK = {
    "python.fn-execution.bundle.size": "20000",
    "python.fn-execution.bundle.time": "500",
    "python.state.cache-size": "100000",
    "python.map-state.read-cache-size": "100000",
    "python.map-state.write-cache-size": "100000",
}
"""Without these a program takes a minute."""

RECORDED = HERE / "recorded.json.gz"
MOST_S = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", type=Path)
    parser.add_argument("keys", nargs="*")
    arguments = parser.parse_args()
    results = json.loads(gzip.decompress(RECORDED.read_bytes())) if RECORDED.exists() else {}
    left = arguments.keys or [key for key in keys() if key not in results]
    while left:
        ours, theirs = multiprocessing.Pipe()
        process = multiprocessing.Process(target=_run, args=(theirs, left))
        process.start()
        while left:
            started, key = time.monotonic(), left.pop(0)
            is_done = ours.poll(MOST_S)
            results[key], lines = ours.recv() if is_done else ({"error": "does not end"}, [])
            if arguments.full is not None:
                (arguments.full / key).write_text("\n".join(lines))
            shown = results[key].get("error") or results[key]["count"]
            print(f"{key}: {shown} in {time.monotonic() - started:.1f} s", flush=True)
            text = json.dumps(results, indent=0, sort_keys=True)
            RECORDED.write_bytes(gzip.compress(text.encode(), mtime=0))
            if not is_done:
                break
        process.kill()


def _run(results: Connection, left: list[str]) -> None:
    for key in left:
        name, mode = key.split()
        try:
            lines = _lines(builders()[name], mode)
            results.send((summary(lines), lines))
        except Exception as error:
            lines = str(error).strip().splitlines()
            causes = [line for line in lines if line.startswith("Caused by: ") or "Error" in line]
            results.send(({"error": (causes or lines)[-1]}, lines))


def _lines(build: Any, mode: str) -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode[mode])
    env.set_parallelism(PARALLELISM)
    env.set_python_executable(sys.executable)
    configuration = Configuration()
    for option, value in QUICK.items():
        configuration.set_string(option, value)
    env.configure(configuration)
    with tempfile.TemporaryDirectory() as directory:
        build(env).sink_to(FileSink.for_row_format(directory, Encoder.simple_string_encoder()).build())
        env.execute()
        files = [path for path in Path(directory).rglob("*") if path.is_file()]
        return sorted(line for path in files for line in path.read_text().splitlines())


if __name__ == "__main__":
    main()
