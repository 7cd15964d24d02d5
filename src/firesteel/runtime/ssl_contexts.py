"""TLS contexts from PEM files with Flink's option names, and those of the REST API. Flink: `runtime.net.SSLUtils`."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

from firesteel.common.files.watched_files import WatchedFiles
from firesteel.common.options.option import InvalidOptionError, Option
from firesteel.common.options.security_options import (
    SSL_REST_AUTHENTICATION_ENABLED,
    SSL_REST_ENABLED,
    SSL_REST_KEY_PASSWORD,
    SSL_REST_KEYSTORE,
    SSL_REST_TRUSTSTORE,
    SSL_REST_VERIFY_HOSTNAME,
)
from firesteel.runtime.tls_versions import restrict

__all__ = [
    "ReloadedContext",
    "has_rest_authentication",
    "has_rest_tls",
    "load_key",
    "load_trusted",
    "rest_client_context",
    "rest_server_context",
]

_Text: TypeAlias = Option[str | None]


def has_rest_tls(configuration: Mapping[str, str]) -> bool:
    """Return whether the REST API uses TLS."""
    return SSL_REST_ENABLED.of(configuration)


def has_rest_authentication(configuration: Mapping[str, str]) -> bool:
    """Return whether clients of the REST API must present a certificate."""
    return has_rest_tls(configuration) and SSL_REST_AUTHENTICATION_ENABLED.of(configuration)


def rest_server_context(configuration: Mapping[str, str]) -> ReloadedContext | None:
    """Return the TLS context of the REST server, None if TLS is disabled; each handshake uses the current files.

    Raises:
        InvalidOptionError: a file is missing or can't be used.
    """
    if not has_rest_tls(configuration):
        return None
    stores = [SSL_REST_KEYSTORE, *([SSL_REST_TRUSTSTORE] if has_rest_authentication(configuration) else [])]
    files = [Path(store.required(configuration)) for store in stores]
    listening = ReloadedContext(ssl.PROTOCOL_TLS_SERVER)
    _configure_rest_server(listening, configuration)

    def make() -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        _configure_rest_server(context, configuration)
        return context

    listening.reload_from(WatchedFiles("the certificate of the REST API", files, make))
    return listening


class ReloadedContext(ssl.SSLContext):
    """A context for a server, of which each handshake uses the files as they are then."""

    def reload_from(self, contexts: WatchedFiles[ssl.SSLContext]) -> None:
        """Use the contexts that are made of files."""
        self._contexts = contexts
        # Called at the begin of each handshake, also of clients that name no server.
        self.sni_callback = self._use_current
        # A resumed session verifies no certificate, so it would outlive the trust in its client. TLS 1.2 resumes
        # sessions without tickets, too, which `is_outdated` finds.
        self.num_tickets = 0
        self.options |= ssl.OP_NO_TICKET

    def _use_current(self, connection: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        connection.context = self._contexts.current()

    def is_outdated(self, connection: ssl.SSLObject) -> bool:
        """Return whether a connection has resumed a session from before the last change of the files."""
        session = connection.session
        if not connection.session_reused or session is None:
            return False
        return session.time <= self._contexts.changed_s


def _configure_rest_server(context: ssl.SSLContext, configuration: Mapping[str, str]) -> None:
    restrict(context, configuration)
    load_key(context, configuration, SSL_REST_KEYSTORE, SSL_REST_KEY_PASSWORD)
    if has_rest_authentication(configuration):
        load_trusted(context, configuration, SSL_REST_TRUSTSTORE)
        context.verify_mode = ssl.CERT_REQUIRED


def rest_client_context(configuration: Mapping[str, str]) -> ssl.SSLContext:
    """Return the TLS context of a REST client, which trusts the truststore or, without one, the system's.

    Raises:
        InvalidOptionError: a file is missing or can't be used.
    """
    context = ssl.create_default_context()
    if SSL_REST_TRUSTSTORE.of(configuration) is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        load_trusted(context, configuration, SSL_REST_TRUSTSTORE)
    restrict(context, configuration)
    context.check_hostname = SSL_REST_VERIFY_HOSTNAME.of(configuration)
    if has_rest_authentication(configuration):
        load_key(context, configuration, SSL_REST_KEYSTORE, SSL_REST_KEY_PASSWORD)
    return context


def load_key(context: ssl.SSLContext, configuration: Mapping[str, str], keystore: _Text, key_password: _Text) -> None:
    """Load a certificate chain and its key.

    Raises:
        InvalidOptionError: the option or its file is missing, or the file can't be used.
    """
    option, path = _pem_file(configuration, keystore)
    try:
        # An empty password instead of None, which would prompt for one on the terminal.
        context.load_cert_chain(path, password=key_password.of(configuration) or "")
    except (ssl.SSLError, OSError) as error:
        raise InvalidOptionError(
            f"option {option!r}: {path} can't be used: {error}; expected a certificate and its key in PEM, "
            f"with {key_password.key_in(configuration)} if the key is encrypted"
        ) from None


def load_trusted(context: ssl.SSLContext, configuration: Mapping[str, str], truststore: _Text) -> None:
    """Load the trusted certificates.

    Raises:
        InvalidOptionError: the option or its file is missing, or the file can't be used.
    """
    option, path = _pem_file(configuration, truststore)
    try:
        context.load_verify_locations(path)
    except ssl.SSLError as error:
        raise InvalidOptionError(
            f"option {option!r}: {path} can't be used: {error}; expected certificates in PEM"
        ) from None


def _pem_file(configuration: Mapping[str, str], store: _Text) -> tuple[str, Path]:
    option, path = store.key_in(configuration), Path(store.required(configuration))
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
