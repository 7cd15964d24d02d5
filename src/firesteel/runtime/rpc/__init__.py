"""Endpoints, and the gateways through which they call each other."""

from firesteel.runtime.rpc.rpc_endpoint import FencedRpcEndpoint, RpcEndpoint
from firesteel.runtime.rpc.rpc_errors import (
    EndpointStoppedError,
    FencingTokenError,
    RpcAuthenticationError,
    RpcConnectionError,
    RpcError,
    RpcMessageTooLargeError,
    RpcProtocolError,
    RpcTimeoutError,
    RpcVersionError,
)
from firesteel.runtime.rpc.rpc_service import InMemoryRpcService, RpcService, large_arguments, no_rpc_timeout
from firesteel.runtime.rpc.secret import (
    ClusterSecret,
    Secret,
    accepted_state_keys,
    cluster_secret,
    rpc_secret,
    rpc_secret_or_new,
    state_key,
)
from firesteel.runtime.rpc.tcp_rpc_service import TcpRpcService

__all__ = [
    "ClusterSecret",
    "EndpointStoppedError",
    "FencedRpcEndpoint",
    "FencingTokenError",
    "InMemoryRpcService",
    "RpcAuthenticationError",
    "RpcConnectionError",
    "RpcEndpoint",
    "RpcError",
    "RpcMessageTooLargeError",
    "RpcProtocolError",
    "RpcService",
    "RpcTimeoutError",
    "RpcVersionError",
    "Secret",
    "TcpRpcService",
    "accepted_state_keys",
    "cluster_secret",
    "large_arguments",
    "no_rpc_timeout",
    "rpc_secret",
    "rpc_secret_or_new",
    "state_key",
]
