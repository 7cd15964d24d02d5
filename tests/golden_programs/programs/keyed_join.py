"""Two keyed streams meet in the state of their key; what comes first waits for the other side."""

from firesteel.common import Types
from firesteel.datastream.functions import KeyedCoProcessFunction
from firesteel.datastream.state import ListStateDescriptor, ValueStateDescriptor

ORDERS = [(1, "bread"), (2, "milk"), (1, "salt"), (3, "tea")]
PEOPLE = [(1, "Ada"), (2, "Bob")]
BOTH = ["Ada: bread", "Ada: salt", "Bob: milk"]


class Join(KeyedCoProcessFunction):
    def open(self, runtime_context):
        self.name = runtime_context.get_state(ValueStateDescriptor("name", Types.STRING()))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.STRING()))

    def process_element1(self, value, ctx):
        if self.name.value() is None:
            self.waiting.add(value[1])
        else:
            yield f"{self.name.value()}: {value[1]}"

    def process_element2(self, value, ctx):
        self.name.update(value[1])
        for waiting in self.waiting.get():
            yield f"{value[1]}: {waiting}"
        self.waiting.clear()


def build(env):
    pair = Types.TUPLE([Types.INT(), Types.STRING()])
    orders = env.from_collection(ORDERS, pair).key_by(lambda t: t[0], Types.INT())
    people = env.from_collection(PEOPLE, pair).key_by(lambda t: t[0], Types.INT())
    orders.connect(people).process(Join(), Types.STRING()).print()
