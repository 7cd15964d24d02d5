"""What the holders of one token may use of the REST API: jobs, connections at work, and bytes of results."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from firesteel.common.options.security_options import (
    REST_TOKEN_LIMIT_CONNECTIONS,
    REST_TOKEN_LIMIT_JOBS,
    REST_TOKEN_LIMIT_RESULTS,
)
from firesteel.rest.rest_errors import RestError

__all__ = ["Share", "TokenLimits"]

_PERIOD_S: Final = 60.0
_RETRY_AFTER_S: Final = 1


class TokenLimits:
    """The limits of each token, and what is used of them; the user of the JobManager has none.

    Args:
        configuration: Configuration of the server.
        now_s: Returns a time in seconds that only grows.
    """

    def __init__(self, configuration: Mapping[str, str], now_s: Callable[[], float] = time.monotonic) -> None:
        self.most_jobs = REST_TOKEN_LIMIT_JOBS.of(configuration)
        self.most_connections = REST_TOKEN_LIMIT_CONNECTIONS.of(configuration)
        self.most_bytes = REST_TOKEN_LIMIT_RESULTS.of(configuration)
        self.now_s = now_s
        self._at_work: Counter[str] = Counter()
        self._shares: dict[str, Share] = {}

    @contextmanager
    def at_work(self, token: str) -> Iterator[None]:
        """Count a connection of a token while it is served; an empty token is nobody's.

        Raises:
            RestError: others of the token are at work already (429).
        """
        most = self.most_connections
        if token and most is not None and self._at_work[token] >= most:
            message = f"{most} requests of this token are being served ({REST_TOKEN_LIMIT_CONNECTIONS}); try again"
            raise RestError(429, message, retry_after_s=_RETRY_AFTER_S)
        self._at_work[token] += 1
        try:
            yield
        finally:
            self._at_work[token] -= 1
            if not self._at_work[token]:
                del self._at_work[token]

    def of(self, token: str) -> Share:
        """Return what is used by a token."""
        if not token:
            return NO_SHARE
        return self._shares.setdefault(token, Share(self))


class Share:
    """The jobs and results of one token."""

    def __init__(self, limits: TokenLimits) -> None:
        self._limits = limits
        self._jobs: set[str] = set()
        self._submitting: set[str] = set()  # The cluster does not name them yet.
        self._sent: deque[tuple[float, int]] = deque()

    @contextmanager
    def submitting(self, job_id: str, running: Collection[str]) -> Iterator[None]:
        """Count a job, from its submission until it has ended.

        Args:
            job_id: The job.
            running: The ids of all jobs of the cluster that have not ended.

        Raises:
            RestError: as many of its jobs run as are allowed (429).
        """
        # Found out here, and not by events: a job ends without a request of its token.
        self._jobs.intersection_update(running)
        found, most = len(self._jobs) + len(self._submitting), self._limits.most_jobs
        if most is not None and found >= most:
            raise RestError(
                429, f"{found} jobs of this token are running, more are not allowed ({REST_TOKEN_LIMIT_JOBS})"
            )
        self._submitting.add(job_id)
        try:
            yield
            self._jobs.add(job_id)
        finally:
            self._submitting.discard(job_id)

    def check_results(self) -> None:
        """Check that the token may get results.

        Raises:
            RestError: it got as many in the last minute as are allowed (429).
        """
        most, now_s = self._limits.most_bytes, self._limits.now_s()
        while self._sent and self._sent[0][0] <= now_s - _PERIOD_S:
            self._sent.popleft()
        if most is not None and sum(size for _, size in self._sent) >= most:
            wait_s = max(1, round(self._sent[0][0] + _PERIOD_S - now_s))
            message = f"{most} bytes of results were sent to this token in a minute ({REST_TOKEN_LIMIT_RESULTS})"
            raise RestError(429, message, retry_after_s=wait_s)

    def sent(self, size: int) -> None:
        """Count bytes of results."""
        # Without a limit nobody would take the entries out again.
        if self._limits.most_bytes is not None:
            self._sent.append((self._limits.now_s(), size))


NO_SHARE = Share(TokenLimits({}))
"""That of senders without limits."""
