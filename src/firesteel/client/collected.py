"""Iteration over collected elements for `execute_and_collect`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from firesteel.spark.collect_buffers import CollectRequest, CollectResponse


def elements_of(
    fetch: Callable[[CollectRequest], CollectResponse], is_over: Callable[[], bool], version: str = ""
) -> Iterator[object]:
    """Yield the elements of a collecting sink as they arrive; raise an error if some are lost.

    Args:
        fetch: Requests the elements after an offset; may wait for some. It raises an error if elements are lost.
        is_over: Returns whether the job has ended, so that no more elements will arrive.
        version: Version of the sink's buffer when the job began, if it is known.
    """
    asked = CollectRequest(version)
    while True:
        # Asked before the elements: those that arrive between both questions are fetched once more.
        was_over = is_over()
        answer = fetch(asked)
        had = asked.offset if answer.version == asked.version else 0
        asked = CollectRequest(answer.version, had + len(answer.elements))
        yield from answer.elements
        if was_over and not answer.elements:
            return
