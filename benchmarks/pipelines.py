"""DataStream programs on firesteel and PyFlink: the same program, from a sequence of numbers to a meter.

`pyflink` is the real package in PyFlink's environment, and firesteel under that name in any other.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import harness

if importlib.util.find_spec("pyflink") is None:
    from firesteel.compat import alias_pyflink

    alias_pyflink()

import cloudpickle
from pyflink.common import Configuration, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.functions import FilterFunction, MapFunction

PARALLELISM = harness.PARALLELISM
PYFLINK_SETTINGS = {
    "python.fn-execution.bundle.size": "100000",
    "python.state.cache-size": "200000",
    "python.executable": sys.executable,
}
"""As PyFlink's documentation recommends for throughput; of the execution modes, the faster one counts."""

Build = Callable[[Any], Any]
"""stream of positions -> stream of results"""


class Positions(MapFunction):
    """Converts a source's number to a position in event time.

    Each subtask of the source reads its own range. Positions are assigned such that all subtasks advance in event time
    together, as subtasks of a real source do. Writes a file with the time of the first record.
    """

    def __init__(self, records: int, directory: str, parallelism: int = PARALLELISM) -> None:
        self._part = records // parallelism
        self._parallelism = parallelism
        self._directory = directory
        self._started = False

    def map(self, value):
        if not self._started:
            self._started = True
            _leave(self._directory, [0, time.time(), time.time()])
        part = self._part
        return value % part * self._parallelism + value // part


_CLOCK_MASK = 63
"""The meter reads the clock every 64 records."""


class Meter(FilterFunction):
    """Drops all records, and writes a file with their number and the times of the first and the last.

    It ends every pipeline and shows that every record was processed, and when.
    """

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._count = 0
        self._first = self._last = 0.0

    def filter(self, value):
        if not self._count & _CLOCK_MASK:
            self._last = time.time()
            self._first = self._first or self._last
        self._count += 1
        return False

    def close(self) -> None:
        if self._count:
            _leave(self._directory, [self._count, self._first, self._last])


def _leave(directory: str, entry: list[float]) -> None:
    Path(directory, uuid.uuid4().hex).write_text(json.dumps(entry))


def read_meters(directory: str, expected: int) -> float:
    """Return the seconds from the first record to the last result of all subtasks."""
    found = [json.loads(path.read_text()) for path in Path(directory).iterdir()]
    count = sum(entry[0] for entry in found)
    if count != expected:
        raise SystemExit(f"{count} results came to the end, {expected} were expected")
    return max(entry[2] for entry in found) - min(entry[1] for entry in found)


def pickle_by_value(*picklers: Any) -> None:
    """Pickle the modules of this directory by value, because workers cannot import them."""
    here = str(Path(__file__).parent) + os.sep
    for module in [m for m in sys.modules.values() if (getattr(m, "__file__", None) or "").startswith(here)]:
        for pickler in picklers or (cloudpickle,):
            pickler.register_pickle_by_value(module)


def environment(settings: dict[str, str], parallelism: int = PARALLELISM) -> StreamExecutionEnvironment:
    """Return an environment with these settings."""
    configuration = Configuration()
    for key, value in settings.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    return env


def positions_of(env: StreamExecutionEnvironment, records: int, directory: str, parallelism: int = PARALLELISM) -> Any:
    """Return the input stream of the programs; `records` is a multiple of the parallelism."""
    assert records % parallelism == 0, f"{records} records, but the parallelism is {parallelism}"
    source = NumberSequenceSource(0, records - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    return numbers.map(Positions(records, directory, parallelism), Types.LONG())


def run_once(
    build: Build, records: int, expected: int, settings: dict[str, str], parallelism: int = PARALLELISM
) -> tuple[float, float]:
    """Return the net run time of the job, and the seconds from the first record to the last result."""
    pickle_by_value()
    env = environment(settings, parallelism)
    with tempfile.TemporaryDirectory() as directory:
        build(positions_of(env, records, directory, parallelism)).filter(Meter(directory)).print()
        net_s = env.execute("benchmark").get_net_runtime() / 1000
        return net_s, read_meters(directory, expected)


def runs_of(
    build: Build, expected: Callable[[int], int], engine: str, options: dict[str, str] | None = None
) -> harness.Runs:
    """Return runs of a program on firesteel, with these options, or on PyFlink if the engine is `pyflink:MODE`.

    The time of firesteel is the net run time of the job. PyFlink's workers take seconds to start, which would dominate
    its shorter runs, so its time is measured from the first record to the last result.
    """
    name, _, mode = engine.partition(":")
    settings = {**PYFLINK_SETTINGS, "python.execution-mode": mode} if name == "pyflink" else options or {}

    def run(records: int) -> float:
        net_s, between_s = run_once(build, records, expected(records), settings)
        return between_s if name == "pyflink" else net_s

    def runs(records: int, number: int) -> list[float]:
        run(min(records, harness.PYFLINK_WARM_UP) if name == "pyflink" else records)
        return [run(records) for _ in range(number)]

    return runs
