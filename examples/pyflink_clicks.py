"""Counts the pages that were clicked. The program is written for PyFlink 1 and imports `pyflink`.

firesteel run --pyflink examples/pyflink_clicks.py
"""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.state_backend import EmbeddedRocksDBStateBackend

CLICKS = [("ann", "home"), ("bob", "shop"), ("ann", "shop"), ("ann", "shop")]


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.add_jars("file:///opt/flink/flink-connector-kafka.jar")
    env.set_state_backend(EmbeddedRocksDBStateBackend())
    clicks = env.from_collection(CLICKS, Types.TUPLE([Types.STRING(), Types.STRING()]))
    (
        clicks.map(lambda click: (click[1], 1), output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda pair: pair[0], key_type=Types.STRING())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
        .print()
    )
    env.execute("clicks")


if __name__ == "__main__":
    main()
