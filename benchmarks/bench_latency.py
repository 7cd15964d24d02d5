"""Latency of a record through source, keyed process and sink, in steady state at 500 records per second.

python benchmarks/bench_latency.py [--engine NAME ...] [--seconds S] [--pyflink-python PATH]
"""

from __future__ import annotations

import argparse
import os
import socketserver
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import pipelines
from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.datastream import FilterFunction, KeyedProcessFunction
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.state import ValueStateDescriptor

RECORDS_PER_S = 500
FILES_PER_S = 20
KEYS = 100
WARM_UP_S = 15
MONITOR_MS = 10
CHECKPOINT_MS = 100


# --- the functions that all engines run ----------------------------------------------------------------------------


def parse(line):
    """Return (key, time of writing)."""
    key, written = line.split(" ")
    return key, float(written)


def key_of(record):
    return record[0]


def update(count, record):
    """(new count, result)."""
    count = (count or 0) + 1
    return count, (record[0], record[1], count)


class Latencies:
    """Stores in a file when each result was written and when it arrived here."""

    def __init__(self, directory: str) -> None:
        self._file = open(Path(directory) / f"{os.getpid()}-{id(self)}", "w", buffering=1)  # noqa: SIM115

    def __call__(self, result: Any) -> None:
        self._file.write(f"{result[1]} {time.time()}\n")


# --- input ------------------------------------------------------------------------------------------------


def lines(first: int, count: int) -> str:
    return "".join(f"k{number % KEYS} {time.time()}\n" for number in range(first, first + count))


def beats(seconds: float) -> Iterator[int]:
    """Yield the number of the next record at the configured rate; each beat covers several records."""
    begin, number = time.time(), 0
    while (now := time.time()) < begin + seconds:
        due = begin + number / RECORDS_PER_S
        if now < due:
            time.sleep(due - now)
        yield number
        number += RECORDS_PER_S // FILES_PER_S


