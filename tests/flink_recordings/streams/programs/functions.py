"""Process functions with state and timers, connected and broadcast streams, side outputs."""

from pyflink.common import Row, Types
from pyflink.datastream import OutputTag
from pyflink.datastream.functions import (
    AggregateFunction,
    CoFlatMapFunction,
    CoMapFunction,
    KeyedBroadcastProcessFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ReduceFunction,
)
from pyflink.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)

from tests.flink_recordings.streams.programs.inputs import EVENT, ordered, split

TEXT = Types.STRING()


def key(value):
    return value[1]


class Running(KeyedProcessFunction):
    """All kinds of state, shown after each element."""

    def open(self, context):
        self.last = context.get_state(ValueStateDescriptor("last", Types.INT()))
        self.listed = context.get_list_state(ListStateDescriptor("listed", Types.INT()))
        self.mapped = context.get_map_state(MapStateDescriptor("mapped", Types.INT(), Types.STRING()))
        self.sum = context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b, Types.LONG()))
        self.average = context.get_aggregating_state(AggregatingStateDescriptor("average", Average(), Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value, ctx):
        before = self.last.value()
        self.last.update(value[2])
        self.sum.add(value[2])
        self.average.add(value[2])
        self.listed.add(value[0])
        self.mapped.put(value[2] % 5, str(value[0]))
        if value[2] % 11 == 0:
            self.listed.update([1, 2])
        if value[2] % 13 == 0 and self.mapped.contains(3):  # PyFlink raises KeyError if it is not there
            self.mapped.remove(3)
        if value[2] % 17 == 0:
            for state in (self.last, self.listed, self.mapped, self.sum, self.average):
                state.clear()
        yield (
            f"{ctx.get_current_key()} {ctx.timestamp()} {before} {self.last.value()} {self.sum.get()} {self.average.get()} "
            f"{list(self.listed.get() or [])} {sorted(self.mapped.items())} {self.mapped.contains(3)} {self.mapped.get(4)} "
            f"{sorted(self.mapped.keys())} {sorted(self.mapped.values())} {self.mapped.is_empty()}"
        )


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


def all_states(env):
    return ordered(env).key_by(key, TEXT).process(Running(), TEXT)


class Buckets(KeyedProcessFunction):
    """Sums per second, given by a timer at its end."""

    def open(self, context):
        self.sums = context.get_map_state(MapStateDescriptor("sums", Types.LONG(), Types.LONG()))

    def process_element(self, value, ctx):
        end = value[3] // 1000 * 1000 + 999
        self.sums.put(end, (self.sums.get(end) or 0) + value[2])
        ctx.timer_service().register_event_time_timer(end)
        ctx.timer_service().register_event_time_timer(end)  # once, as there is one timer per key and time
        if value[2] % 19 == 0:
            ctx.timer_service().delete_event_time_timer(end + 1000)

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} {timestamp} {ctx.timestamp()} {self.sums.get(timestamp)}"
        self.sums.remove(timestamp)


def timers(env):
    return ordered(env).key_by(lambda value: value[2] % 10, Types.INT()).process(Buckets(), TEXT)


class AtTheEnd(KeyedProcessFunction):
    """Gives at the end of input what a key had."""

    def open(self, context):
        self.values = context.get_list_state(ListStateDescriptor("values", Types.INT()))

    def process_element(self, value, ctx):
        self.values.add(value[0])
        ctx.timer_service().register_event_time_timer(10**12)

    def on_timer(self, timestamp, ctx):
        values = sorted(self.values.get())
        yield f"{ctx.get_current_key()} {len(values)} {sum(values)} {values[:3]}"


def at_the_end(env):
    return split(env).key_by(key, TEXT).process(AtTheEnd(), TEXT)


class Chained(KeyedProcessFunction):
    """A timer that registers the next one."""

    def open(self, context):
        self.count = context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value, ctx):
        if self.count.value() is None:
            self.count.update(0)
            ctx.timer_service().register_event_time_timer(2_000_000)

    def on_timer(self, timestamp, ctx):
        self.count.update(self.count.value() + 1)
        yield f"{ctx.get_current_key()} {timestamp} {self.count.value()}"
        if self.count.value() < 5:
            ctx.timer_service().register_event_time_timer(timestamp + 1000 * self.count.value())


