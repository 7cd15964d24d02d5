"""Cost of more slots on a fixed number of cores, and their benefit for functions that wait.

python benchmarks/bench_parallelism.py [--part empty|records|start|waiting|jobs|executors] [--slots N ...] [--quick]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

import harness
import pipelines
from pyflink.common import Duration, Types, WatermarkStrategy
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat

SLOTS = [2, 8, 32, 64, 128]
RECORDS = 4_000_000
KEYS = 10_000
WAIT_S = 0.01
WAITS_PER_SLOT = 2_000
"""Twenty seconds."""
WAITS_OF_JOBS = 6_000
"""A minute: five jobs that start at once take four seconds for it on two cores."""
JOBS = 5
WORKERS = 2
CORES = 1
EMPTY_S = 20
FILE_EVERY_S = 0.05


# --- measurements ----------------------------------------------------------------------------------------------


def empty_batch_seconds(slots: int, seconds: float) -> float:
    """Return the median time of a batch of one line, through a keyed reduce with one exchange."""
    from firesteel.spark.pipeline import Pipeline

    times: list[float] = []
    run_batch = Pipeline.run_batch

    def timed(*arguments, **options):
        begin = time.perf_counter()
        reports = run_batch(*arguments, **options)
        times.append(time.perf_counter() - begin)
        return reports

    Pipeline.run_batch = timed
    settings = {"execution.buffer-timeout.interval": "1 ms", "execution.checkpointing.interval": "1 h"}
    env = pipelines.environment(settings, slots)
    with tempfile.TemporaryDirectory() as directory:
        source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), directory)
        source = source.monitor_continuously(Duration.of_millis(1)).build()
        lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
        lines.key_by(str, Types.STRING()).reduce(max).filter(lambda line: False).print()
        client = env.execute_async("empty")
        warm_up_s = 5 + slots / 10
        _write_files(directory, warm_up_s)
        first = len(times)
        _write_files(directory, seconds)
        client.cancel().result()
    return statistics.median(times[first:])


def _write_files(directory: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        number = time.time_ns()
        Path(directory, f".{number}").write_text("line\n")
        Path(directory, f".{number}").rename(Path(directory, str(number)))
        time.sleep(FILE_EVERY_S)


def key_of(number):
    return number % KEYS


def build_reduce(positions):
    return positions.key_by(key_of, Types.LONG()).reduce(max)


def reduce_seconds(slots: int, records: int, settings: dict[str, str]) -> tuple[float, float]:
    """Return the net run time of a keyed reduce with one exchange, and the time from the first record to the last."""
    return pipelines.run_once(build_reduce, records, records, settings, slots)


def start_seconds(slots: int) -> float:
    """Return the net run time of a job of few records, with a warm JVM."""
    for _ in range(2):
        net_s, _ = pipelines.run_once(build_reduce, 2 * slots, 2 * slots, {}, slots)
    return net_s


def wait(number):
    time.sleep(WAIT_S)
    return number


def waiting_rates(slots: int, per_slot: int, jobs: int) -> list[float]:
    """Return the records per second of each of several concurrent jobs, from the first record to the last."""
    pipelines.run_once(lambda positions: positions.map(wait), slots, slots, {}, slots)
    rates: list[float] = []

    def run() -> None:
        records = slots * per_slot
        _, seconds = pipelines.run_once(lambda positions: positions.map(wait), records, records, {}, slots)
        rates.append(records / seconds)

    threads = [threading.Thread(target=run) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return rates


def local_seconds(slots: int, records: int) -> tuple[float, float]:
    """Return what `reduce_seconds` returns in this process, when Spark is warm."""
    for count in (slots * 100, records):
        seconds = reduce_seconds(slots, count, {})
    return seconds


def executors_seconds(slots: int, records: int) -> tuple[float, float]:
    """Return what `reduce_seconds` returns on two Workers, which start executors for each job."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    from tests.spark.standalone_spark import StandaloneSpark

    with tempfile.TemporaryDirectory() as directory:
        spark = StandaloneSpark(Path(directory))
        try:
            for _ in range(WORKERS):
                spark.add_worker(CORES)
            spark.wait_for_workers()
            settings = {
                "spark.master": spark.url,
                "spark.executor.cores": str(CORES),
                "spark.executor.memory": "512m",
                "taskmanager.numberOfTaskSlots": str(slots // WORKERS),
                "jobmanager.rpc.port": "0",
            }
            for count in (slots * 100, records):
                seconds = reduce_seconds(slots, count, settings)
            return seconds
        finally:
            spark.close()


# --- the report ----------------------------------------------------------------------------------------------------


def empty_part(slots: list[int], quick: bool) -> list[str]:
    lines = ["## A batch of one line", "", "Keyed reduce, one exchange.", "", *_header("slots", "ms", "times 2 slots")]
    first = 0.0
    for count in slots:
        seconds = harness.apart("empty_batch_seconds", count, EMPTY_S / (4 if quick else 1))
        first = first or seconds
        lines.append(harness.row(f"{count}", f"{seconds * 1000:.0f}", f"{seconds / first:.2f}"))
    return lines


def records_part(slots: list[int], quick: bool) -> list[str]:
    records = RECORDS // (10 if quick else 1)
    lines = ["## Records", "", f"Keyed reduce over {records:,} records, {KEYS:,} keys, one exchange.", ""]
    lines += _header("slots", "seconds", "times 2 slots")
    first = 0.0
    for count in slots:
        seconds, _ = harness.apart("reduce_seconds", count, records // count * count, {})
        first = first or seconds
        lines.append(harness.row(f"{count}", f"{seconds:.1f}", f"{seconds / first:.2f}"))
    return lines


def start_part(slots: list[int], quick: bool) -> list[str]:
    lines = ["## Start", "", "A job of two records per slot, after another one in the same process.", ""]
    lines += _header("slots", "seconds", "more than with 2 slots")
    first = 0.0
    for count in slots:
        seconds = statistics.median(harness.apart("start_seconds", count) for _ in range(1 if quick else 3))
        first = first or seconds
        lines.append(harness.row(f"{count}", f"{seconds:.2f}", f"{seconds - first:+.2f}"))
    return lines


def waiting_part(slots: list[int], quick: bool) -> list[str]:
    lines = ["## Functions that wait", "", "Each record sleeps 10 ms.", ""]
    lines += _header("slots", "records/s", "of slots x 100")
    for count in slots:
        (rate,) = harness.apart("waiting_rates", count, WAITS_PER_SLOT // (4 if quick else 1), 1)
        lines.append(harness.row(f"{count}", f"{rate:,.0f}", f"{rate * WAIT_S / count:.2f}"))
    return lines


def jobs_part(slots: list[int], quick: bool) -> list[str]:
    count = 64 if 64 in slots else slots[-1]
    text = f"{JOBS} jobs of {count} slots whose functions sleep 10 ms per record, in one process, for a minute."
    lines = ["## Jobs at the same time", "", text, "", *_header("jobs", "slowest, records/s", "of slots x 100")]
    for jobs in (1, JOBS):
        rates = harness.apart("waiting_rates", count, WAITS_OF_JOBS // (4 if quick else 1), jobs)
        lines.append(harness.row(f"{jobs}", f"{min(rates):,.0f}", f"{min(rates) * WAIT_S / count:.2f}"))
    return lines


def executors_part(slots: list[int], quick: bool) -> list[str]:
    records = RECORDS // (10 if quick else 1)
    text = (
        f"Keyed reduce over {records:,} records on {WORKERS} executors with {CORES} core each, "
        "all on one machine. Executors start with the job; the second time begins with the first record."
    )
    header = _header("where", "slots", "s", "times local", "s between records", "times local")
    lines = ["## With executors", "", text, "", *header]
    local = harness.apart("local_seconds", WORKERS, records)
    for where, slots in (("local", 2), ("executors", 2), ("executors", 32)):
        found = local if where == "local" else harness.apart("executors_seconds", slots, records)
        ratios = [f"{seconds / base:.2f}" for seconds, base in zip(found, local, strict=True)]
        lines.append(harness.row(where, f"{slots}", f"{found[0]:.1f}", ratios[0], f"{found[1]:.1f}", ratios[1]))
    return lines


def _header(*names: str) -> list[str]:
    return [harness.row(*names), "|--:" * len(names) + "|"]


PARTS = {
    "empty": empty_part,
    "records": records_part,
    "start": start_part,
    "waiting": waiting_part,
    "jobs": jobs_part,
    "executors": executors_part,
}


def main() -> None:
    """Measure all parts and store the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=list(PARTS), help="only that one [all]")
    parser.add_argument("--slots", type=int, nargs="+", default=SLOTS, help="how many slots, the base first")
    parser.add_argument("--quick", action="store_true", help="less of everything, without leaving a result")
    options = parser.parse_args()
    lines = ["# Parallelism", "", f"{harness.environment_line()}. {harness.versions_line()}.", ""]
    for name, part in PARTS.items():
        if options.part in (None, name):
            lines += [*part(options.slots, options.quick), ""]
    if not options.quick:
        harness.write_report(f"Parallelism {options.part}" if options.part else "Parallelism", "\n".join(lines))


CALLS = {
    "empty_batch_seconds": empty_batch_seconds,
    "reduce_seconds": reduce_seconds,
    "start_seconds": start_seconds,
    "waiting_rates": waiting_rates,
    "executors_seconds": executors_seconds,
    "local_seconds": local_seconds,
}

if __name__ == "__main__" and not harness.answer_call(CALLS):
    main()
