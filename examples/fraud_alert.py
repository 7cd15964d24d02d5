"""Warns of a small payment that is followed by a large one within a minute, as with a stolen card that is tried out.

    firesteel run examples/fraud_alert.py

The payments arrive out of order. A KeyedProcessFunction keeps the payments of a card in a ValueState and registers an
event-time timer for each. When the watermark has passed a payment, no earlier one can arrive, and the timer checks it.
"""

from firesteel.common import Duration, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.state import ValueStateDescriptor

SMALL, LARGE = 1.00, 500.00
WITHIN_MS = 60_000

PAYMENTS = [  # (card, second, amount), in the order of arrival
    ("4711", 0, 25.00),
    ("4711", 20, 0.09),
    ("4711", 55, 510.00),  # 35 s after 0.09: an alert
    ("0815", 30, 0.50),
    ("0815", 95, 900.00),  # 65 s after 0.50: too late for one
    ("4711", 110, 700.00),
    ("1234", 130, 650.00),  # arrives before the small payment that it follows: an alert
    ("1234", 125, 0.75),
    ("0815", 140, 0.20),
    ("0815", 150, 30.00),  # neither small nor large: ends the suspicion
    ("0815", 155, 800.00),
]


class PaymentTime(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[1] * 1000


class FraudDetector(KeyedProcessFunction):
    """Checks the payments of a card in the order of their timestamps."""

    def open(self, runtime_context):
        amounts = Types.MAP(Types.LONG(), Types.DOUBLE())
        self.waiting = runtime_context.get_state(ValueStateDescriptor("waiting", amounts))
        self.small_at = runtime_context.get_state(ValueStateDescriptor("small-at", Types.LONG()))

    def process_element(self, value, ctx):
        waiting = self.waiting.value() or {}
        waiting[ctx.timestamp()] = value[2]
        self.waiting.update(waiting)
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp, ctx):
        waiting = self.waiting.value()
        amount = waiting.pop(timestamp)
        self.waiting.update(waiting)
        small_at = self.small_at.value()
        if amount >= LARGE and small_at is not None and timestamp - small_at <= WITHIN_MS:
            yield (
                f"card {ctx.get_current_key()}: {amount:.2f} at second {timestamp // 1000}, "
                f"{(timestamp - small_at) // 1000} s after a small payment"
            )
        if amount < SMALL:
            self.small_at.update(timestamp)
        else:
            self.small_at.clear()


def alerts(env, payments):
    stream = env.from_collection(payments, Types.TUPLE([Types.STRING(), Types.LONG(), Types.DOUBLE()]))
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(10))
    return (
        stream.assign_timestamps_and_watermarks(watermarks.with_timestamp_assigner(PaymentTime()))
        .key_by(lambda payment: payment[0], key_type=Types.STRING())
        .process(FraudDetector(), Types.STRING())
    )


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    alerts(env, PAYMENTS).print("ALERT").set_parallelism(1)
    env.execute("fraud alert")


if __name__ == "__main__":
    main()
