"""TLS between the processes of a cluster, for RPC and for records to slots on other hosts.

Authentication is mutual, and each side trusts only the truststore of the cluster: a private certificate authority, or
the single certificate that all processes share. As in Flink, host names are not verified: a process with a certificate
of the cluster belongs to it. Flink: `runtime.net.SSLUtils`.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from firesteel.common.files.watched_files import WatchedFiles
from firesteel.common.options.security_options import (
    SSL_INTERNAL_ENABLED,
    SSL_INTERNAL_KEY_PASSWORD,
    SSL_INTERNAL_KEYSTORE,
    SSL_INTERNAL_TRUSTSTORE,
)
from firesteel.runtime.ssl_contexts import load_key, load_trusted
from firesteel.runtime.tls_versions import restrict

__all__ = ["TLS_PREFIX", "InternalTls", "tls_problem"]

TLS_PREFIX = "security.ssl."


@dataclass(frozen=True, slots=True)
class InternalTls:
    """The TLS options inside a cluster; serializable, but the files must exist at the destination.

    Attributes:
        options: Pairs of option and value, for TLS only.

    Example:
        >>> InternalTls.of({}) is None
        True
    """

    options: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> InternalTls | None:
        """Return the TLS options of a cluster's processes, or None if TLS is disabled.

        Raises:
            InvalidOptionError: a file is missing, or can't be used.
        """
        if not SSL_INTERNAL_ENABLED.of(configuration):
            return None
        found = cls(tuple((key, configuration[key]) for key in sorted(configuration) if key.startswith(TLS_PREFIX)))
        _contexts.cache_clear()  # The files of this start count, and problems with them are reported now.
        found.server_context()
        return found

    def server_context(self) -> ssl.SSLContext:
        """Return the SSL context for the next incoming connection, of the files as they are now."""
        return _contexts(self.options).current()[0]

    def client_context(self) -> ssl.SSLContext:
        """Return the SSL context for the next outgoing connection, of the files as they are now."""
        return _contexts(self.options).current()[1]


@cache
def _contexts(options: tuple[tuple[str, str], ...]) -> WatchedFiles[tuple[ssl.SSLContext, ssl.SSLContext]]:
    configuration = dict(options)

    def make() -> tuple[ssl.SSLContext, ssl.SSLContext]:
        client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        client.check_hostname = False
        return _context(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), configuration), _context(client, configuration)

    files = [Path(option.required(configuration)) for option in (SSL_INTERNAL_KEYSTORE, SSL_INTERNAL_TRUSTSTORE)]
    return WatchedFiles("the certificate of the cluster", files, make)


def _context(context: ssl.SSLContext, configuration: Mapping[str, str]) -> ssl.SSLContext:
    restrict(context, configuration)
    context.verify_mode = ssl.CERT_REQUIRED
    load_key(context, configuration, SSL_INTERNAL_KEYSTORE, SSL_INTERNAL_KEY_PASSWORD)
    load_trusted(context, configuration, SSL_INTERNAL_TRUSTSTORE)
    return context


def tls_problem(error: OSError) -> str:
    """Return which side rejected the other and why, for an error of a TLS handshake.

    Example:
        >>> tls_problem(ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"))
        'it does not speak TLS; set security.ssl.internal.enabled for all processes of the cluster or for none'
    """
    text = str(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted here: {error.verify_message}; {SSL_INTERNAL_TRUSTSTORE} decides that"
    if "ALERT" in text:
        return (
            f"it refused the certificate of this process ({_reason(error)}): its {SSL_INTERNAL_TRUSTSTORE} decides that"
        )
    if "PEER_DID_NOT_RETURN_A_CERTIFICATE" in text:
        return "it presented no certificate"
    if "WRONG_VERSION_NUMBER" in text or "HTTP_REQUEST" in text:
        return f"it does not speak TLS; set {SSL_INTERNAL_ENABLED} for all processes of the cluster or for none"
    return f"TLS failed: {_reason(error)}"


def _reason(error: OSError) -> str:
    return (getattr(error, "reason", None) or str(error) or type(error).__name__).replace("_", " ").lower()
