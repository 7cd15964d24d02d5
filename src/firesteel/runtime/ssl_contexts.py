"""TLS contexts from PEM files with Flink's option names, and those of the REST API. Flink: `runtime.net.SSLUtils`."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from firesteel.runtime.cluster_settings import InvalidOptionError, boolean, required
from firesteel.runtime.tls_versions import restrict

__all__ = [
    "has_rest_authentication",
    "has_rest_tls",
    "load_key",
    "load_trusted",
    "rest_client_context",
    "rest_server_context",
    "ssl_option",
]

_KIND = "rest"
_ENABLED = "security.ssl.rest.enabled"
_ALL_ENABLED = "security.ssl.enabled"
_AUTHENTICATION = "security.ssl.rest.authentication-enabled"
_VERIFY_HOSTNAME = "security.ssl.rest.verify-hostname"
_FINGERPRINT = "security.ssl.rest.cert.fingerprint"


def has_rest_tls(configuration: Mapping[str, str]) -> bool:
    """Return whether the REST API uses TLS."""
    return boolean(configuration, _ENABLED, boolean(configuration, _ALL_ENABLED, False))


def has_rest_authentication(configuration: Mapping[str, str]) -> bool:
    """Return whether clients of the REST API must present a certificate."""
    return has_rest_tls(configuration) and boolean(configuration, _AUTHENTICATION, False)


def rest_server_context(configuration: Mapping[str, str]) -> ssl.SSLContext | None:
    """Return the TLS context of the REST server, None if TLS is disabled.

    Raises:
        InvalidOptionError: a file is missing or can't be used.
    """
    if not has_rest_tls(configuration):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    restrict(context, configuration)
    load_key(context, configuration, _KIND)
    if has_rest_authentication(configuration):
        load_trusted(context, configuration, _KIND)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def rest_client_context(configuration: Mapping[str, str]) -> ssl.SSLContext:
    """Return the TLS context of a REST client, which trusts the truststore or, without one, the system's.

    Raises:
        InvalidOptionError: a file is missing or can't be used.
    """
    truststore, trusted = ssl_option(configuration, _KIND, "truststore")
    if _FINGERPRINT in configuration:
        raise InvalidOptionError(f"option {_FINGERPRINT!r} has no effect here; trust the certificate by {truststore}")
    context = ssl.create_default_context()
    if trusted is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        load_trusted(context, configuration, _KIND)
    restrict(context, configuration)
    context.check_hostname = boolean(configuration, _VERIFY_HOSTNAME, True)
    if has_rest_authentication(configuration):
        load_key(context, configuration, _KIND)
    return context


def ssl_option(configuration: Mapping[str, str], kind: str, name: str) -> tuple[str, str | None]:
    """Return key and value of a TLS option: the one of this kind, else the common one.

    Example:
        >>> ssl_option({"security.ssl.truststore": "all.pem"}, "rest", "truststore")
        ('security.ssl.truststore', 'all.pem')
    """
    own, common = f"security.ssl.{kind}.{name}", f"security.ssl.{name}"
    key = common if own not in configuration and common in configuration else own
    return key, configuration.get(key)


def load_key(context: ssl.SSLContext, configuration: Mapping[str, str], kind: str) -> None:
    """Load a certificate chain and its key.

    Raises:
        InvalidOptionError: the option or its file is missing, or the file can't be used.
    """
    option, path = _pem_file(configuration, kind, "keystore")
    password, text = ssl_option(configuration, kind, "key-password")
    try:
        # An empty password instead of None, which would prompt for one on the terminal.
        context.load_cert_chain(path, password=text or "")
    except (ssl.SSLError, OSError) as error:
        raise InvalidOptionError(
            f"option {option!r}: {path} can't be used: {error}; expected a certificate and its key in PEM, "
            f"with {password} if the key is encrypted"
        ) from None


def load_trusted(context: ssl.SSLContext, configuration: Mapping[str, str], kind: str) -> None:
    """Load the trusted certificates.

    Raises:
        InvalidOptionError: the option or its file is missing, or the file can't be used.
    """
    option, path = _pem_file(configuration, kind, "truststore")
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise InvalidOptionError(
            f"option {option!r}: {path} can't be used: {error}; expected certificates in PEM"
        ) from None


def _pem_file(configuration: Mapping[str, str], kind: str, name: str) -> tuple[str, Path]:
    option, _ = ssl_option(configuration, kind, name)
    path = Path(required(configuration, option))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidOptionError(f"option {option!r}: {path} can't be read: {error.strerror}") from None
    if b"-----BEGIN " not in content:
        raise InvalidOptionError(
            f"option {option!r}: {path} is not a PEM file; Java keystores have to be converted: "
            f"keytool -importkeystore -srckeystore {path.name} -destkeystore store.p12 -deststoretype PKCS12, then "
            "openssl pkcs12 -in store.p12 -out store.pem"
        )
    return option, path