def feed_files(directory: str, seconds: float) -> None:
    """Move finished files into the directory."""
    waiting = Path(directory, ".waiting")
    for number in beats(seconds):
        waiting.write_text(lines(number, RECORDS_PER_S // FILES_PER_S))
        waiting.rename(Path(directory, f"part-{number:08d}"))


class _LineServer(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        try:
            for number in beats(3600):
                self.request.sendall(lines(number, RECORDS_PER_S // FILES_PER_S).encode())
        except OSError:
            return  # The job is over.


# --- the DataStream program ----------------------------------------------------------------------------------------


class Count(KeyedProcessFunction):
    def open(self, runtime_context):
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value, ctx):
        count, result = update(self.count.value(), value)
        self.count.update(count)
        yield result


class Sink(FilterFunction):
    def __init__(self, directory):
        self._directory = directory

    def open(self, runtime_context):
        self.latencies = Latencies(self._directory)

    def filter(self, value):
        self.latencies(value)
        return False


def datastream(settings: dict[str, str], to_client: bool, seconds: float, found: str) -> None:
    """Run the job; its results go to a sink function or to the client."""
    pipelines.pickle_by_value()
    env = pipelines.environment(settings)
    with tempfile.TemporaryDirectory() as directory:
        text = FileSource.for_record_stream_format(StreamFormat.text_line_format(), directory)
        source = text.monitor_continuously(Duration.of_millis(MONITOR_MS)).build()
        results = (
            env.from_source(source, WatermarkStrategy.no_watermarks(), "files")
            .map(parse, Types.TUPLE([Types.STRING(), Types.DOUBLE()]))
            .key_by(key_of, Types.STRING())
            .process(Count(), Types.TUPLE([Types.STRING(), Types.DOUBLE(), Types.LONG()]))
        )
        feeder = threading.Thread(target=feed_files, args=(directory, 3600), daemon=True)
        if to_client:
            latencies = Latencies(found)
            feeder.start()
            with results.execute_and_collect("latency") as iterator:
                end = time.time() + seconds
                for result in iterator:
                    latencies(result)
                    if time.time() > end:
                        leave()
        results.filter(Sink(found)).print()
        env.execute_async("latency")
        feeder.start()
        time.sleep(seconds)
        leave()


def leave() -> None:
    """Exit the process, because the job never ends."""
    sys.stdout.flush()
    print(harness.DONE, flush=True)
    os._exit(0)


# --- plain Structured Streaming ------------------------------------------------------------------------------------


def spark(source: str, state: str, seconds: float, found: str) -> None:
    """Run the same program, hand-written for Spark; the sink is `mapInArrow`, after which the batch is committed."""
    import baselines

    session = baselines.session({"spark.sql.streaming.stateStore.providerClass": baselines.ROCKSDB})
    with tempfile.TemporaryDirectory() as directory, tempfile.TemporaryDirectory() as checkpoint:
        if source == "files":
            frame = session.readStream.text(directory)
            threading.Thread(target=feed_files, args=(directory, 3600), daemon=True).start()
        else:
            server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _LineServer)
            threading.Thread(target=server.serve_forever, daemon=True).start()
            frame = session.readStream.format("socket").option("host", "127.0.0.1")
            frame = frame.option("port", server.server_address[1]).load()

        def parsed(batches):
            for rows in baselines.tuples(batches):
                yield baselines.arrow([parse(line) for (line,) in rows], "key string, written double")

        def to_sink(batches):
            latencies = Latencies(found)
            for rows in baselines.tuples(batches):
                for result in rows:
                    latencies(result)
            yield baselines.arrow([], "count long")

        keyed = frame.mapInArrow(parsed, "key string, written double").groupBy("key")
        counted = SPARK_STATES[state](keyed).mapInArrow(to_sink, "count long")
        sink = counted.writeStream.foreachBatch(lambda batch, _: batch.write.format("noop").mode("append").save())
        sink.option("checkpointLocation", checkpoint).outputMode("append").start()
        time.sleep(seconds)
        leave()


_RESULT = "key string, written double, count long"


def with_state(keyed: Any) -> Any:
    """Use `transformWithState`."""
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    class Counting(StatefulProcessor):
        def init(self, handle):
            self.count = handle.getValueState("count", "count long")

        def handleInputRows(self, key, rows, timerValues):
            count = self.count.get()[0] if self.count.exists() else None
            for row in rows:
                count, result = update(count, row)
                yield Row(key=result[0], written=result[1], count=result[2])
            self.count.update((count,))

        def close(self):
            pass

    return keyed.transformWithState(Counting(), _RESULT, "append", "none")


def in_pandas(keyed: Any) -> Any:
    """Use `applyInPandasWithState`."""
    from pyspark.sql.streaming.state import GroupStateTimeout

    def count(key, frames, state):
        import pandas as pd

        current = state.get[0] if state.exists else None
        for frame in frames:
            results = []
            for record in zip(frame["key"], frame["written"], strict=True):
                current, result = update(current, record)
                results.append(result)
            yield pd.DataFrame(results, columns=["key", "written", "count"])
        state.update((current,))

    return keyed.applyInPandasWithState(count, _RESULT, "count long", "append", GroupStateTimeout.NoTimeout)


SPARK_STATES = {"transformWithState": with_state, "applyInPandasWithState": in_pandas}


# --- the report ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Engine:
    """An engine; `call` runs with `arguments` in a separate process."""

    label: str
    call: str
    arguments: tuple[Any, ...]
    is_pyflink: bool = False


def _pyflink(mode: str, size: int, time_ms: int) -> dict[str, str]:
    return {
        "python.executable": "python",
        "python.execution-mode": mode,
        "python.fn-execution.bundle.size": str(size),
        "python.fn-execution.bundle.time": str(time_ms),
        "execution.buffer-timeout.interval": "1 ms",
    }


ENGINES = {
    "firesteel": Engine("firesteel, to a sink function", "datastream", ({}, False)),
    "firesteel-10ms": Engine(
        "firesteel, to a sink function, buffer timeout of 10 ms",
        "datastream",
        ({"execution.buffer-timeout.interval": "10 ms"}, False),
    ),
    "firesteel-client": Engine("firesteel, committed and at the client", "datastream", ({}, True)),
    "spark-files": Engine("Structured Streaming, files, transformWithState", "spark", ("files", "transformWithState")),
    "spark-pandas": Engine(
        "Structured Streaming, files, applyInPandasWithState", "spark", ("files", "applyInPandasWithState")
    ),
    "spark-socket": Engine(
        "Structured Streaming, socket (nothing is logged), transformWithState",
        "spark",
        ("socket", "transformWithState"),
    ),
    "pyflink": Engine("PyFlink, default", "datastream", ({"python.executable": "python"}, False), True),
    "pyflink-process": Engine(
        "PyFlink, process mode, bundles of 100 or 10 ms", "datastream", (_pyflink("process", 100, 10), False), True
    ),
    "pyflink-thread": Engine(
        "PyFlink, thread mode, bundles of 100 or 10 ms", "datastream", (_pyflink("thread", 100, 10), False), True
    ),
    "pyflink-client": Engine(
        "PyFlink, thread mode, bundles of 100 or 10 ms, committed and at the client",
        "datastream",
        ({**_pyflink("thread", 100, 10), "execution.checkpointing.interval": f"{CHECKPOINT_MS} ms"}, True),
        True,
    ),
}

TEXT = f"""\
{RECORDS_PER_S} records per second with {KEYS} keys: {FILES_PER_S} times a second a file of lines appears in a watched
directory. The first {WARM_UP_S} s of results do not count. A record's time begins when its line is written and ends as
the sink function gets its result: for firesteel and PyFlink the last operator of the very same program, for Structured
Streaming a `mapInArrow` at the end of the query. "At the client" ends where `execute_and_collect` gives the result,
behind the checkpoint that it belongs to. To a sink function PyFlink runs without checkpoints, at the client with one
every {CHECKPOINT_MS} ms; firesteel and Structured Streaming take one with each batch."""


def measured(engine: Engine, seconds: float, python: str) -> list[float]:
    """Return the sorted latencies after the warm-up."""
    with tempfile.TemporaryDirectory() as found:
        harness.apart(engine.call, *engine.arguments, seconds, found, python=python, timeout_s=seconds + 60)
        results = [tuple(map(float, line.split())) for path in Path(found).iterdir() for line in path.open()]
    if not results:
        raise SystemExit(f"{engine.label}: nothing came to the sink")
    begin = min(arrived for _, arrived in results) + WARM_UP_S
    return sorted(arrived - written for written, arrived in results if written > begin)


def row(engine: Engine, latencies: list[float]) -> str:
    """Return the row of an engine in the report."""

    def at(share: float) -> str:
        return f"{latencies[int(len(latencies) * share)] * 1000:.0f}"

    cells = [engine.label, f"{len(latencies):,}", at(0.5), at(0.9), at(0.99), f"{latencies[-1] * 1000:.0f}"]
    print(" | ".join(cells), file=sys.stderr, flush=True)
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure all engines and store the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", nargs="*", choices=list(ENGINES), help="only those, without leaving a result")
    parser.add_argument("--seconds", type=float, default=60, help="how long each engine runs [60]")
    parser.add_argument("--pyflink-python", help="Python of an environment with apache-flink")
    options = parser.parse_args()
    table = [f"{harness.environment_line()}. {harness.versions_line()}.", ""]
    table += ["| engine | records | p50 ms | p90 ms | p99 ms | most ms |", "|---|--:|--:|--:|--:|--:|"]
    for name in options.engine or ENGINES:
        engine = ENGINES[name]
        python = options.pyflink_python if engine.is_pyflink else sys.executable
        if python:
            table.append(row(engine, measured(engine, options.seconds, python)))
    report = "\n".join(["# Latency", "", TEXT, "", *table, ""])
    if options.engine:
        print(report)
    else:
        harness.write_report("Latency", report)


CALLS: dict[str, Callable[..., Any]] = {"datastream": datastream, "spark": spark}

if __name__ == "__main__" and not harness.answer_call(CALLS):
    main()
