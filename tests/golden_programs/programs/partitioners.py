"""Every partitioner loses and doubles nothing; broadcast gives each element to each subtask."""

from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

NUMBERS = range(1, 13)
BOTH = [
    *[f"{name}> {n}" for name in ("rebalance", "rescale", "shuffle", "custom") for n in NUMBERS],
    *[f"broadcast> {n}" for n in NUMBERS for _ in range(3)],
]


def build(env):
    numbers = env.from_source(NumberSequenceSource(1, 12), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())

    def end(stream, name):
        stream.map(lambda n: n, Types.LONG()).set_parallelism(3).print(name).set_parallelism(1)

    end(numbers.rebalance(), "rebalance")
    end(numbers.rescale(), "rescale")
    end(numbers.shuffle(), "shuffle")
    end(numbers.broadcast(), "broadcast")
    end(numbers.partition_custom(lambda key, n: key % n, lambda n: n * 7), "custom")
