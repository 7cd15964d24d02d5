"""Records per second of a stateless chain: JSON text is made from numbers, parsed, changed, filtered and split.

python benchmarks/bench_stateless.py [--records N] [--runs K] [--pyflink-python PATH]
"""

from __future__ import annotations

import json
import tempfile

import harness

# --- the functions that all engines run ----------------------------------------------------------------------------


def make(n):
    return f'{{"id": {n}, "user": "user-{n % 1000}", "amount": {n % 997 / 10}, "tags": ["t{n % 7}", "u{n % 5}"]}}'


def with_cents(event):
    event["cents"] = round(event["amount"] * 100)
    return event


def is_valid(event):
    return event["id"] % 10 != 0


def by_tag(event):
    for tag in event["tags"]:
        yield tag, event["user"], event["cents"]


def expected(records):
    """Two records for each but every tenth."""
    return 2 * (records - (records + 9) // 10)


# --- engines -------------------------------------------------------------------------------------------------------


def build(env, records, directory):
    """The DataStream program, for firesteel and PyFlink."""
    from pyflink.common import Types, WatermarkStrategy
    from pyflink.datastream.connectors.number_seq import NumberSequenceSource
    from pyflink.datastream.functions import FilterFunction

    class Discard(FilterFunction):
        def open(self, runtime_context):
            self.meter = harness.Meter(directory)

        def filter(self, value):
            return self.meter(value)

        def close(self):
            self.meter.leave()

    source = NumberSequenceSource(0, records - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    (
        numbers.map(make, Types.STRING())
        .map(json.loads)
        .map(with_cents)
        .filter(is_valid)
        .flat_map(by_tag, Types.TUPLE([Types.STRING(), Types.STRING(), Types.LONG()]))
        .filter(Discard())
        .print()
    )


def spark(engine):
    """The same by hand: `mapInArrow` over a range of numbers."""
    session = harness.spark_session()

    def run(records):
        with tempfile.TemporaryDirectory() as directory:

            def chain(batches):
                import pyarrow as pa

                meter = harness.Meter(directory)
                kept = []
                for batch in batches:
                    for n in batch["id"].to_pylist():
                        event = with_cents(json.loads(make(n)))
                        if is_valid(event):
                            kept += [record[0] for record in by_tag(event) if meter(record)]
                    yield pa.RecordBatch.from_pydict({"tag": pa.array(kept, pa.string())})
                    kept.clear()
                meter.leave()

            frame = session.range(0, records, 1, harness.PARALLELISM)
            assert frame.mapInArrow(chain, "tag string").collect() == []
            harness.read_meters(directory, expected(records))

    return harness.timed_runs(run)


ENGINES = {
    "firesteel": ("firesteel, STREAMING", lambda engine: harness.datastream_runs(build, expected, engine)),
    "spark": ("PySpark by hand, mapInArrow (one batch job, nothing is kept)", spark),
    "pyflink:process": ("PyFlink, process mode", lambda engine: harness.datastream_runs(build, expected, engine)),
    "pyflink:thread": ("PyFlink, thread mode", lambda engine: harness.datastream_runs(build, expected, engine)),
}

TEXT = """\
A stateless chain without exchange: JSON text is made from a sequence of numbers, parsed, changed, filtered and
split into 1.8 records for each; the records are counted and dropped. All engines run the same Python functions.
firesteel and PyFlink run the very same DataStream program. Times are without the start of Java: firesteel's is the
net run time of the job, PySpark's that of the action on a warm session, PyFlink's that from the first to the last
record, in the faster of its modes."""

if __name__ == "__main__":
    harness.main("Stateless chain", TEXT, ENGINES)
