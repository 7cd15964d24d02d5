"""Endpoints, and the gateways through which they talk to one another."""

from firesteel.runtime.rpc.errors import (
    EndpointStoppedError,
    FencingTokenError,
    RpcConnectionError,
    RpcError,
    RpcTimeoutError,
)
from firesteel.runtime.rpc.rpc_endpoint import FencedRpcEndpoint, RpcEndpoint
from firesteel.runtime.rpc.rpc_service import InMemoryRpcService, RpcService, no_rpc_timeout

__all__ = [
    "EndpointStoppedError",
    "FencedRpcEndpoint",
    "FencingTokenError",
    "InMemoryRpcService",
    "RpcConnectionError",
    "RpcEndpoint",
    "RpcError",
    "RpcService",
    "RpcTimeoutError",
    "no_rpc_timeout",
]
