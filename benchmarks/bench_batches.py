"""Calls of a model one by one and in batches: `map` against `map_batches`, in the same process and run.

python benchmarks/bench_batches.py [--records N]

The model is that of examples/model_batches.py: ONNX Runtime over four features. Figures are the median of three runs.
"""

from __future__ import annotations

import argparse
import statistics
import time
from pathlib import Path

import numpy as np
import onnxruntime

from firesteel.common import Types
from firesteel.datastream.functions import MapBatchFunction, MapFunction
from firesteel.functions.batch_functions import BatchFormat
from firesteel.functions.operator_descriptors import BatchOperator, MapOperator
from firesteel.testing import OperatorHarness

MODEL = Path(__file__).parent.parent / "examples" / "data" / "fraud.onnx"
FEATURES = Types.TUPLE([Types.FLOAT()] * 4)
BUFFER = 4096
RUNS = 3


def scores(session, features):
    return session.run(["scores"], {"features": np.asarray(features, np.float32)})[0][:, 0]


class One(MapFunction):
    def open(self, runtime_context):
        self.session = onnxruntime.InferenceSession(MODEL.read_bytes())

    def map(self, value):
        return float(scores(self.session, [value])[0])


class Rows(MapBatchFunction):
    def open(self, runtime_context):
        self.session = onnxruntime.InferenceSession(MODEL.read_bytes())

    def map_batch(self, batch):
        return scores(self.session, batch)


class Tables(Rows):
    def map_batch(self, batch):
        return scores(self.session, np.column_stack(batch.columns))


def seconds(descriptor, records):
    """Return the time that the operator of a descriptor takes for the records."""
    with OperatorHarness(descriptor, output_type=Types.FLOAT()) as harness:
        start = time.perf_counter()
        for first in range(0, len(records), BUFFER):
            harness.process_batch(records[first : first + BUFFER], None)
            harness.take()
        harness.end_batch()
        return time.perf_counter() - start


def batches(function, size, library):
    return BatchOperator(function, size, 0, library, FEATURES, Types.FLOAT())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=40_000)
    options = parser.parse_args()
    records = [(float(i % 5), float(i % 2), float(i % 3), float(i % 90)) for i in range(options.records)]
    one_by_one = MapOperator(One())
    ways = {f"batches of {size}, rows": batches(Rows(), size, BatchFormat.ROWS) for size in (8, 64, 512)}
    ways["batches of 512, arrow"] = batches(Tables(), 512, BatchFormat.ARROW)
    taken = {name: [] for name in ["one by one", *ways]}
    for _ in range(RUNS):
        for name, descriptor in {"one by one": one_by_one, **ways}.items():
            taken[name].append(seconds(descriptor, records))
    baseline = statistics.median(taken["one by one"])
    for name, times in taken.items():
        median = statistics.median(times)
        print(f"{name:24} {options.records / median:12,.0f} records/s   {baseline / median:6.1f} x")


if __name__ == "__main__":
    main()
