from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from firesteel.client.collected import elements_of
from firesteel.functions.operator_descriptors import CollectSinkOperator
from firesteel.graph.job_graph import JobGraph
from firesteel.graph.job_vertex import ChainedOperator
from firesteel.runtime.jobmaster.data_plane import ResultsLostError
from firesteel.spark.collect_buffers import CollectBuffers, CollectRequest, CollectResponse, collect_ids_of
from tests.runtime.helpers import job_graph


def test_a_client_may_repeat_requests_without_loss_or_duplicates() -> None:
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


def test_a_client_learns_that_its_results_were_dropped() -> None:
    buffers = CollectBuffers()
    for number in range(101):
        buffers.put(f"sink-{number}", [number], lambda: False)
    with pytest.raises(ResultsLostError, match="results of collecting sink sink-0 were lost: more than 100 sinks"):
        buffers.fetch("sink-0", CollectRequest())
    buffers.put("sink-0", [1], lambda: False)  # The run continues.
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


def test_a_waiting_run_continues_after_its_results_were_dropped() -> None:
    buffers = CollectBuffers()
    buffers.put("slow", list(range(100_000)), lambda: False)
    run = threading.Thread(target=lambda: buffers.put("slow", [-1], lambda: False))
    run.start()
    for number in range(200):
        buffers.put(f"sink-{number}", [number], lambda: False)
    run.join(10)
    assert not run.is_alive()


@pytest.fixture
def job() -> JobGraph:
    """A job with one collecting sink."""
    job = job_graph(("source", 1, []), ("sink", 1, []))
    job.vertices[1].chain = [ChainedOperator(1, "0" * 32, "sink", 1, CollectSinkOperator("sink"))]
    assert collect_ids_of(job) == ["sink"]
    return job


def test_a_client_learns_that_another_process_collects(job: JobGraph, tmp_path: Path) -> None:
    first, second = CollectBuffers(), CollectBuffers()
    first.begin(job, tmp_path)
    first.put("sink", [1, 2, 3], lambda: False)
    known = first.fetch("sink", CollectRequest())
    # The other one leads now, and has not begun to run the job.
    with pytest.raises(ResultsLostError, match="another JobManager has taken the job over"):
        second.fetch("sink", CollectRequest(known.version, 3))
    second.begin(job, tmp_path)
    second.put("sink", [4], lambda: False)
    for asked in (CollectRequest(), CollectRequest(known.version, 3)):
        with pytest.raises(ResultsLostError):
            second.fetch("sink", asked)
    # The elements of the second one are missing here.
    first.begin(job, tmp_path)
    with pytest.raises(ResultsLostError):
        first.fetch("sink", CollectRequest(known.version, 3))


def test_a_client_gets_everything_when_its_job_is_restarted_by_the_same_process(job: JobGraph, tmp_path: Path) -> None:
    buffers = CollectBuffers()
    for element in (1, 2):
        buffers.begin(job, tmp_path)
        buffers.put("sink", [element], lambda: False)
    assert list(elements_of(lambda asked: buffers.fetch("sink", asked), lambda: True)) == [1, 2]


def test_regions_that_begin_at_the_same_time_are_of_one_process(job: JobGraph, tmp_path: Path) -> None:
    for attempt in range(50):
        buffers, directory = CollectBuffers(), tmp_path / str(attempt)
        directory.mkdir()
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: buffers.begin(job, directory), range(8)))  # noqa: B023
        assert buffers.fetch("sink", CollectRequest()).elements == []
        assert [path.name for path in directory.iterdir()] == ["collecting-process"]


def test_a_job_without_collecting_sinks_is_not_recorded(tmp_path: Path) -> None:
    CollectBuffers().begin(job_graph(("source", 1, [])), tmp_path)
    assert list(tmp_path.iterdir()) == []
