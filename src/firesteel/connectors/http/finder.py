"""Finds the rows that a service has for keys, several at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from firesteel.columns.cells import Cell
from firesteel.columns.values import to_python
from firesteel.common.options.sensitive_values import masked_text
from firesteel.connectors.formats.table_format import Format
from firesteel.connectors.http.requests import Key, KeyRequests, elements_of
from firesteel.connectors.http_client import TRANSIENT, Answer, HttpClient
from firesteel.errors import FiresteelError


class HttpLookupError(FiresteelError):
    """A service gave no answer, or one that stands for an error."""


@dataclass(frozen=True)
class Answers:
    """What answers stand for.

    Attributes:
        value: The format of the content.
        is_array: Whether it is an array of rows.
        success: Codes of answers with content.
        ignored: Codes of answers that stand for no row.
        retried: Codes after which a request is repeated.
        max_retries: How often.
        wait_s: Returns the time in seconds before a retry, counted from 0.
    """

    value: Format
    is_array: bool
    success: frozenset[int]
    ignored: frozenset[int]
    retried: frozenset[int]
    max_retries: int
    wait_s: Callable[[int], float]

    def rows(self, answer: Answer) -> list[tuple[Cell, ...]]:
        """Return the rows of an answer.

        Raises:
            ValueError: the content cannot be read.
        """
        if answer.status in self.ignored or not answer.body.strip():
            return []
        messages: Sequence[bytes] = elements_of(answer.body) if self.is_array else [answer.body]
        batch = self.value.decode_messages(list(messages))
        columns = [to_python(array, kind) for array, kind in zip(batch.columns, self.value.columns.types, strict=True)]
        return list(zip(*columns, strict=True))


class HttpFinder:
    """Asks a service for keys.

    Args:
        client: Sends requests.
        requests: The request of each key.
        answers: What answers stand for.
        at_once: Number of requests at a time.
    """

    def __init__(self, client: HttpClient, requests: KeyRequests, answers: Answers, at_once: int) -> None:
        self._client = client
        self._requests = requests
        self._answers = answers
        self._at_once = at_once

    def find(self, keys: Sequence[Key]) -> list[list[tuple[Cell, ...]]]:
        """Return the rows of each key.

        Raises:
            HttpLookupError: a request failed.
        """
        with ThreadPoolExecutor(min(self._at_once, len(keys)), "http-lookup") as pool:
            return list(pool.map(self._rows, keys))

    def _rows(self, key: Key) -> list[tuple[Cell, ...]]:
        requests, answers = self._requests, self._answers
        url, body = requests.address(key), requests.content(key)
        for retry in range(answers.max_retries + 1):
            is_last = retry == answers.max_retries
            try:
                answer = self._client.send(requests.method, url, requests.headers, body)
            except TRANSIENT as error:
                if is_last:
                    raise self._error(url, f"{type(error).__name__}: {error}") from error
            else:
                if answer.status in answers.success | answers.ignored:
                    return self._read(url, answer)
                if is_last or answer.status not in answers.retried:
                    raise self._error(url, f"status {answer.status}: {answer.text()}")
            time.sleep(answers.wait_s(retry))
        raise AssertionError("the last attempt returns or raises")

    def _read(self, url: str, answer: Answer) -> list[tuple[Cell, ...]]:
        try:
            return self._answers.rows(answer)
        except ValueError as error:
            raise self._error(url, f"status {answer.status}, but {error}") from error

    def _error(self, url: str, text: str) -> HttpLookupError:
        return HttpLookupError(f"{self._requests.method} {masked_text(url)}: {text}")

    def is_transient(self, error: Exception) -> bool:
        """Return False: each request is repeated by itself."""
        return False

    def close(self) -> None:
        """Do nothing: each request has its own connection."""
