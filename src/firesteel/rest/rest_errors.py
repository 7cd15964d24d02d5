"""Errors of the REST API, which become responses `{"errors": [...]}`."""

from __future__ import annotations

from firesteel.errors import FiresteelError


class RestError(FiresteelError):
    """A request cannot be served.

    Args:
        status: The HTTP status.
        message: What was asked, what was found, what is allowed.
        retry_after_s: Seconds after which the client may retry.
    """

    def __init__(self, status: int, message: str, retry_after_s: int | None = None) -> None:
        super().__init__(status, message)
        self.retry_after_s = retry_after_s
        self.status = status
        self.message = message

    def __str__(self) -> str:
        return self.message