def timers_of_timers(env):
    return split(env).key_by(key, TEXT).process(Chained(), TEXT)


class Joined(KeyedCoProcessFunction):
    """Each pair of elements of a key, whichever comes first."""

    def open(self, context):
        self.left = context.get_list_state(ListStateDescriptor("left", Types.INT()))
        self.right = context.get_list_state(ListStateDescriptor("right", Types.INT()))

    def process_element1(self, value, ctx):
        self.left.add(value[0])
        for other in self.right.get():
            yield f"{ctx.get_current_key()} {value[0]} {other}"

    def process_element2(self, value, ctx):
        self.right.add(value[0])
        for other in self.left.get():
            yield f"{ctx.get_current_key()} {other} {value[0]}"


def joined(env):
    left, right = split(env, 0, 2000), split(env, 1000, 2000)
    return left.connect(right).key_by(key, key, TEXT).process(Joined(), TEXT)


class Timed(KeyedCoProcessFunction):
    def open(self, context):
        self.sums = context.get_map_state(MapStateDescriptor("sums", Types.LONG(), Types.LONG()))

    def process_element1(self, value, ctx):
        self._add(value[3] // 5000 * 5000 + 4999, value[2], ctx)

    def process_element2(self, value, ctx):
        self._add(value[3] // 5000 * 5000 + 4999, -value[2], ctx)

    def _add(self, end, value, ctx):
        self.sums.put(end, (self.sums.get(end) or 0) + value)
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp, ctx):
        yield f"{ctx.get_current_key()} {timestamp} {self.sums.get(timestamp)}"


def timers_of_two(env):
    left, right = split(env, 0, 10_000), split(env, 3_000, 10_000)
    return left.connect(right).key_by(key, key, TEXT).process(Timed(), TEXT)


class Maps(CoMapFunction):
    def map1(self, value):
        return f"1 {value[0]}"

    def map2(self, value):
        return f"2 {value}"


def two_maps(env):
    return split(env).connect(env.from_collection(list(range(500)), Types.INT())).map(Maps(), TEXT)


class FlatMaps(CoFlatMapFunction):
    def flat_map1(self, value):
        for number in range(value[2] % 3):
            yield f"1 {value[0]} {number}"

    def flat_map2(self, value):
        if value[0] % 2:
            yield f"2 {value[3]}"


def two_flat_maps(env):
    return split(env).connect(ordered(env, 5, 3000)).flat_map(FlatMaps(), TEXT)


class Both(CoProcessFunction):
    def process_element1(self, value, ctx):
        yield f"1 {value[0]} {ctx.timestamp()}"

    def process_element2(self, value, ctx):
        yield f"2 {value[0]} {ctx.timestamp()}"


def two_processes(env):
    return split(env).connect(ordered(env, 5, 3000)).process(Both(), TEXT)


LATE = OutputTag("late", Types.LONG())
ODD = OutputTag("odd", EVENT)


class Sides(ProcessFunction):
    def process_element(self, value, ctx):
        if value[2] % 2:
            yield ODD, value
        if value[2] % 7 == 0:
            yield LATE, value[3]
        yield f"main {value[0]} {ctx.timestamp()}"


def side_outputs(env):
    main = split(env).process(Sides(), TEXT)
    odd = main.get_side_output(ODD).map(lambda value: f"odd {value}", TEXT)
    return main.union(odd, main.get_side_output(LATE).map(lambda time: f"late {time}", TEXT))


RULES = MapStateDescriptor("rules", Types.INT(), Types.STRING())


class Ruled(KeyedBroadcastProcessFunction):
    """Elements wait for all rules, so the order of the two inputs does not count."""

    def open(self, context):
        self.waiting = context.get_list_state(ListStateDescriptor("waiting", EVENT))

    def process_element(self, value, ctx):
        self.waiting.add(value)
        ctx.timer_service().register_event_time_timer(10**12)

    def process_broadcast_element(self, value, ctx):
        ctx.get_broadcast_state(RULES).put(value[0], value[1])

    def on_timer(self, timestamp, ctx):
        rules = ctx.get_broadcast_state(RULES)
        for value in self.waiting.get():
            rule = rules.get(value[2] % 6)
            if rule is not None:
                yield f"{ctx.get_current_key()} {rule} {value[0]}"


def broadcast_rules(env):
    rules = env.from_collection([(number, f"rule {number}") for number in range(4)], Types.TUPLE([Types.INT(), Types.STRING()]))
    return split(env).key_by(key, TEXT).connect(rules.broadcast(RULES)).process(Ruled(), TEXT)


class Told(BroadcastProcessFunction):
    """Each subtask gets each broadcast element."""

    def process_element(self, value, ctx):
        if value[0] % 3 == 0:
            yield f"{value[0]} {ctx.timestamp()}"

    def process_broadcast_element(self, value, ctx):
        state = ctx.get_broadcast_state(RULES)
        state.put(value[0] % 7, value[1])
        yield f"broadcast {value} {state.contains(value[0] % 7)} {len(dict(state.items()))}"


def broadcast(env):
    rules = env.from_collection([(number, f"rule {number}") for number in range(50)], Types.TUPLE([Types.INT(), Types.STRING()]))
    return split(env).connect(rules.broadcast(RULES)).process(Told(), TEXT)


def running_reduce(env):
    return ordered(env).key_by(key, TEXT).reduce(lambda a, b: (b[0], a[1], a[2] + b[2], max(a[3], b[3]))).map(str, TEXT)


def running_sums(env):
    keyed = ordered(env).map(lambda value: (value[1], value[2], value[0]), Types.TUPLE([TEXT, Types.INT(), Types.INT()])).set_parallelism(1).key_by(lambda value: value[0], TEXT)
    found = [keyed.sum(1), keyed.min(1), keyed.max(1), keyed.min_by(1), keyed.max_by(1)]
    texts = [stream.map(lambda value, number=number: f"{number} {value}", TEXT) for number, stream in enumerate(found)]
    return texts[0].union(*texts[1:])


def running_of_rows(env):
    kind = Types.ROW_NAMED(["word", "n", "id"], [TEXT, Types.DOUBLE(), Types.INT()])
    keyed = ordered(env, 0, 5000).map(lambda value: Row(word=value[1], n=value[2] / 8, id=value[0]), kind).set_parallelism(1).key_by(lambda row: row.word, TEXT)
    return keyed.sum("n").union(keyed.max_by("n")).map(lambda row: f"{row.word} {row['n']} {row[2]} {row}", TEXT)


class Subtasks(KeyedProcessFunction):
    def open(self, context):
        self.subtask, self.parallelism = context.get_index_of_this_subtask(), context.get_number_of_parallel_subtasks()

    def process_element(self, value, ctx):
        yield f"{ctx.get_current_key()} {self.subtask} of {self.parallelism}"


def subtasks_of_texts(env):
    return ordered(env, 0, 500).key_by(key, TEXT).process(Subtasks(), TEXT)


def subtasks_of_numbers(env):
    return ordered(env, 0, 500).key_by(lambda value: value[2], Types.INT()).process(Subtasks(), TEXT)


def subtasks_of_longs(env):
    return ordered(env, 0, 500).key_by(lambda value: value[3] << 20, Types.LONG()).process(Subtasks(), TEXT)


def subtasks_of_doubles(env):
    return ordered(env, 0, 500).key_by(lambda value: value[2] / 3, Types.DOUBLE()).process(Subtasks(), TEXT)


def subtasks_of_rows(env):
    return ordered(env, 0, 500).key_by(lambda value: Row(value[1], value[2] % 9), Types.ROW([TEXT, Types.INT()])).process(Subtasks(), TEXT)


def subtasks_of_tuples(env):
    return ordered(env, 0, 500).key_by(lambda value: (value[1], value[2] % 9), Types.TUPLE([TEXT, Types.INT()])).process(Subtasks(), TEXT)


def subtasks_of_pickles(env):
    return ordered(env, 0, 500).key_by(key).process(Subtasks(), TEXT)
