from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

STREAMING = ["a> 1", "a> 3", "a> 6", *[f"b> {n}" for n in range(100, 150)]]
BATCH = ["a> 6", *[f"b> {n}" for n in range(100, 150)]]


def build(env):
    numbers = env.from_collection([1, 2, 3], Types.INT())
    numbers.key_by(lambda n: "all", Types.STRING()).reduce(lambda a, b: a + b).print("a").set_parallelism(1)
    others = env.from_source(NumberSequenceSource(0, 99), WatermarkStrategy.no_watermarks(), "others", Types.LONG())
    others.filter(lambda n: n < 50).map(lambda n: n + 100, Types.LONG()).rebalance().print("b").set_parallelism(1)
