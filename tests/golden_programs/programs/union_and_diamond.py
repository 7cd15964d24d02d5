from firesteel.common import Types
from firesteel.datastream.functions import CoMapFunction

BOTH = [
    *["(1,x)", "(2,x)", "(3,x)", "(10,y)", "(20,y)", "(30,y)"],
    *["left 1", "left 2", "left 3", "right 10", "right 20", "right 30"],
    *["again> 1", "again> 2", "again> 3"] * 2,
]


class Name(CoMapFunction):
    def map1(self, value):
        return f"left {value}"

    def map2(self, value):
        return f"right {value}"


def build(env):
    numbers = env.from_collection([1, 2, 3], Types.INT())
    tens = numbers.rebalance().map(lambda n: n * 10, Types.INT())
    pair = Types.TUPLE([Types.INT(), Types.STRING()])
    numbers.map(lambda n: (n, "x"), pair).union(tens.map(lambda n: (n, "y"), pair)).print().set_parallelism(1)
    numbers.connect(tens).map(Name(), Types.STRING()).print().set_parallelism(1)
    numbers.union(numbers).print("again").set_parallelism(1)
