"""Errors of the gateway."""

from __future__ import annotations

from firesteel.errors import FiresteelError


class SqlGatewayError(FiresteelError):
    """A request of a session cannot be served; the argument is the message (Flink: `SqlGatewayException`)."""
