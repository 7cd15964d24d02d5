"""TLS between the processes of a cluster: calls, and records on their way to slots of other hosts.

Both sides show a certificate, and each trusts only what the truststore of the cluster holds: an authority of the
cluster's own, or the one certificate that all its processes share. Host names are not compared, as in Flink: who holds
a certificate of the cluster belongs to it. Flink: `runtime.net.SSLUtils`.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from dataclasses import dataclass

from firesteel.runtime.options import InvalidOptionError, boolean
from firesteel.runtime.ssl_contexts import load_key, load_trusted, ssl_option

__all__ = ["TLS_PREFIX", "InternalTls", "tls_problem"]

TLS_PREFIX = "security.ssl."
_ENABLED = "security.ssl.internal.enabled"
_ALL_ENABLED = "security.ssl.enabled"
_FINGERPRINT = "security.ssl.internal.cert.fingerprint"


@dataclass(frozen=True, slots=True)
class InternalTls:
    """The options of TLS inside a cluster; can be sent to where they are needed, the files have to be there.

    Attributes:
        options: (option, value), those of TLS only.

    Example:
        >>> InternalTls.of({}) is None
        True
    """

    options: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, configuration: Mapping[str, str]) -> InternalTls | None:
        """Return what the cluster's processes speak TLS with; None if they do not.

        Raises:
            InvalidOptionError: an option is missing, or can't be used here.
        """
        if not boolean(configuration, _ENABLED, boolean(configuration, _ALL_ENABLED, False)):
            return None
        if _FINGERPRINT in configuration:
            text = f"option {_FINGERPRINT!r} has no effect here; put that certificate alone into the truststore"
            raise InvalidOptionError(text)
        found = cls(tuple((key, configuration[key]) for key in sorted(configuration) if key.startswith(TLS_PREFIX)))
        found.server_context()  # What is wrong with the files is told at the start.
        return found

    def server_context(self) -> ssl.SSLContext:
        """Return what a process takes connections with."""
        return self._context(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))

    def client_context(self) -> ssl.SSLContext:
        """Return what a process connects to others with."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        return self._context(context)

    def _context(self, context: ssl.SSLContext) -> ssl.SSLContext:
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.verify_mode = ssl.CERT_REQUIRED
        load_key(context, dict(self.options), "internal")
        load_trusted(context, dict(self.options), "internal")
        return context


def tls_problem(error: OSError) -> str:
    """Say who refused whom and why, for an error of a handshake.

    Example:
        >>> tls_problem(ssl.SSLError(1, "[SSL: WRONG_VERSION_NUMBER] wrong version number"))
        'it does not speak TLS; set security.ssl.internal.enabled for all processes of the cluster or for none'
    """
    text = str(error)
    truststore = ssl_option({}, "internal", "truststore")[0]
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted here: {error.verify_message}; {truststore} decides that"
    if "ALERT" in text:
        return f"it refused the certificate of this process ({_reason(error)}): its {truststore} decides that"
    if "PEER_DID_NOT_RETURN_A_CERTIFICATE" in text:
        return "it showed no certificate"
    if "WRONG_VERSION_NUMBER" in text or "HTTP_REQUEST" in text:
        return f"it does not speak TLS; set {_ENABLED} for all processes of the cluster or for none"
    return f"TLS failed: {_reason(error)}"


def _reason(error: OSError) -> str:
    return (getattr(error, "reason", None) or str(error) or type(error).__name__).replace("_", " ").lower()
