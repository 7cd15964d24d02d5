"""Keyed state: growing lists and windows, state on disk, and time to live.

python benchmarks/bench_state.py [--part lists|disk|ttl|memory] [--quick]

firesteel alone: each table compares state with itself, elsewhere or when it is small. Lists and TTL are measured in one
operator with its version files, in CPU time; jobs on disk and their memory as a whole.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from functools import partial
from pathlib import Path

import harness
import memory
import pipelines
from workloads import w3_keyed_state

MILLION = 1_000_000
BATCH = 1_000
BACKENDS = {"memory": {}, "disk": {"state.backend.type": "rocksdb"}}


# --- one operator with its versions ---------------------------------------------------------------------------------


def window_of(kind):
    """Return the descriptor of a window without aggregation, or of a function that adds to a list state."""
    from firesteel.common import Time, Types
    from firesteel.datastream.functions import KeyedProcessFunction, ProcessWindowFunction
    from firesteel.datastream.state import ListStateDescriptor
    from firesteel.datastream.window import EventTimeSessionWindows, EventTimeTrigger, TumblingEventTimeWindows
    from firesteel.functions.operator_descriptors import KeyedProcessOperator, WindowOperator

    class Count(ProcessWindowFunction):
        def process(self, key, context, elements):
            yield sum(1 for _ in elements)

    class Add(KeyedProcessFunction):
        def open(self, runtime_context):
            self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.STRING()))

        def process_element(self, value, ctx):
            self.list.add(value)

    if kind == "list state":
        return KeyedProcessOperator(Add())
    assigner = {
        "tumbling window": TumblingEventTimeWindows.of(Time.days(10)),
        "session window": EventTimeSessionWindows.with_gap(Time.days(10)),
    }[kind]
    return WindowOperator(assigner, EventTimeTrigger(), 0, None, None, Count())


def grow(kind, backend, elements):
    """Add elements to one key; return of each batch the bytes and CPU seconds, and whether it merged files."""
    from firesteel.common.encoding import encoded_entries
    from firesteel.common.garbage_collection import collect_garbage_rarely
    from firesteel.task.version_store import VersionStore
    from firesteel.task.versions import BatchTry
    from firesteel.testing import OperatorHarness

    collect_garbage_rarely()
    harness_ = OperatorHarness(window_of(kind), key_selectors=[lambda e: "key"], configuration=BACKENDS[backend])
    operator = harness_.operator
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "versions-1").mkdir()
        store, chain, found = VersionStore(Path(directory), 0), (), []
        for number in range(elements // BATCH):
            values = [f"element {n:08}" for n in range(number * BATCH, (number + 1) * BATCH)]
            before, begin = chain, time.process_time()
            harness_.process_batch(values, list(range(number * BATCH, (number + 1) * BATCH)))

            def frames(full):
                yield from (("vertex", "operator", encoded_entries(*part)) for part in operator.state_parts(full))

            chain = store.write(0, BatchTry(1, number), before, frames)
            written = chain[-1]
            is_merged = written.path.endswith("full") or len(chain) <= len(before)
            found.append((written.size, time.process_time() - begin, is_merged))
            for file in {f.path for f in before} - {f.path for f in chain}:
                (Path(directory) / file).unlink()
    return found


def lists_part(quick):
    elements = MILLION // 20 if quick else MILLION
    lines = [
        "## Lists that grow",
        "",
        f"One key, {elements:,} elements in batches of {BATCH:,}: median of the first and of the last 50 batches that",
        "merge no files, and the bytes of all files in relation to those of the batches alone.",
        "",
        *harness.header(
            "state", "backend", "first ms", "last ms", "ratio", "first KB", "last KB", "ratio", "bytes in all"
        ),
    ]
    for kind in ("list state", "tumbling window", "session window"):
        for backend in BACKENDS:
            found = harness.apart("grow", kind, backend, elements)
            plain = [(size, seconds) for size, seconds, is_merged in found if not is_merged]
            sizes = [statistics.median(size for size, _ in part) / 1000 for part in (plain[:50], plain[-50:])]
            times = [statistics.median(s for _, s in part) * 1000 for part in (plain[:50], plain[-50:])]
            total = sum(size for size, _, _ in found) / (sizes[0] * 1000 * len(found))
            cells = [*map("{:.1f}".format, times), f"{times[1] / times[0]:.2f}"]
            cells += [*map("{:.1f}".format, sizes), f"{sizes[1] / sizes[0]:.2f}", f"{total:.1f}"]
            lines.append(harness.row(kind, backend, *cells))
    return lines


def fill(kind, backend, with_ttl, keys):
    """Return the CPU seconds to fill a state, with a version for each batch of 5,000 keys."""
    from firesteel.common import Time, Types
    from firesteel.common.garbage_collection import collect_garbage_rarely
    from firesteel.datastream.functions import KeyedProcessFunction
    from firesteel.datastream.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
    from firesteel.functions.operator_descriptors import KeyedProcessOperator
    from firesteel.testing import OperatorHarness

    class Fill(KeyedProcessFunction):
        def open(self, runtime_context):
            value, of_map = (
                ValueStateDescriptor("v", Types.LONG()),
                MapStateDescriptor("m", Types.STRING(), Types.LONG()),
            )
            for descriptor in (value, of_map):
                if with_ttl:
                    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())
            self.value, self.map = runtime_context.get_state(value), runtime_context.get_map_state(of_map)

        def process_element(self, value, ctx):
            if kind == "value":
                self.value.update((self.value.value() or 0) + 1)
            else:
                self.map.put("a", (self.map.get("a") or 0) + 1)
            yield ctx.get_current_key(), value

    collect_garbage_rarely()
    harness_ = OperatorHarness(
        KeyedProcessOperator(Fill()), key_selectors=[lambda e: e], configuration=BACKENDS[backend]
    )
    begin = time.process_time()
    for first in range(0, keys, 5_000):
        harness_.process_batch(list(range(first, first + 5_000)))
        harness_.take()
        for _ in harness_.operator.state_parts(False):
            pass
    return time.process_time() - begin


def ttl_part(quick):
    keys = 300_000 // 20 if quick else 300_000
    lines = ["## Time to live", "", f"Filling {keys:,} keys, the least processor time of 7 runs.", ""]
    lines += harness.header("state", "backend", "without", "with TTL", "ratio")
    for kind in ("value", "map"):
        for backend in BACKENDS:
            # In turn, and the least, as the speed of the machine changes within seconds.
            runs = [[harness.apart("fill", kind, backend, ttl, keys) for ttl in (False, True)] for _ in range(7)]
            seconds = list(map(min, zip(*runs, strict=True)))
            lines.append(harness.row(kind, backend, *map("{:.2f}".format, seconds), f"{seconds[1] / seconds[0]:.2f}"))
    return lines


# --- jobs -----------------------------------------------------------------------------------------------------------


def w3_seconds(records, keys, backend):
    """Return the net run time of W3."""
    build = partial(w3_keyed_state.build, keys=keys)
    for count in (records // 10, records):
        net_s, _ = pipelines.run_once(build, count, count, BACKENDS[backend])
    return net_s


def disk_part(quick):
    scale = 20 if quick else 1
    lines = ["## W3 on disk", "", "Two records per key, 2 slots, median of 3, seconds.", ""]
    lines += harness.header("keys", "memory", "disk", "ratio")
    for keys in (100_000, MILLION, 2 * MILLION):
        keys //= scale
        seconds = [
            statistics.median(harness.apart("w3_seconds", 2 * keys, keys, backend) for _ in range(3))
            for backend in BACKENDS
        ]
        lines.append(harness.row(f"{keys:,}", *map("{:.2f}".format, seconds), f"{seconds[1] / seconds[0]:.2f}"))
    return lines


def keep(keys, size):
    """Run a job that keeps a value of some bytes for each key on disk."""
    from pyflink.common import Types
    from pyflink.datastream import KeyedProcessFunction
    from pyflink.datastream.state import ValueStateDescriptor

    class Keep(KeyedProcessFunction):
        def open(self, runtime_context):
            self.state = runtime_context.get_state(ValueStateDescriptor("kept", Types.STRING()))

        def process_element(self, value, ctx):
            self.state.update(f"{value:0{size}}")
            yield value

    def build(positions):
        return positions.key_by(w3_keyed_state.KeyOf(keys), Types.LONG()).process(Keep(), Types.LONG())

    return pipelines.run_once(build, keys, keys, BACKENDS["disk"])[0]


def memory_part(quick):
    scale = 20 if quick else 1
    lines = ["## Memory of state on disk", "", "Peak of the PSS of both slots, measured twice a second.", ""]
    lines += harness.header("keys", "bytes of a value", "seconds", "MB per slot")
    for keys, size in ((20_000, 50_000), (5 * MILLION, 100)):
        peak = memory.PeakMemory()
        seconds = harness.apart("keep", keys // scale, size, watch=peak)
        slots = max(peak.shares_mb.get("slot processes", 0.0), peak.shares_mb.get("Spark's Python workers", 0.0))
        lines.append(harness.row(f"{keys // scale:,}", f"{size:,}", f"{seconds:.1f}", f"{slots / 2:.0f}"))
    return lines


PARTS = {"lists": lists_part, "ttl": ttl_part, "disk": disk_part, "memory": memory_part}


def main() -> None:
    """Measure all parts and store the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=list(PARTS), help="only that one [all]")
    parser.add_argument("--quick", action="store_true", help="a twentieth of all sizes, without leaving a result")
    options = parser.parse_args()
    lines = ["# State", "", f"{harness.environment_line()}. {harness.versions_line()}.", ""]
    for name, part in PARTS.items():
        if options.part in (None, name):
            lines += [*part(options.quick), ""]
    if not options.quick:
        harness.write_report(f"State {options.part}" if options.part else "State", "\n".join(lines))


CALLS = {"grow": grow, "fill": fill, "w3_seconds": w3_seconds, "keep": keep}

if __name__ == "__main__" and not harness.answer_call(CALLS):
    main()
