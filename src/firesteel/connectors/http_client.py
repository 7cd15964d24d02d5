"""A client of HTTP for connectors: a request gets an answer, whatever its status."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException

TRANSIENT = (OSError, HTTPException)
"""Errors of connections, after which a request may succeed if it is repeated."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer.

    Attributes:
        status: The status.
        body: The whole body.
    """

    status: int
    body: bytes

    def text(self) -> str:
        """Return the begin of the body, for messages."""
        return self.body[:500].decode(errors="replace").strip()


@dataclass(frozen=True)
class HttpClient:
    """Sends requests. It is picklable.

    Attributes:
        timeout_s: Timeout of connecting and of each read, in seconds.
        trusted: Files of certificates of servers to trust, besides those that the system trusts.
        is_unchecked: Whether any certificate is accepted.
        certificate: The client's certificate and its key, each a file; None for none.
        proxy: The proxy of all requests, such as `http://user:password@host:port`; None for none.
    """

    timeout_s: float = 30.0
    trusted: tuple[str, ...] = ()
    is_unchecked: bool = False
    certificate: tuple[str, str] | None = None
    proxy: str | None = field(default=None, repr=False)

    def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
        """Return the answer to a request; redirections are not followed.

        Raises:
            OSError: the server cannot be reached, or does not answer in time.
            http.client.HTTPException: the server does not speak HTTP.
        """
        request = urllib.request.Request(url, body, dict(headers), method=method)
        with self._opener().open(request, timeout=self.timeout_s) as answer:
            return Answer(answer.status, answer.read())

    def _opener(self) -> urllib.request.OpenerDirector:
        proxies = {} if self.proxy is None else {"http": self.proxy, "https": self.proxy}
        tls = urllib.request.HTTPSHandler(context=self._tls())
        # Without a proxy an empty handler: the default one follows the environment, which slots need not share.
        return urllib.request.build_opener(_AsTheyAre(), urllib.request.ProxyHandler(proxies), tls)

    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        for path in self.trusted:
            context.load_verify_locations(path)
        if self.is_unchecked:
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        if self.certificate is not None:
            context.load_cert_chain(*self.certificate)
        return context


class _AsTheyAre(urllib.request.HTTPErrorProcessor):
    """Gives answers as they are, also errors and redirections."""

    def http_response(self, request: urllib.request.Request, response: object) -> object:
        """Return the answer."""
        return response

    https_response = http_response
