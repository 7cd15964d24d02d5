"""Windows of all kinds, with functions of all kinds."""

from pyflink.common import Time, Types
from pyflink.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    ReduceFunction,
    WindowFunction,
)
from pyflink.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from pyflink.datastream.window import (
    ContinuousEventTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    NeverTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)

from tests.flink_recordings.streams.programs.inputs import EVENT, ordered, split

TEXT = Types.STRING()


def key(value):
    return value[1]


class Average(AggregateFunction):
    def create_accumulator(self):
        return 0, 0

    def add(self, value, accumulator):
        return accumulator[0] + value[2], accumulator[1] + 1

    def get_result(self, accumulator):
        return accumulator[0] / accumulator[1]

    def merge(self, a, b):
        return a[0] + b[0], a[1] + b[1]


class Bounds(WindowFunction):
    def apply(self, key, window, inputs):
        values = sorted(value[2] for value in inputs)
        return [f"{key} {window.start} {window.end} {window.max_timestamp()} {len(values)} {values[:3]} {values[-1]}"]


class Several(ProcessWindowFunction):
    """Gives the result with the window, and how many windows the key had so far."""

    def process(self, key, context, elements):
        seen = context.global_state().get_state(ValueStateDescriptor("seen", Types.INT()))
        seen.update((seen.value() or 0) + 1)
        window = context.window()
        for element in elements:
            yield f"{key} {window.start} {window.end} {element}"

    def clear(self, context):
        pass


class Numbers(ProcessWindowFunction):
    def process(self, key, context, elements):
        numbers = [element[0] for element in elements]
        yield f"{key} {context.window()} {len(numbers)} {sum(numbers)}"


def tumbling_reduce(env):
    windows = split(env).key_by(key, TEXT).window(TumblingEventTimeWindows.of(Time.seconds(10)))
    return windows.reduce(lambda a, b: (max(a[0], b[0]), a[1], a[2] + b[2], max(a[3], b[3])), output_type=EVENT).map(str, TEXT)


def tumbling_reduce_process(env):
    windows = split(env).key_by(key, TEXT).window(TumblingEventTimeWindows.of(Time.seconds(7), Time.seconds(2)))
    return windows.reduce(lambda a, b: a if (a[2], a[0]) > (b[2], b[0]) else b, Several(), TEXT)


def sliding_aggregate(env):
    windows = split(env).key_by(key, TEXT).window(SlidingEventTimeWindows.of(Time.seconds(20), Time.seconds(5)))
    return windows.aggregate(Average(), accumulator_type=Types.TUPLE([Types.INT(), Types.INT()]), output_type=Types.DOUBLE()).map(str, TEXT)


def sliding_aggregate_process(env):
    windows = split(env).key_by(key, TEXT).window(SlidingEventTimeWindows.of(Time.seconds(9), Time.seconds(4), Time.seconds(1)))
    return windows.aggregate(Average(), Several(), Types.TUPLE([Types.INT(), Types.INT()]), TEXT)


def sliding_gaps(env):
    """The slide is longer than the window: some events are in none."""
    windows = split(env).key_by(key, TEXT).window(SlidingEventTimeWindows.of(Time.seconds(3), Time.seconds(10)))
    return windows.apply(Bounds(), TEXT)


def tumbling_apply(env):
    return split(env).key_by(key, TEXT).window(TumblingEventTimeWindows.of(Time.minutes(1))).apply(Bounds(), TEXT)


def tumbling_process(env):
    return split(env).key_by(lambda value: value[2] % 5, Types.INT()).window(TumblingEventTimeWindows.of(Time.seconds(30))).process(Numbers(), TEXT)


class Gap(SessionWindowTimeGapExtractor):
    def extract(self, element):
        return 500 + element[2] % 7 * 400


def sessions(env):
    return split(env).key_by(key, TEXT).window(EventTimeSessionWindows.with_gap(Time.seconds(4))).process(Numbers(), TEXT)


def sessions_reduce(env):
    windows = split(env).key_by(key, TEXT).window(EventTimeSessionWindows.with_gap(Time.milliseconds(4500)))
    return windows.reduce(lambda a, b: (min(a[0], b[0]), a[1], a[2] + b[2], max(a[3], b[3])), output_type=EVENT).map(str, TEXT)


def sessions_aggregate(env):
    windows = split(env).key_by(key, TEXT).window(EventTimeSessionWindows.with_dynamic_gap(Gap()))
    return windows.aggregate(Average(), Several(), Types.TUPLE([Types.INT(), Types.INT()]), TEXT)


def sessions_dynamic(env):
    return split(env).key_by(lambda value: value[2] % 40, Types.INT()).window(EventTimeSessionWindows.with_dynamic_gap(Gap())).apply(Bounds(), TEXT)


def counted(env):
    return ordered(env).key_by(key, TEXT).count_window(7).process(Numbers(), TEXT)


def counted_sliding(env):
    return ordered(env).key_by(key, TEXT).count_window(10, 3).apply(Bounds2(), TEXT)


