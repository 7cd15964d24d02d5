"""Growth of the cost per record, the cost per chained function, and memory.

python benchmarks/bench_scaling.py [--part records|keys|chain|memory|groups] [--quick]

firesteel alone, but for the chain of functions: that is compared with the same functions in one hand-written loop.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

import harness
import memory
import pipelines
from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import FilterFunction, KeyedProcessFunction
from pyflink.datastream.connectors.number_seq import NumberSequenceSource
from pyflink.datastream.state import ValueStateDescriptor
from pyflink.table import EnvironmentSettings, TableEnvironment
from workloads import w3_keyed_state

MILLION = 1_000_000
RECORDS = [1 * MILLION, 2 * MILLION, 5 * MILLION, 10 * MILLION, 20 * MILLION]
KEYS = [1_000, 10_000, 100_000, 1_000_000]
KEYS_RECORDS = 4 * MILLION
CHAIN_RECORDS = 4 * MILLION
MEMORY_KEYS = MILLION
VALUE_BYTES = 100
GROUPS = [(MILLION, "hashmap"), (MILLION, "rocksdb"), (10 * MILLION, "rocksdb")]
RUNS = 3


# --- cost per record -----------------------------------------------------------------------------------------------


def w3_seconds(records: int, keys: int, warm_up: int) -> float:
    """Return the net run time of W3."""
    for count in (warm_up, records):
        net_s, _ = pipelines.run_once(lambda p: w3_keyed_state.build(p, keys), count, count, {})
    return net_s


# --- a chain of ten functions --------------------------------------------------------------------------------------


def plus_one(n):
    return n + 1


def doubled(n):
    return n * 2


def as_event(n):
    return {"id": n, "amount": n % 997}


def with_text(event):
    event["text"] = f"{event['id']}/{event['amount']}"
    return event


def dumped(event):
    return json.dumps(event)


def has_amount(event):
    return event["amount"] > 10


def is_odd(n):
    return n & 1 == 1


def not_seventh(n):
    return n % 7 != 0


def amount_of(event):
    return event["amount"]


CHAINS = {
    "ten functions that do next to nothing": [
        *(("map", plus_one), ("filter", not_seventh), ("map", doubled), ("map", plus_one), ("filter", is_odd)),
        *(("map", plus_one), ("map", doubled), ("map", plus_one), ("filter", not_seventh), ("map", doubled)),
    ],
    "ten functions with JSON": [
        *(("map", as_event), ("filter", has_amount), ("map", with_text), ("map", dumped), ("map", json.loads)),
        *(("map", with_text), ("map", dumped), ("map", json.loads), ("map", amount_of), ("filter", not_seventh)),
    ],
}


class Counter(FilterFunction):
    """The end of the chain, which counts."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.count = 0

    def filter(self, value):
        self.count += 1
        return False

    def close(self):
        Path(self._file).write_text(str(self.count))


def loop_light(positions, end):
    for n in positions:
        n = plus_one(n)
        if not not_seventh(n):
            continue
        n = plus_one(doubled(n))
        if not is_odd(n):
            continue
        n = plus_one(doubled(plus_one(n)))
        if not not_seventh(n):
            continue
        end(doubled(n))


def loop_json(positions, end):
    for n in positions:
        event = as_event(n)
        if not has_amount(event):
            continue
        event = json.loads(dumped(with_text(event)))
        event = json.loads(dumped(with_text(event)))
        amount = amount_of(event)
        if not_seventh(amount):
            end(amount)


LOOPS = dict(zip(CHAINS, (loop_light, loop_json), strict=True))


