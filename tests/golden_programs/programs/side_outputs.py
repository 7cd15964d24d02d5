from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import OutputTag
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.functions import ProcessFunction

BOTH = (
    [f"even> {n}" for n in range(0, 20, 2)] + [f"odd> n{n}" for n in range(1, 20, 2)]
    + [f"also> n{n}!" for n in range(1, 20, 2)]
)  # fmt: skip
ODD = OutputTag("odd", Types.STRING())
UNUSED = OutputTag("unused", Types.STRING())


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        if value % 2:
            yield ODD, f"n{value}"
            yield UNUSED, "nobody reads this"
        else:
            yield value


def build(env):
    numbers = env.from_source(NumberSequenceSource(0, 19), WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    even = numbers.process(Split(), Types.LONG())
    even.print("even").set_parallelism(1)
    odd = even.get_side_output(ODD)
    odd.print("odd").set_parallelism(1)
    odd.map(lambda text: text + "!", Types.STRING()).rebalance().print("also").set_parallelism(1)
