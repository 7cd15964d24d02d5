"""Records per second of keyed state: a count and a sum for each of 100,000 keys, one result per record.

python benchmarks/bench_keyed_state.py [--records N] [--runs K] [--pyflink-python PATH]
"""

from __future__ import annotations

import tempfile
import time

import harness

KEYS = 100_000

# --- the functions that all engines run ----------------------------------------------------------------------------


def key_of(n):
    return n * 7919 % KEYS


def update(state, n):
    """(count, sum) of a key, after one more record."""
    return (1, n) if state is None else (state[0] + 1, state[1] + n)


def expected(records):
    return records


# --- engines -------------------------------------------------------------------------------------------------------


def build(env, records, directory):
    """The DataStream program, for firesteel and PyFlink."""
    from pyflink.common import Types, WatermarkStrategy
    from pyflink.datastream import KeyedProcessFunction
    from pyflink.datastream.connectors.number_seq import NumberSequenceSource
    from pyflink.datastream.functions import FilterFunction
    from pyflink.datastream.state import ValueStateDescriptor

    pair = Types.TUPLE([Types.LONG(), Types.LONG()])

    class CountAndSum(KeyedProcessFunction):
        def open(self, runtime_context):
            self.state = runtime_context.get_state(ValueStateDescriptor("count and sum", pair))

        def process_element(self, value, ctx):
            state = update(self.state.value(), value)
            self.state.update(state)
            yield ctx.get_current_key(), state[0], state[1]

    class Discard(FilterFunction):
        def open(self, runtime_context):
            self.meter = harness.Meter(directory)

        def filter(self, value):
            return self.meter(value)

        def close(self):
            self.meter.leave()

    source = NumberSequenceSource(0, records - 1)
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
        .key_by(key_of, Types.LONG())
        .process(CountAndSum(), Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()]))
        .filter(Discard())
        .print()
    )


def keyed_frame(frame, column):
    """`key` and `value`, the key made by the same Python function."""

    def with_keys(batches):
        import pyarrow as pa

        for batch in batches:
            numbers = batch[column].to_pylist()
            keys = [key_of(n) for n in numbers]
            yield pa.RecordBatch.from_pydict(
                {"key": pa.array(keys, pa.int64()), "value": pa.array(numbers, pa.int64())}
            )

    return frame.mapInArrow(with_keys, "key long, value long")


def discard(frame, directory):
    """Count the results and drop them."""

    def count(batches):
        meter = harness.Meter(directory)
        for batch in batches:
            for column in batch["total"].to_pylist():
                meter(column)
            yield batch.slice(0, 0)
        meter.leave()

    return frame.mapInArrow(count, "key long, count long, total long")


def spark_batch(engine):
    """By hand as fast as it gets: `mapInArrow` behind `repartition`, and a dict. A batch job: no state is kept."""
    session = harness.spark_session()

    def count_and_sum(batches):
        import pyarrow as pa

        states = {}
        for batch in batches:
            keys = batch["key"].to_pylist()
            results = []
            for key, n in zip(keys, batch["value"].to_pylist(), strict=True):
                state = states[key] = update(states.get(key), n)
                results.append(state)
            counts, totals = zip(*results, strict=True) if results else ((), ())
            columns = {"key": keys, "count": counts, "total": totals}
            yield pa.RecordBatch.from_pydict({name: pa.array(column, pa.int64()) for name, column in columns.items()})

    def run(records):
        with tempfile.TemporaryDirectory() as directory:
            numbers = session.range(0, records, 1, harness.PARALLELISM)
            parts = keyed_frame(numbers, "id").repartition(harness.PARALLELISM, "key")
            results = parts.mapInArrow(count_and_sum, "key long, count long, total long")
            assert discard(results, directory).collect() == []
            harness.read_meters(directory, expected(records))

    return harness.timed_runs(run)


def spark_streaming(engine):
    """`transformWithState`: state in RocksDB, kept from batch to batch. One batch is one run."""
    provider = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    session = harness.spark_session({"spark.sql.streaming.stateStore.providerClass": provider})
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    class CountAndSum(StatefulProcessor):
        def init(self, handle):
            self.state = handle.getValueState("state", "count long, total long")

        def handleInputRows(self, key, rows, timer_values):
            state = self.state.get() if self.state.exists() else None
            for row in rows:
                state = update(state, row.value)
                yield Row(key=key[0], count=state[0], total=state[1])
            self.state.update(state)

        def close(self):
            pass

    def runs(records, number):
        with tempfile.TemporaryDirectory() as checkpoint, tempfile.TemporaryDirectory() as directory:
            source = session.readStream.format("rate-micro-batch")
            source = source.option("rowsPerBatch", records).option("numPartitions", harness.PARALLELISM).load()
            results = (
                keyed_frame(source.select("value"), "value")
                .groupBy("key")
                .transformWithState(CountAndSum(), "key long, count long, total long", "append", "none")
            )
            seconds = []

            def on_batch(frame, batch_id):
                if batch_id <= number:
                    frame.write.format("noop").mode("append").save()

            query = (
                discard(results, directory)
                .writeStream.foreachBatch(on_batch)
                .option("checkpointLocation", checkpoint)
                .start()
            )
            while query.isActive and not any(p["batchId"] >= number for p in query.recentProgress):
                time.sleep(0.2)
            query.stop()
            for progress in query.recentProgress:
                if 1 <= progress["batchId"] <= number:
                    seconds.append(progress["durationMs"]["triggerExecution"] / 1000)
            if len(seconds) < number:
                raise SystemExit(f"the query ended early: {query.exception()}")
            return seconds

    return runs


ENGINES = {
    "firesteel": ("firesteel, STREAMING", lambda engine: harness.datastream_runs(build, expected, engine)),
    "spark-batch": ("PySpark by hand, mapInArrow and a dict (one batch job, nothing is kept)", spark_batch),
    "spark-streaming": ("PySpark by hand, transformWithState (streaming, RocksDB)", spark_streaming),
    "pyflink:process": ("PyFlink, process mode", lambda engine: harness.datastream_runs(build, expected, engine)),
    "pyflink:thread": ("PyFlink, thread mode", lambda engine: harness.datastream_runs(build, expected, engine)),
}

TEXT = f"""\
A count and a sum in a ValueState for each of {KEYS:,} keys, one result per record; the results are counted and
dropped. All engines run the same Python functions. firesteel and PyFlink run the very same DataStream program.
Times are without the start of Java: firesteel's is the net run time of the job, PySpark's that of the action on a
warm session or of the micro-batch, PyFlink's that from the first to the last record, in the faster of its modes."""

if __name__ == "__main__":
    harness.main("Keyed state", TEXT, ENGINES)
