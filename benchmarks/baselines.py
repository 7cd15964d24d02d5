"""Hand-written PySpark versions of the workloads, with the same Python functions."""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import harness
import pipelines
from pyspark import cloudpickle
from pyspark.sql import SparkSession

PARALLELISM = harness.PARALLELISM
_COUNT = "count long"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def session(settings: dict[str, str] | None = None) -> SparkSession:
    """Return a plain Spark session with as many cores as the other engines have subtasks."""
    pipelines.pickle_by_value(cloudpickle)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{PARALLELISM}]").appName("benchmark")
    defaults = {
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": str(PARALLELISM),
    }
    for key, value in {**defaults, **(settings or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def tuples(batches: Iterator[Any]) -> Iterator[list[tuple]]:
    """Yield the rows of Arrow batches as tuples."""
    for batch in batches:
        yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def arrow(rows: list[tuple], columns: str) -> Any:
    """Return an Arrow batch of rows; columns are given as `name type, ...`."""
    import pyarrow as pa

    types = {"long": pa.int64(), "double": pa.float64(), "string": pa.string(), "binary": pa.binary()}
    names = [column.split() for column in columns.split(", ")]
    values = zip(*rows, strict=True) if rows else ([] for _ in names)
    arrays = {name: pa.array(column, types[kind]) for (name, kind), column in zip(names, values, strict=True)}
    return pa.RecordBatch.from_pydict(arrays)


def metered(results: Any, directory: str) -> Any:
    """Return a function for `mapInArrow` that counts the results and discards them."""

    def count(batches):
        meter = pipelines.Meter(directory)
        for found in results(tuples(batches)):
            for result in found:
                meter.filter(result)
        meter.close()
        yield arrow([], _COUNT)

    return count


def mapped(numbers: Any, workload: ModuleType, place: Any) -> Any:
    """Return a DataFrame of `workload.rows` from a DataFrame of numbers, which `place` converts to positions."""

    def to_rows(batches):
        for batch in batches:
            yield arrow(workload.rows([place(n) for n in batch[0].to_pylist()]), workload.ROW)

    return numbers.mapInArrow(to_rows, workload.ROW)


def batch_runs(workload: ModuleType) -> harness.Runs:
    """Run as a batch job, hand-written for speed: `mapInArrow`, and after `repartition` a dict. No state is kept."""
    spark = session()

    def run(records: int) -> None:
        numbers = spark.range(0, records, 1, PARALLELISM)
        with tempfile.TemporaryDirectory() as directory:
            place = pipelines.Positions(records, directory).map
            if workload.ROW is None:

                def results(batches):
                    for batch in batches:
                        yield workload.rows([place(n) for (n,) in batch])

                done = numbers.mapInArrow(metered(results, directory), _COUNT)
            else:
                parts = mapped(numbers, workload, place).repartition(PARALLELISM, "key")
                done = parts.mapInArrow(metered(workload.results, directory), _COUNT)
            assert done.collect() == []
            pipelines.read_meters(directory, workload.expected(records))

    return harness.timed_runs(run)


def streaming_runs(workload: ModuleType) -> harness.Runs:
    """Run with `transformWithState`: state in RocksDB across batches, and windows by timers. A batch is a run."""
    spark = session({"spark.sql.streaming.stateStore.providerClass": ROCKSDB})
    windowed = hasattr(workload, "fire")

    def runs(records: int, number: int) -> list[float]:
        source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", records)
        numbers = source.option("numPartitions", PARALLELISM).load().select("value")
        frame = mapped(numbers, workload, int)  # Batches arrive in order.
        if windowed:
            frame = frame.selectExpr("*", "timestamp_millis(time) AS at").withWatermark("at", "0 seconds")
        results = frame.groupBy("key").transformWithState(
            _processor(workload), "result binary", "append", "eventTime" if windowed else "none"
        )
        with tempfile.TemporaryDirectory() as directory:
            return _time_batches(results, directory, number)

    return runs


def _processor(workload: ModuleType) -> Any:
    """Return a StatefulProcessor that runs a workload's `step` and `fire` with a pickled state."""
    from pyspark.sql import Row
    from pyspark.sql.streaming import StatefulProcessor

    class Steps(StatefulProcessor):
        def init(self, handle):
            self.handle = handle
            self.state = handle.getValueState("state", "content binary")

        def load(self):
            return pickle.loads(self.state.get()[0]) if self.state.exists() else None

        def store(self, state):
            self.state.update((pickle.dumps(state),))

        def handleInputRows(self, key, rows, timerValues):
            state = self.load()
            before = set(state or ()) if hasattr(workload, "fire") else None
            for row in rows:
                state, results = workload.step(state, tuple(row)[: workload.ROW.count(",") + 1])
                for result in results:
                    yield Row(result=pickle.dumps(result))
            if before is not None:
                for end_ms in state.keys() - before:
                    self.handle.registerTimer(end_ms)
            self.store(state)

        def handleExpiredTimer(self, key, timerValues, expiredTimerInfo):
            state = self.load()
            results = workload.fire(state, expiredTimerInfo.getExpiryTimeInMs())
            self.store(state)
            for result in results:
                yield Row(result=pickle.dumps(result))

        def close(self):
            pass

    return Steps()


def _time_batches(results: Any, directory: str, number: int) -> list[float]:
    """Return the seconds of batches 1 to `number`; batch 0 warms up."""

    def discard(batches):
        for batch in batches:
            batch.to_pydict()
            yield arrow([], _COUNT)

    def on_batch(frame, batch_id):
        if batch_id <= number:
            frame.write.format("noop").mode("append").save()

    sink = results.mapInArrow(discard, _COUNT).writeStream.foreachBatch(on_batch)
    query = sink.option("checkpointLocation", directory).start()
    seconds: dict[int, float] = {}
    while query.isActive and len(seconds) < number:
        time.sleep(0.2)
        for progress in query.recentProgress:
            if 1 <= progress["batchId"] <= number and progress["numInputRows"]:
                seconds[progress["batchId"]] = progress["durationMs"]["triggerExecution"] / 1000
    error = query.exception()
    query.stop()
    if len(seconds) < number:
        raise SystemExit(f"the query ended early: {error}")
    return [seconds[batch] for batch in sorted(seconds)]
