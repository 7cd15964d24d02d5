from __future__ import annotations

import pickle
import threading

import pytest

from firesteel.runtime.jobmaster.data_plane import ResultsLostError
from firesteel.spark.collect_buffers import CollectBuffers, CollectRequest, CollectResponse


def test_a_client_gets_each_element_once_and_asks_again_without_loss() -> None:
    buffers = CollectBuffers()
    buffers.put("sink", [1, 2, 3], lambda: False)
    first = buffers.fetch("sink", CollectRequest())
    assert first.elements == [1, 2, 3]
    assert buffers.fetch("sink", CollectRequest()) == first  # the answer was lost
    behind = CollectRequest(first.version, 2)
    assert buffers.fetch("sink", behind).elements == [3]
    answer: CollectResponse = pickle.loads(buffers.answer("sink", behind.to_bytes()))
    assert (answer.version, answer.elements) == (first.version, [3])
    assert buffers.fetch("another", CollectRequest(first.version, 7)).version != first.version
    with pytest.raises(ValueError, match=r"\[version, offset\]"):
        buffers.answer("sink", b"{}")


def test_a_run_waits_for_a_client_that_is_far_behind_unless_it_is_to_stop() -> None:
    buffers = CollectBuffers()
    buffers.put("sink", list(range(100_000)), lambda: False)
    is_stopping = threading.Event()
    run = threading.Thread(target=lambda: buffers.put("sink", [-1], is_stopping.is_set))
    run.start()
    version = buffers.fetch("sink", CollectRequest()).version
    assert run.is_alive()
    fetched = buffers.fetch("sink", CollectRequest(version, 10_000))
    run.join(10)
    assert not run.is_alive()
    assert fetched.elements[0] == 10_000
    later = threading.Thread(target=lambda: buffers.put("sink", list(range(20_000)), lambda: False))
    later.start()
    later.join(10)
    stopped = threading.Thread(target=lambda: buffers.put("sink", [], is_stopping.is_set))
    stopped.start()
    is_stopping.set()
    stopped.join(10)
    assert not stopped.is_alive()


def test_a_client_gets_pieces_that_are_bounded_by_bytes() -> None:
    buffers = CollectBuffers()
    elements = ["x" * 1_000_000 + str(number) for number in range(50)]
    buffers.put("sink", elements, lambda: False)
    found: list[str] = []
    asked = CollectRequest()
    while (answer := buffers.fetch("sink", asked)).elements:
        assert len(answer.elements) <= 5
        found += answer.elements
        asked = CollectRequest(answer.version, len(found))
    assert found == elements


def test_a_run_waits_when_a_client_leaves_too_many_bytes() -> None:
    buffers = CollectBuffers()
    buffers.put("sink", ["x" * 1_000_000] * 70, lambda: False)
    run = threading.Thread(target=lambda: buffers.put("sink", ["y"], lambda: False))
    run.start()
    version = buffers.fetch("sink", CollectRequest()).version
    assert run.is_alive()
    buffers.fetch("sink", CollectRequest(version, 20))
    run.join(10)
    assert not run.is_alive()


def test_small_answers_are_put_together() -> None:
    buffers = CollectBuffers()
    for number in range(100):
        buffers.put("sink", [number], lambda: False)
    first = buffers.fetch("sink", CollectRequest())
    assert first.elements == list(range(100))
    buffers.put("sink", [100], lambda: False)
    assert buffers.fetch("sink", CollectRequest(first.version, 30)).elements == list(range(30, 101))


def test_a_client_whose_results_were_dropped_is_told() -> None:
    buffers = CollectBuffers()
    for number in range(101):
        buffers.put(f"sink-{number}", [number], lambda: False)
    with pytest.raises(ResultsLostError, match="results of collecting sink sink-0 were dropped"):
        buffers.fetch("sink-0", CollectRequest())
    buffers.put("sink-0", [1], lambda: False)  # The run goes on.
    with pytest.raises(ResultsLostError):
        buffers.answer("sink-0", CollectRequest().to_bytes())
    assert [buffers.fetch(f"sink-{number}", CollectRequest()).elements for number in range(1, 101)] == [
        [number] for number in range(1, 101)
    ]


def test_sinks_whose_clients_have_everything_make_room_for_others() -> None:
    buffers = CollectBuffers()
    buffers.put("kept", ["kept"], lambda: False)
    for number in range(500):
        buffers.put(f"sink-{number}", [number], lambda: False)
        answer = buffers.fetch(f"sink-{number}", CollectRequest())
        assert answer.elements == [number]
        buffers.fetch(f"sink-{number}", CollectRequest(answer.version, 1))
    assert buffers.fetch("kept", CollectRequest()).elements == ["kept"]


def test_a_run_whose_results_were_dropped_while_it_waited_goes_on() -> None:
    buffers = CollectBuffers()
    buffers.put("slow", list(range(100_000)), lambda: False)
    run = threading.Thread(target=lambda: buffers.put("slow", [-1], lambda: False))
    run.start()
    for number in range(200):
        buffers.put(f"sink-{number}", [number], lambda: False)
    run.join(10)
    assert not run.is_alive()
