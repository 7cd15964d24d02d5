"""Access control: tokens, and protection against pages of other sites in a browser that can reach the server.

A browser sends requests to loopback addresses on behalf of any page. A page cannot read the responses, but it can send
what a form can send. With a DNS name of its own that resolves to this address it could even read them. So `Host` must
be a name of the server, and a request that changes something must come from a page of the server, or from no page.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from urllib.parse import urlsplit

from aiohttp import web

from firesteel.common.options.option import InvalidOptionError, Option
from firesteel.common.options.rest_options import (
    REST_ADDRESS,
    REST_BIND_ADDRESS,
    REST_PORT,
    WEB_ALLOWED_ORIGINS,
    WEB_CANCEL_ENABLE,
    WEB_SUBMIT_ENABLE,
)
from firesteel.common.options.security_options import (
    REST_ALLOWED_HOSTS,
    REST_SUBMIT_WITHOUT_TOKEN,
    REST_TOKEN_ADMIN,
    REST_TOKEN_SUBMIT,
    SSL_REST_AUTHENTICATION_ENABLED,
)
from firesteel.common.trust.loopback import is_address, is_loopback
from firesteel.rest.proofs import Proofs, proven_token
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import Route
from firesteel.rest.tokens import Tokens, is_same
from firesteel.runtime.ssl_contexts import has_rest_authentication, has_rest_tls

_ROLES = {"view": 0, "submit": 1, "admin": 2}
_FORM_METHODS = frozenset({"GET", "HEAD", "POST"})
"""Methods that browsers send to another site without its consent (CORS); this server never consents to others."""

_PROOFS = ("Authorization", "X-Requested-With")
"""Headers that a page cannot send to another site without its consent."""


class Access:
    """The access rules of a server.

    Args:
        configuration: Configuration of the cluster.
        local_token: The token in a file that only this user can read; None if there is none.

    Raises:
        InvalidOptionError: the server would be reachable by others without authentication, or a token is too short.
    """

    bind_option = REST_BIND_ADDRESS.key
    """The option with the address of the server, for messages."""

    port_option = REST_PORT.key
    """The option with its port."""

    token_required = (
        "submitting a job runs code: it requires the token of this JobManager, which firesteel's commands read from "
        f"the run directory of its user, or {REST_TOKEN_SUBMIT}. {REST_SUBMIT_WITHOUT_TOKEN} lets everyone who can "
        "reach this server run code as its user"
    )
    """The message to a sender that must not run code."""

    path_token_required = (
        "a request that names a path requires the token of this JobManager, which firesteel's commands read from the "
        f"run directory of its user, or {REST_TOKEN_SUBMIT}; {REST_SUBMIT_WITHOUT_TOKEN} lets everyone name paths"
    )
    """The message to a sender that must not name a path."""

    def __init__(self, configuration: Mapping[str, str], local_token: str | None) -> None:
        self._tokens = Tokens(configuration)
        self._local_token = local_token
        self._proofs = Proofs()
        has_certificates = has_rest_authentication(configuration)
        self._is_open = has_certificates or REST_SUBMIT_WITHOUT_TOKEN.of(configuration)
        self._allows_submission = WEB_SUBMIT_ENABLE.of(configuration)
        self._allows_cancellation = WEB_CANCEL_ENABLE.of(configuration)
        self._origins = frozenset(_list(configuration, WEB_ALLOWED_ORIGINS))
        host = REST_BIND_ADDRESS.of(configuration)
        if not is_loopback(host) and not self._tokens.are_required and not has_certificates:
            raise InvalidOptionError(
                f"{self.bind_option} is {host!r}, which others can reach, and anyone who can submit a job can run "
                f"code: set {REST_TOKEN_ADMIN} or {SSL_REST_AUTHENTICATION_ENABLED}, or bind to 127.0.0.1"
            )
        # Not needed with tokens, which browsers do not send, or with TLS, where browsers check the certificate's name.
        self._checks_hosts = not self._tokens.are_required and not has_rest_tls(configuration)
        own = {"localhost", socket.gethostname().lower(), host, REST_ADDRESS.text_in(configuration) or host}
        self._hosts = own.union(_list(configuration, REST_ALLOWED_HOSTS))

    def check(self, request: web.Request, route: Route) -> None:
        """Check that the sender is allowed to send a request.

        Raises:
            RestError: the sender is unknown (401) or not authorized (403).
        """
        self._check_host(request)
        if route.is_public:
            return
        origin = request.headers.get("Origin")
        if origin is not None and not self._is_allowed(origin, request):
            raise RestError(
                403, f"pages of {origin!r} must not access this server; {WEB_ALLOWED_ORIGINS} allows more origins"
            )
        self._check_token(request, route)
        if route.role != "view" and not _is_deliberate(request):
            raise RestError(
                403,
                "a request that changes something must not come from a page of another site: send Content-Type: "
                f"application/json, one of the headers {', '.join(_PROOFS)}, or use another method than GET",
            )
        self._check_features(request, route)

    def _check_host(self, request: web.Request) -> None:
        host = request.headers.get("Host")
        if host is None or not self._checks_hosts:
            return
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        # An IP address cannot be rebound to another server, unlike a DNS name.
        if name not in self._hosts and not is_address(name):
            raise RestError(403, f"{host!r} is not a name of this server; {REST_ALLOWED_HOSTS} adds names")

    def _is_allowed(self, origin: str, request: web.Request) -> bool:
        return urlsplit(origin).netloc == request.headers.get("Host") or not self._origins.isdisjoint({origin, "*"})

    def _check_token(self, request: web.Request, route: Route) -> None:
        """Check the token; without configured tokens everyone may do everything except run code."""
        own = [self._local_token] if self._local_token is not None else []
        known = [*own, *(token for _, token in self._tokens.pairs())]
        given = _bearer_token(request) or self._proofs.token_of(request, known)
        if self._local_token is not None and is_same(given, self._local_token):
            return
        if not self._tokens.are_required:
            if route.runs_code and not self._is_open and not self.is_own_user(request):
                raise RestError(401, self.token_required)
            return
        allowed = [_ROLES[role] for role in self._tokens.roles_of(given)]
        if not allowed:
            raise RestError(401, "a bearer token is required: Authorization: Bearer <token>")
        if max(allowed) < _ROLES[route.role]:
            raise RestError(403, f"this token does not have the role {route.role}")

    def token_of(self, request: web.Request) -> str:
        """Return the configured token that a request has shown or proved; empty if it is another, or none."""
        given = _bearer_token(request) or proven_token(request)
        return given if self._tokens.roles_of(given) else ""

    def name_of(self, request: web.Request) -> str:
        """Return who sends a request, for the audit log: the role of the token, or how else the sender is known."""
        own = [self._local_token] if self._local_token is not None else []
        given = _bearer_token(request) or proven_token(request)
        if any(is_same(given, token) for token in own):
            return "the user of this JobManager"
        named = self._tokens.roles_of(given)
        return f"the token of role {named[0]}" if named else "a sender without a known token"

    def check_files(self, request: web.Request) -> None:
        """Check that the sender of a request that names a path may let this server access files.

        Raises:
            RestError: the sender has sent no token (401).
        """
        if self._tokens.are_required or self._is_open or self.is_own_user(request):
            return  # The token was checked for the role of the route.
        given = _bearer_token(request) or proven_token(request)
        if self._local_token is None or not is_same(given, self._local_token):
            raise RestError(401, self.path_token_required)

    def is_own_user(self, request: web.Request) -> bool:
        """Return whether the sender is known to be the server's own user, who may run code without a token."""
        return False

    def _check_features(self, request: web.Request, route: Route) -> None:
        if route.runs_code and not self._allows_submission:
            raise RestError(403, f"{WEB_SUBMIT_ENABLE} is false: jobs cannot be submitted")
        is_of_page = request.method == "GET" or "Origin" in request.headers
        if route.cancels and is_of_page and not self._allows_cancellation:
            raise RestError(403, f"{WEB_CANCEL_ENABLE} is false: jobs cannot be cancelled from the dashboard")

    async def add_headers(self, request: web.Request, response: web.StreamResponse) -> None:
        """Add the CORS header that lets pages of configured origins read the response."""
        origin = request.headers.get("Origin")
        if origin is not None and not self._origins.isdisjoint({origin, "*"}):
            response.headers["Access-Control-Allow-Origin"] = origin
            response.headers["Vary"] = "Origin"


def _list(configuration: Mapping[str, str], option: Option[str | None]) -> list[str]:
    return [part.strip() for part in (option.of(configuration) or "").split(",") if part.strip()]


def _bearer_token(request: web.Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _is_deliberate(request: web.Request) -> bool:
    """Return whether no page of another site can have sent the request; an `Origin` was checked before."""
    headers = request.headers
    if "Origin" in headers or request.method not in _FORM_METHODS or any(name in headers for name in _PROOFS):
        return True
    if request.method == "POST":
        return request.content_type == "application/json"
    site, page = headers.get("Sec-Fetch-Site"), urlsplit(headers.get("Referer", ""))
    return site == "same-origin" or (site is None and page.netloc == headers.get("Host"))