def chain_by_hand(name: str, records: int) -> tuple[float, int]:
    """Return the seconds of the loop and the number of results."""
    LOOPS[name](range(records // 10), Counter("").filter)
    counter = Counter("")
    begin = time.perf_counter()
    LOOPS[name](range(records), counter.filter)
    return time.perf_counter() - begin, counter.count


def chain_seconds(name: str, records: int, expected: int) -> tuple[float, float]:
    """Return the net run times of the job with the chain in one subtask, for half of the records and for all."""
    _chain_job(name, records // 2)
    half_s, _ = _chain_job(name, records // 2)
    full_s, count = _chain_job(name, records)
    if count != expected:
        raise SystemExit(f"{count} records came to the end, {expected} were expected")
    return half_s, full_s


def _chain_job(name: str, records: int) -> tuple[float, int]:
    """Return the net run time and the number of results."""
    pipelines.pickle_by_value()
    env = pipelines.environment({}, parallelism=1)
    source = NumberSequenceSource(0, records - 1)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    for kind, function in CHAINS[name]:
        stream = getattr(stream, kind)(function)
    with tempfile.NamedTemporaryFile("r") as found:
        stream.filter(Counter(found.name)).print()
        seconds = env.execute("chain").get_net_runtime() / 1000
        return seconds, int(found.read())


# --- memory --------------------------------------------------------------------------------------------------------


class KeepValue(KeyedProcessFunction):
    """Keeps a value of a given size for each key."""

    def open(self, runtime_context):
        self.state = runtime_context.get_state(ValueStateDescriptor("value", Types.STRING()))

    def process_element(self, value, ctx):
        before = self.state.value()
        self.state.update(f"{value:0{VALUE_BYTES}d}")
        yield 0 if before is None else int(before)


def keep_values(keys: int, backend: str) -> float:
    """Return the seconds in which each key gets a value twice."""

    def build(positions):
        return positions.key_by(w3_keyed_state.KeyOf(keys), Types.LONG()).process(KeepValue(), Types.LONG())

    return pipelines.run_once(build, 2 * keys, 2 * keys, {"state.backend.type": backend})[0]


def group_rows(keys: int, backend: str) -> float:
    """Return the seconds of a streaming GROUP BY in SQL with two rows per key."""
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    options = {"parallelism.default": "2", "state.backend.type": backend, "execution.checkpointing.interval": "10 s"}
    for key, value in options.items():
        t_env.get_config().set(key, value)
    t_env.execute_sql(
        "CREATE TABLE t (id BIGINT) WITH ('connector' = 'datagen', 'fields.id.kind' = 'sequence', "
        f"'fields.id.start' = '0', 'fields.id.end' = '{2 * keys - 1}', 'rows-per-second' = '{2 * keys}')"
    )
    t_env.execute_sql("CREATE TABLE results (k BIGINT, n BIGINT, total BIGINT) WITH ('connector' = 'blackhole')")
    begun = time.monotonic()
    query = f"SELECT k, COUNT(*), SUM(id) FROM (SELECT id, MOD(id, {keys}) AS k FROM t) GROUP BY k"
    t_env.execute_sql(f"INSERT INTO results {query}").wait()
    return time.monotonic() - begun


# --- the report ----------------------------------------------------------------------------------------------------


def records_part(quick: bool) -> list[str]:
    lines = [
        "## W3 by records",
        "",
        f"{w3_keyed_state.KEYS:,} keys.",
        "",
        *harness.header("records", "seconds", "us per record"),
    ]
    for records in [count // 20 for count in RECORDS] if quick else RECORDS:
        seconds = harness.apart("w3_seconds", records, w3_keyed_state.KEYS, min(records, MILLION))
        lines.append(harness.row(f"{records:,}", f"{seconds:.2f}", f"{seconds / records * 1e6:.2f}"))
    return lines


def keys_part(quick: bool) -> list[str]:
    records = KEYS_RECORDS // 20 if quick else KEYS_RECORDS
    lines = ["## W3 by keys", "", f"{records:,} records.", "", *harness.header("keys", "seconds", "us per record")]
    for keys in KEYS:
        seconds = harness.apart("w3_seconds", records, keys, min(records, MILLION))
        lines.append(harness.row(f"{keys:,}", f"{seconds:.2f}", f"{seconds / records * 1e6:.2f}"))
    return lines


def chain_part(quick: bool) -> list[str]:
    lines = [
        "## Ten chained functions",
        "",
        "One subtask, beside one loop in one process. Steady state is what the second half of the records costs.",
        "",
        *harness.header("functions", "records", "loop s", "firesteel s", "times the loop", "in steady state"),
    ]
    for name in CHAINS:
        records = (CHAIN_RECORDS // 20 if quick else CHAIN_RECORDS) // (4 if "JSON" in name else 1)
        loop_s, count = harness.apart("chain_by_hand", name, records)
        trials = [harness.apart("chain_seconds", name, records, count) for _ in range(1 if quick else RUNS)]
        full_s = statistics.median(full_s for _, full_s in trials)
        steady_s = statistics.median(full_s - half_s for half_s, full_s in trials)
        ratios = f"{full_s / loop_s:.2f}", f"{steady_s / (loop_s / 2):.2f}"
        lines.append(harness.row(name, f"{records:,}", f"{loop_s:.2f}", f"{full_s:.2f}", *ratios))
    return lines


def memory_part(quick: bool) -> list[str]:
    keys = MEMORY_KEYS // 20 if quick else MEMORY_KEYS
    lines = [
        "## Memory",
        "",
        f"{keys:,} keys with values of {VALUE_BYTES} bytes, each set twice. Peak of the PSS of all",
    ]
    lines += ["processes, measured twice a second.", "", *harness.header("state backend", "seconds", "MB", "of which")]
    for backend in ("rocksdb", "hashmap"):
        peak = memory.PeakMemory()
        seconds = harness.apart("keep_values", keys, backend, watch=peak)
        shares = ", ".join(f"{kind} {mb:.0f}" for kind, mb in sorted(peak.shares_mb.items()))
        lines.append(harness.row(backend, f"{seconds:.2f}", f"{peak.peak_mb:.0f}", shares))
    return lines


def groups_part(quick: bool) -> list[str]:
    lines = [
        "## Memory of GROUP BY in SQL",
        "",
        "Two rows per key, a streaming job with 2 subtasks, checkpoints each 10 s. Peak of the PSS of all processes.",
        "",
        *harness.header("keys", "state backend", "seconds", "MB", "of which"),
    ]
    for keys, backend in GROUPS:
        keys = keys // 20 if quick else keys
        peak = memory.PeakMemory()
        seconds = harness.apart("group_rows", keys, backend, watch=peak)
        shares = ", ".join(f"{kind} {mb:.0f}" for kind, mb in sorted(peak.shares_mb.items()))
        lines.append(harness.row(f"{keys:,}", backend, f"{seconds:.1f}", f"{peak.peak_mb:.0f}", shares))
    return lines


PARTS = {"records": records_part, "keys": keys_part, "chain": chain_part, "memory": memory_part, "groups": groups_part}


def main() -> None:
    """Measure all parts and store the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=list(PARTS), help="only that one [all]")
    parser.add_argument("--quick", action="store_true", help="a twentieth of all sizes, without leaving a result")
    options = parser.parse_args()
    lines = ["# Scaling", "", f"{harness.environment_line()}. {harness.versions_line()}.", ""]
    for name, part in PARTS.items():
        if options.part in (None, name):
            lines += [*part(options.quick), ""]
    if not options.quick:
        harness.write_report(f"Scaling {options.part}" if options.part else "Scaling", "\n".join(lines))


CALLS = {
    "w3_seconds": w3_seconds,
    "chain_by_hand": chain_by_hand,
    "chain_seconds": chain_seconds,
    "keep_values": keep_values,
    "group_rows": group_rows,
}

if __name__ == "__main__" and not harness.answer_call(CALLS):
    main()
