"""Errors of the REST API: each becomes an answer `{"errors": [...]}` with its status."""

from __future__ import annotations

from firesteel.errors import FiresteelError


class RestError(FiresteelError):
    """A request can't be served.

    Args:
        status: The HTTP status.
        message: What was asked, what was found, what is allowed.
        retry_after_s: When it may be tried again.
    """

    def __init__(self, status: int, message: str, retry_after_s: int | None = None) -> None:
        super().__init__(status, message)
        self.retry_after_s = retry_after_s
        self.status = status
        self.message = message

    def __str__(self) -> str:
        return self.message
