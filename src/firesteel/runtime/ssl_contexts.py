"""TLS of the REST API, out of PEM files under Flink's option names. Flink: `runtime.net.SSLUtils`."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from firesteel.runtime.options import InvalidOptionError, boolean, required

__all__ = ["has_rest_authentication", "has_rest_tls", "rest_client_context", "rest_server_context"]

_ENABLED = "security.ssl.rest.enabled"
_AUTHENTICATION = "security.ssl.rest.authentication-enabled"
_VERIFY_HOSTNAME = "security.ssl.rest.verify-hostname"
_KEYSTORE = "security.ssl.rest.keystore"
_TRUSTSTORE = "security.ssl.rest.truststore"
_KEY_PASSWORD = "security.ssl.rest.key-password"
_FINGERPRINT = "security.ssl.rest.cert.fingerprint"


def has_rest_tls(configuration: Mapping[str, str]) -> bool:
    """Whether the REST API speaks TLS."""
    return boolean(configuration, _ENABLED, False)


def has_rest_authentication(configuration: Mapping[str, str]) -> bool:
    """Whether clients of the REST API show a certificate, too."""
    return has_rest_tls(configuration) and boolean(configuration, _AUTHENTICATION, False)


def rest_server_context(configuration: Mapping[str, str]) -> ssl.SSLContext | None:
    """What the REST server speaks TLS with; None if it does not.

    Raises:
        InvalidOptionError: a file is missing or can't be used.
    """
    if not has_rest_tls(configuration):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load_key(context, configuration)
    if has_rest_authentication(configuration):
        required(configuration, _TRUSTSTORE)
        _load_trusted(context, configuration)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def rest_client_context(configuration: Mapping[str, str]) -> ssl.SSLContext:
    """What a client speaks TLS with: it trusts the truststore, or what the system trusts if there is none.

    Raises:
        InvalidOptionError: a file is missing or can't be used.
    """
    if _FINGERPRINT in configuration:
        raise InvalidOptionError(f"option {_FINGERPRINT!r} has no effect here; trust the certificate by {_TRUSTSTORE}")
    context = ssl.create_default_context()
    if _TRUSTSTORE in configuration:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        _load_trusted(context, configuration)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = boolean(configuration, _VERIFY_HOSTNAME, True)
    if has_rest_authentication(configuration):
        _load_key(context, configuration)
    return context


def _load_key(context: ssl.SSLContext, configuration: Mapping[str, str]) -> None:
    """Load a certificate, those above it, and its key."""
    path = _pem_file(configuration, _KEYSTORE)
    try:
        # An empty password and not None: nobody is there who could type one.
        context.load_cert_chain(path, password=configuration.get(_KEY_PASSWORD, ""))
    except (ssl.SSLError, OSError) as error:
        raise InvalidOptionError(
            f"option {_KEYSTORE!r}: {path} can't be used: {error}; expected a certificate and its key in PEM, "
            f"with {_KEY_PASSWORD} if the key is encrypted"
        ) from None


def _load_trusted(context: ssl.SSLContext, configuration: Mapping[str, str]) -> None:
    path = _pem_file(configuration, _TRUSTSTORE)
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise InvalidOptionError(
            f"option {_TRUSTSTORE!r}: {path} can't be used: {error}; expected certificates in PEM"
        ) from None


def _pem_file(configuration: Mapping[str, str], option: str) -> Path:
    path = Path(required(configuration, option))
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidOptionError(f"option {option!r}: {path} can't be read: {error.strerror}") from None
    if b"-----BEGIN " not in content:
        raise InvalidOptionError(
            f"option {option!r}: {path} is no PEM file; Java's keystores have to be converted: "
            f"keytool -importkeystore -srckeystore {path.name} -destkeystore store.p12 -deststoretype PKCS12, then "
            "openssl pkcs12 -in store.p12 -out store.pem"
        )
    return path
