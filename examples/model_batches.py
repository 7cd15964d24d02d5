"""Scores payments with a model, 64 payments per call.

    pip install 'firesteel[onnx]'
    firesteel run examples/model_batches.py

The model (`examples/data/fraud.onnx`) is a logistic regression over four features. `open` loads it once per subtask;
each call runs it over a batch of payments, which costs little more than over a single one.
"""

from pathlib import Path

import numpy as np

from firesteel.common import Row, Types
from firesteel.datastream import MapBatchFunction, StreamExecutionEnvironment

MODEL = Path(__file__).parent / "data" / "fraud.onnx"
FEATURES = ["failed_logins", "new_device", "known_payee", "amount"]
PAYMENT = Types.ROW_NAMED(["id", *FEATURES], [Types.LONG(), *[Types.FLOAT()] * 4])
SCORE = Types.ROW_NAMED(["id", "score"], [Types.LONG(), Types.FLOAT()])


class Score(MapBatchFunction):
    """Adds the score of the model to the payments of a table."""

    def open(self, runtime_context):
        import onnxruntime  # where the function runs

        self.session = onnxruntime.InferenceSession(MODEL.read_bytes())

    def map_batch(self, batch):
        features = np.column_stack([batch[name] for name in FEATURES]).astype(np.float32)
        (scores,) = self.session.run(["scores"], {"features": features})
        return batch.select(["id"]).append_column("score", [scores[:, 0]])


def payments(count):
    return [Row(i, float(i % 5), float(i % 3 == 0), float(i % 2), 10.0 + i % 90) for i in range(count)]


def suspicious(env, elements):
    """Return the ids and scores of the payments that a person looks at."""
    scores = env.from_collection(elements, PAYMENT).map_batches(
        Score(), batch_size=64, output_type=SCORE, format="arrow"
    )
    return scores.filter(lambda row: row.score > 0.97)


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    suspicious(env, payments(1000)).map(
        lambda row: f"payment {row.id}: {row.score:.3f}", Types.STRING()
    ).print().set_parallelism(1)
    env.execute("scores of payments")


if __name__ == "__main__":
    main()
