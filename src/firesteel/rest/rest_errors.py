"""Errors of the REST API, which become responses `{"errors": [...]}`."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.errors import FiresteelError


class AddressInUseError(FiresteelError, OSError):
    """A server can't listen, as other processes do at each of its ports."""

    def __init__(self, host: str, ports: Sequence[int], option: str) -> None:
        found = f"port {ports[0]}" if len(ports) == 1 else f"each port from {ports[0]} to {ports[-1]}"
        super().__init__(
            f"{found} of {host} is in use by another process; set {option} to another one, or to 0 for any free one"
        )


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
