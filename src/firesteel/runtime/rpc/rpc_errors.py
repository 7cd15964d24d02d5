"""Errors of calls between endpoints.

FiresteelError
  RpcError
    RpcConnectionError       no endpoint has that address, or the connection to it is lost
      RpcAuthenticationError   the other side does not know the secret
      RpcVersionError          the other side speaks another version of the protocol
      RpcProtocolError         the other side sent invalid data
    RpcMessageTooLargeError  a call or an answer exceeds the limit
    EndpointStoppedError     the endpoint stopped before it answered
    FencingTokenError        the call carries the token of another leader session (also errors.FencingTokenError)
    RpcTimeoutError          no answer in time (also a TimeoutError)
"""

from __future__ import annotations

from firesteel import errors

__all__ = [
    "EndpointStoppedError",
    "FencingTokenError",
    "RpcAuthenticationError",
    "RpcConnectionError",
    "RpcError",
    "RpcMessageTooLargeError",
    "RpcProtocolError",
    "RpcTimeoutError",
    "RpcVersionError",
]


class RpcError(errors.FiresteelError):
    """A call was not executed, or its response did not arrive."""


class RpcConnectionError(RpcError):
    """No endpoint has the address, or the connection to it is lost. Flink: `rpc.exceptions.RpcConnectionException`.

    Whether a pending call was executed is unknown.
    """

    def __init__(self, address: str, reason: str | None = None) -> None:
        super().__init__(address, reason)

    def __str__(self) -> str:
        address, reason = self.args
        return f"no endpoint runs at {address!r}" if reason is None else f"no connection to {address!r}: {reason}"


class RpcAuthenticationError(RpcConnectionError):
    """The other side does not know the secret; no call was read or sent. Configure the same secret."""


class RpcVersionError(RpcConnectionError):
    """The other side speaks another version of the protocol; no call was read or sent. Run the same release."""


class RpcProtocolError(RpcConnectionError):
    """The other side sent data that is not a message of this protocol."""


class RpcMessageTooLargeError(RpcError):
    """A call or an answer exceeds the limit and was not sent. Flink: `PekkoRpcActor` with `pekko.framesize`."""

    def __str__(self) -> str:
        what, size_bytes, limit_bytes = self.args
        return f"{what} takes {size_bytes} bytes, allowed are {limit_bytes}; raise pekko.framesize in all processes"


class EndpointStoppedError(RpcError):
    """The endpoint stopped before it answered. Flink: `rpc.exceptions.EndpointNotStartedException`."""

    def __str__(self) -> str:
        address, method = self.args
        return f"{address} stopped before it answered {method}()"


class FencingTokenError(RpcError, errors.FencingTokenError):
    """The call belongs to another leader session. Flink: `rpc.exceptions.FencingTokenException`.

    Raised at the caller; the endpoint's state is unchanged. Look up the leader again and repeat the call.
    """

    def __init__(self, address: str, method: str, expected: str | None, received: str | None) -> None:
        super().__init__(address, method, expected, received)

    def __str__(self) -> str:
        address, method, expected, received = self.args
        holds = "has no leader session yet" if expected is None else f"is in leader session {expected!r}"
        return f"{address} rejected {method}() with fencing token {received!r}: it {holds}"


class RpcTimeoutError(RpcError, TimeoutError):
    """No response arrived in time; whether the call was executed is unknown."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
