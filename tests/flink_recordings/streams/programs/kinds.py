"""Values of all types, as they are after an exchange between subtasks."""

import datetime
import decimal

from pyflink.common import Instant, Row, Types
from pyflink.datastream.functions import KeyedProcessFunction
from pyflink.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor

from tests.flink_recordings.streams.programs.inputs import ordered

TEXT = Types.STRING()
EPOCH = datetime.datetime(1970, 1, 1)
VALUES = {
    "boolean": (Types.BOOLEAN(), lambda n: n % 2 == 0),
    "byte": (Types.BYTE(), lambda n: n % 256 - 128),
    "short": (Types.SHORT(), lambda n: n * 3 - 30_000),
    "int": (Types.INT(), lambda n: n * 100_003 - 10**9),
    "long": (Types.LONG(), lambda n: n * 10**14 - 10**18),
    "float": (Types.FLOAT(), lambda n: n / 7 - 1000),
    "double": (Types.DOUBLE(), lambda n: n / 7 - 1000),
    "char": (Types.CHAR(), lambda n: chr(97 + n % 26)),
    "string": (Types.STRING(), lambda n: f"é{n}\u4e2d\U0001f600" * (n % 3)),
    "big_int": (Types.BIG_INT(), lambda n: n**9),
    "big_dec": (Types.BIG_DEC(), lambda n: decimal.Decimal(n - 500).scaleb(-(n % 12))),
    "date": (Types.SQL_DATE(), lambda n: datetime.date(1969, 1, 1) + datetime.timedelta(days=n)),
    "time": (Types.SQL_TIME(), lambda n: (EPOCH + datetime.timedelta(seconds=n * 37)).time()),
    "time_of_ms": (Types.SQL_TIME(), lambda n: (EPOCH + datetime.timedelta(milliseconds=n * 1037)).time()),
    "timestamp": (Types.SQL_TIMESTAMP(), lambda n: EPOCH + datetime.timedelta(days=n * 30 - 9000, microseconds=n * 1001)),
    "instant": (Types.INSTANT(), lambda n: Instant.of_epoch_milli(n * 10**9 - 10**11)),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), lambda n: bytes([n % 256, 0, 255])),
    "ints": (Types.PRIMITIVE_ARRAY(Types.INT()), lambda n: list(range(n % 5))),
    "doubles": (Types.BASIC_ARRAY(Types.DOUBLE()), lambda n: [n / 3, None] * (n % 3)),
    "texts": (Types.BASIC_ARRAY(Types.STRING()), lambda n: [str(n), None, ""][: n % 4]),
    "objects": (Types.OBJECT_ARRAY(Types.ROW([Types.INT(), TEXT])), lambda n: [Row(n, "a"), Row(None, None)][: n % 3]),
    "list": (Types.LIST(Types.INT()), lambda n: [n] * (n % 4)),
    "map": (Types.MAP(Types.STRING(), Types.DOUBLE()), lambda n: {f"k{i}": i / 3 for i in range(n % 3)}),
    "map_of_lists": (Types.MAP(Types.INT(), Types.LIST(Types.STRING())), lambda n: {n: ["a"] * (n % 3)}),
    "tuple": (Types.TUPLE([Types.INT(), Types.FLOAT()]), lambda n: (n, n / 3)),
    "row": (Types.ROW([Types.INT(), TEXT, Types.BOOLEAN()]), lambda n: Row(n, None if n % 3 else str(n), None)),
    "named": (Types.ROW_NAMED(["a", "b"], [Types.SHORT(), Types.SQL_DATE()]), lambda n: Row(a=n, b=None if n % 2 else datetime.date(2020, 2, 29))),
    "nested": (Types.ROW([Types.ROW([Types.LIST(Types.TUPLE([Types.INT(), TEXT]))])]), lambda n: Row(Row([(n, "x")] * (n % 3)))),
    "pickled": (Types.PICKLED_BYTE_ARRAY(), lambda n: {"n": {n, n + 1}, "c": complex(n, 1), "t": (n, [None])}),
}


class Kept(KeyedProcessFunction):
    """Keeps each value in state of its type, and shows what it had."""

    def __init__(self, name):
        self.name = name  # PyFlink can't pickle types

    def open(self, context):
        kind, _ = VALUES[self.name]
        self.last = context.get_state(ValueStateDescriptor("last", kind))
        self.some = context.get_list_state(ListStateDescriptor("some", kind))
        self.named = context.get_map_state(MapStateDescriptor("named", Types.INT(), kind))

    def process_element(self, value, ctx):
        before = self.last.value()
        self.last.update(value[1])
        self.some.add(value[1])
        self.named.put(value[0], value[1])
        if value[0] % 10 == 0:
            found = sorted(self.named.items(), key=lambda item: item[0])
            yield f"{value!r} {before!r} {list(self.some.get())[-3:]!r} {found[-2:]!r}"


def _kept(name):
    kind, make = VALUES[name]

    def build(env):
        """Values in state of their type."""
        pairs = ordered(env, 0, 1000).map(lambda value: (value[0], make(value[0])), Types.TUPLE([Types.INT(), kind]))
        return pairs.set_parallelism(1).key_by(lambda pair: pair[0] % 7, Types.INT()).process(Kept(name), TEXT)

    return build


def _shown(name):
    kind, make = VALUES[name]

    def build(env):
        """Values after an exchange."""
        values = ordered(env, 0, 1000).map(lambda value: make(value[0]), kind).set_parallelism(1)
        return values.rebalance().map(lambda value: f"{type(value).__name__} {value!r}", TEXT)

    return build


BUILDERS = {f"kept_{name}": _kept(name) for name in VALUES}
BUILDERS |= {f"shown_{name}": _shown(name) for name in VALUES}
