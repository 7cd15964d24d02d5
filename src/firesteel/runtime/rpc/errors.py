"""What can go wrong with a call between endpoints.

FiresteelError
  RpcError
    RpcConnectionError       no endpoint has that address
    EndpointStoppedError     the endpoint stopped before it answered
    FencingTokenError        the call carries the token of another leader session (also errors.FencingTokenError)
    RpcTimeoutError          no answer in time (also a TimeoutError)
"""

from __future__ import annotations

from firesteel import errors

__all__ = ["EndpointStoppedError", "FencingTokenError", "RpcConnectionError", "RpcError", "RpcTimeoutError"]


class RpcError(errors.FiresteelError):
    """A call that was not carried out, or whose answer did not arrive."""


class RpcConnectionError(RpcError):
    """No endpoint has the address that was asked for. Flink: `rpc.exceptions.RpcConnectionException`."""

    def __str__(self) -> str:
        (address,) = self.args
        return f"no endpoint runs at {address!r}"


class EndpointStoppedError(RpcError):
    """The endpoint stopped before it answered. Flink: `rpc.exceptions.EndpointNotStartedException`."""

    def __str__(self) -> str:
        address, method = self.args
        return f"{address} stopped before it answered {method}()"


class FencingTokenError(RpcError, errors.FencingTokenError):
    """The call belongs to another leader session. Flink: `rpc.exceptions.FencingTokenException`.

    Raised at the caller; the endpoint's state is untouched. Look the leader up again and repeat the call.
    """

    def __init__(self, address: str, method: str, expected: str | None, received: str | None) -> None:
        super().__init__(address, method, expected, received)

    def __str__(self) -> str:
        address, method, expected, received = self.args
        holds = "has no leader session yet" if expected is None else f"is in leader session {expected!r}"
        return f"{address} rejected {method}() with fencing token {received!r}: it {holds}"


class RpcTimeoutError(RpcError, TimeoutError):
    """No answer arrived in time; whether the call was carried out is unknown."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
