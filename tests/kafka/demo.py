"""Runs the examples for Kafka against a broker of its own: `make demo-kafka`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.kafka.broker import Broker, running

EXAMPLES = Path(__file__).parents[2] / "examples"
PAYMENTS = ["anna 12.50", "bert 3.00", "anna -2.25", "carl 100", "bert 0.50"]


def run_example(broker: Broker, name: str, *options: str) -> str:
    """Run an example to the end of its topics and return its standard output."""
    program = [str(EXAMPLES / name), "--bootstrap-servers", broker.servers, "--bounded", *options]
    command = [sys.executable, "-c", "from firesteel.cli import main; main()", "run", "--quiet", *program]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def count_words(broker: Broker, lines: list[str]) -> str:
    """Run the word count over lines."""
    topic = broker.topic(2)
    for partition in range(2):
        broker.write(topic, lines[partition::2], partition)
    return run_example(broker, "kafka_word_count.py", "--topic", topic)


def balances(broker: Broker) -> list[str]:
    """Run the balances over `PAYMENTS` and return the committed records."""
    payments, topic = broker.topic(), broker.topic()
    broker.write(payments, PAYMENTS)
    run_example(broker, "kafka_exactly_once.py", "--payments", payments, "--balances", topic)
    return broker.values(topic)


def main() -> None:
    with running() as broker:
        print("\n== The last counts of the words of a topic (examples/kafka_word_count.py) ==", flush=True)
        lines = (EXAMPLES / "data" / "alice.txt").read_text().splitlines()
        print("\n".join(count_words(broker, lines).splitlines()[-10:]))
        print("\n== Balances, exactly once (examples/kafka_exactly_once.py) ==", flush=True)
        print("\n".join(balances(broker)))


if __name__ == "__main__":
    main()
