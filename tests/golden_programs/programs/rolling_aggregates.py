"""FLOAT has 32 bits; min_by keeps the first element, sum, min and max replace one field."""

from firesteel.common import Types

ELEMENTS = [("a", 7, 0.1), ("a", 1, 0.2), ("a", -5, 0.1)]
STREAMING = [
    "sum> (a,7,0.1)", "sum> (a,8,0.1)", "sum> (a,3,0.1)",
    "float> (a,7,0.1)", "float> (a,7,0.3)", "float> (a,7,0.4)",
    "min> (a,7,0.1)", "min> (a,1,0.1)", "min> (a,-5,0.1)",
    "max_by> (a,7,0.1)", "max_by> (a,1,0.2)", "max_by> (a,1,0.2)",
    "min_by> (a,7,0.1)", "min_by> (a,7,0.1)", "min_by> (a,7,0.1)",
    "reduce> (a,7,0.1)", "reduce> (a,8,0.2)", "reduce> (a,3,0.1)",
]  # fmt: skip
BATCH = [
    "sum> (a,3,0.1)", "float> (a,7,0.4)", "min> (a,-5,0.1)", "max_by> (a,1,0.2)",
    "min_by> (a,7,0.1)", "reduce> (a,3,0.1)",
]  # fmt: skip


def build(env):
    row = Types.TUPLE([Types.STRING(), Types.INT(), Types.FLOAT()])
    keyed = env.from_collection(ELEMENTS, row).key_by(lambda t: t[0], Types.STRING())
    keyed.sum(1).print("sum").set_parallelism(1)
    keyed.sum(2).map(lambda t: (t[0], t[1], round(t[2], 6)), row).print("float").set_parallelism(1)
    keyed.min(1).print("min").set_parallelism(1)
    keyed.max_by(2).print("max_by").set_parallelism(1)
    keyed.min_by(2).print("min_by").set_parallelism(1)
    keyed.reduce(lambda a, b: (a[0], a[1] + b[1], b[2])).print("reduce").set_parallelism(1)