class Bounds2(WindowFunction):
    def apply(self, key, window, inputs):
        return [f"{key} {[value[0] for value in inputs]}"]


def counted_reduce(env):
    return ordered(env).key_by(key, TEXT).count_window(6).reduce(lambda a, b: (a[0], a[1], a[2] + b[2], b[3]), output_type=EVENT).map(str, TEXT)


class AllBounds(AllWindowFunction):
    def apply(self, window, inputs):
        values = [value[0] for value in inputs]
        yield f"{window.start} {window.end} {len(values)} {min(values)} {max(values)}"


class AllNumbers(ProcessAllWindowFunction):
    def process(self, context, elements):
        yield f"{context.window().start} {sum(element[2] for element in elements)}"


def all_tumbling(env):
    return split(env).window_all(TumblingEventTimeWindows.of(Time.seconds(5))).apply(AllBounds(), TEXT)


def all_sliding(env):
    return split(env).window_all(SlidingEventTimeWindows.of(Time.seconds(6), Time.seconds(2))).process(AllNumbers(), TEXT)


def all_sessions(env):
    return split(env).filter(lambda value: value[0] // 300 % 2 == 0).window_all(EventTimeSessionWindows.with_gap(Time.seconds(4))).aggregate(Average(), accumulator_type=Types.TUPLE([Types.INT(), Types.INT()]), output_type=Types.DOUBLE()).map(str, TEXT)


class EachTenth(Trigger):
    """Fires with each tenth element, purges with each thirtieth, and at the end of the window."""

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        count = ctx.get_partitioned_state(ReducingStateDescriptor("count", lambda a, b: a + b, Types.LONG()))
        count.add(1)
        if count.get() % 30 == 0:
            return TriggerResult.FIRE_AND_PURGE
        return TriggerResult.FIRE if count.get() % 10 == 0 else TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def on_merge(self, window, ctx):
        pass

    def clear(self, window, ctx):
        ctx.get_partitioned_state(ReducingStateDescriptor("count", lambda a, b: a + b, Types.LONG())).clear()
        ctx.delete_event_time_timer(window.max_timestamp())


def own_trigger(env):
    windows = ordered(env).key_by(key, TEXT).window(TumblingEventTimeWindows.of(Time.minutes(10))).trigger(EachTenth())
    return windows.process(Numbers(), TEXT)


def purging(env):
    windows = ordered(env).key_by(key, TEXT).window(GlobalWindows.create()).trigger(PurgingTrigger.of(CountTrigger.of(8)))
    return windows.process(GlobalNumbers(), TEXT)


class GlobalNumbers(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield f"{key} {[element[0] for element in elements]}"


def counting_trigger(env):
    """Each firing gives all elements of the window so far."""
    windows = ordered(env).key_by(key, TEXT).window(TumblingEventTimeWindows.of(Time.minutes(30))).trigger(CountTrigger.of(25))
    return windows.reduce(lambda a, b: (a[0], a[1], a[2] + b[2], b[3]), output_type=EVENT).map(str, TEXT)


def never(env):
    return ordered(env).key_by(key, TEXT).window(GlobalWindows.create()).trigger(NeverTrigger()).process(GlobalNumbers(), TEXT)


class WithState(ProcessWindowFunction):
    """Keeps how often it was called for the window."""

    def process(self, key, context, elements):
        calls = context.window_state().get_state(ValueStateDescriptor("calls", Types.INT()))
        calls.update((calls.value() or 0) + 1)
        yield f"{key} {context.window().start} {calls.value()} {sum(element[2] for element in elements)}"

    def clear(self, context):
        context.window_state().get_state(ValueStateDescriptor("calls", Types.INT())).clear()


def window_state(env):
    windows = ordered(env).key_by(key, TEXT).window(TumblingEventTimeWindows.of(Time.minutes(20))).trigger(CountTrigger.of(40))
    return windows.process(WithState(), TEXT)


class Merging(Trigger):
    """Fires at the end of a session, whose timer moves when windows merge."""

    def on_element(self, element, timestamp, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())
        return TriggerResult.CONTINUE

    def on_event_time(self, time, window, ctx):
        return TriggerResult.FIRE_AND_PURGE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def on_processing_time(self, time, window, ctx):
        return TriggerResult.CONTINUE

    def can_merge(self):
        return True

    def on_merge(self, window, ctx):
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window, ctx):
        ctx.delete_event_time_timer(window.max_timestamp())


def merging_trigger(env):
    return split(env).key_by(key, TEXT).window(EventTimeSessionWindows.with_gap(Time.seconds(5))).trigger(Merging()).process(Numbers(), TEXT)


def cascade(env):
    """A window of windows: results have the time of their window's end."""
    small = split(env).key_by(key, TEXT).window(TumblingEventTimeWindows.of(Time.seconds(5)))
    sums = small.reduce(lambda a, b: (min(a[0], b[0]), a[1], a[2] + b[2], max(a[3], b[3])), output_type=EVENT)
    return sums.key_by(lambda value: value[1][:2], TEXT).window(TumblingEventTimeWindows.of(Time.seconds(20))).process(Numbers(), TEXT)
