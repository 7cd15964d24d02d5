"""The server of the gateway (Flink: `gateway.SqlGateway`, `gateway.rest.SqlGatewayRestEndpoint`).

Why: `docs/decisions/0029-sql-gateway-as-its-own-process.md`.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from aiohttp import web

from firesteel.common.options.execution_options import EXECUTION_TARGET
from firesteel.common.options.gateway_options import (
    GATEWAY_ADDRESS,
    GATEWAY_BIND_ADDRESS,
    GATEWAY_BIND_PORT,
    GATEWAY_ENDPOINT_TYPE,
    GATEWAY_PORT,
)
from firesteel.common.options.rest_options import REST_ADDRESS, REST_BIND_ADDRESS, REST_BIND_PORT, REST_PORT
from firesteel.gateway.access import GatewayAccess
from firesteel.gateway.handlers import DEFAULT_VERSION, ROUTES, VERSIONS, GatewayCall
from firesteel.gateway.sessions import Sessions
from firesteel.rest.endpoint import RestServerEndpoint


class SqlGateway:
    """Serves SQL sessions at `sql-gateway.endpoint.rest.bind-address` (127.0.0.1) and `.port` (8083).

    Args:
        configuration: Options of the gateway, which are also the defaults of sessions. Without `execution.target` jobs
            run on the cluster at `rest.address`.

    Raises:
        InvalidOptionError: an option is invalid, or the server would be reachable by others without authentication.
    """

    def __init__(self, configuration: Mapping[str, str]) -> None:
        GATEWAY_ENDPOINT_TYPE.of(configuration)
        self._sessions = Sessions(configuration, session_defaults(configuration))
        options = rest_options(configuration)
        prefixes = ("", *(f"/{version.lower()}" for version in VERSIONS))
        self._server = RestServerEndpoint(ROUTES, prefixes, self._make_call, GatewayAccess(options), options)

    @property
    def address(self) -> str:
        """The URL of the server, after the start."""
        return self._server.address

    async def start(self) -> None:
        """Start listening.

        Raises:
            OSError: the port is in use.
        """
        await self._server.start()
        self._sessions.start()

    async def stop(self) -> None:
        """Stop listening and close all sessions, which cancels the jobs of queries."""
        await self._server.stop()
        await self._sessions.stop()

    def _make_call(self, request: web.Request, body: dict[str, object], _: dict[str, bytes]) -> GatewayCall:
        first = request.path.split("/")[1]
        version = first if first.upper() in VERSIONS else DEFAULT_VERSION
        return GatewayCall(self._sessions, version, dict(request.match_info), dict(request.query), body)


def session_defaults(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the initial options of sessions: those of the gateway without its own."""
    # The tokens with which others reach the gateway must not be those that a session shows, or sends to a cluster.
    own = ("sql-gateway.", "security.rest.token.")
    options = {key: value for key, value in configuration.items() if not key.startswith(own)}
    host = REST_ADDRESS.of(options)
    # Flink's options have the port apart.
    has_port = urlsplit(host if "://" in host else f"//{host}").port is not None
    address = host if has_port else f"{host}:{REST_PORT.of(options)}"
    return {EXECUTION_TARGET.key: "remote", **options, REST_ADDRESS.key: address}


def rest_options(configuration: Mapping[str, str]) -> dict[str, str]:
    """Return the options of the gateway's server by the names that a JobManager's server has for them."""
    # `rest.*` is the cluster to which sessions submit, not the gateway's own server.
    others = {key: value for key, value in configuration.items() if not key.startswith("rest.")}
    limits = {key: value for key, value in configuration.items() if key.startswith("rest.server.")}
    bind_address = GATEWAY_BIND_ADDRESS.of(configuration)
    return {
        **others,
        **limits,
        REST_BIND_ADDRESS.key: bind_address,
        REST_ADDRESS.key: GATEWAY_ADDRESS.of(configuration) or bind_address,
        REST_BIND_PORT.key: GATEWAY_BIND_PORT.text_in(configuration) or str(GATEWAY_PORT.of(configuration)),
    }
