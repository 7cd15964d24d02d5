"""`security.ssl.protocol` and `security.ssl.algorithms` decide what is negotiated, for the REST API and inside."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.internal_tls import InternalTls
from firesteel.runtime.ssl_contexts import rest_client_context, rest_server_context
from firesteel.runtime.tls_versions import restrict
from tests.rest.certificates import Authority

Options = dict[str, str]
PROTOCOL, ALGORITHMS = "security.ssl.protocol", "security.ssl.algorithms"
AES = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
CHACHA = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"
NEWER = "TLS_AES_128_GCM_SHA256,TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Options:
    authority = Authority(tmp_path_factory.mktemp("tls"), "authority")
    store: Path = authority.issue("server")
    return {
        "security.ssl.enabled": "true",
        "security.ssl.keystore": str(store),
        "security.ssl.truststore": str(authority.certificate),
    }


def rest(server: Options, client: Options) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    accepting = rest_server_context(server)
    assert accepting is not None
    return accepting, rest_client_context(client)


def internal(server: Options, client: Options) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    accepting, calling = InternalTls.of(server), InternalTls.of(client)
    assert accepting is not None
    assert calling is not None
    return accepting.server_context(), calling.client_context()


Contexts = Callable[[Options, Options], tuple[ssl.SSLContext, ssl.SSLContext]]


def negotiated(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> tuple[str | None, str]:
    """Return version and suite of a handshake in memory."""
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = contexts[0].wrap_bio(to_server, to_client, server_side=True)
    client = contexts[1].wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    for _ in range(10):
        for side in (client, server):
            with contextlib.suppress(ssl.SSLWantReadError):
                side.do_handshake()
    cipher = client.cipher()
    assert cipher is not None
    return client.version(), cipher[0]


@pytest.mark.parametrize("kind", [rest, internal])
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "TLSv1.3"),
        ({PROTOCOL: "TLSv1.2"}, "TLSv1.2"),
        ({PROTOCOL: "TLSv1.3"}, "TLSv1.3"),
        ({PROTOCOL: "TLSv1.2,TLSv1.3"}, "TLSv1.3"),
        ({ALGORITHMS: AES}, "TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384"),
        ({ALGORITHMS: CHACHA}, "TLSv1.2 ECDHE-ECDSA-CHACHA20-POLY1305"),
        ({ALGORITHMS: f"{AES},{NEWER}"}, "TLSv1.3"),
        ({ALGORITHMS: NEWER}, "TLSv1.3"),
    ],
)
def test_the_options_decide_what_is_negotiated(files: Options, kind: Contexts, options: Options, expected: str) -> None:
    nothing: Options = {}
    for server, client in ((options, nothing), (nothing, options)):
        version, suite = negotiated(kind({**files, **server}, {**files, **client}))
        assert f"{version} {suite}".startswith(expected)


@pytest.mark.parametrize("kind", [rest, internal])
@pytest.mark.parametrize(
    ("server", "client"),
    [({PROTOCOL: "TLSv1.3"}, {PROTOCOL: "TLSv1.2"}), ({ALGORITHMS: AES}, {ALGORITHMS: CHACHA})],
)
def test_sides_without_a_common_choice_do_not_connect(
    files: Options, kind: Contexts, server: Options, client: Options
) -> None:
    with pytest.raises(ssl.SSLError):
        negotiated(kind({**files, **server}, {**files, **client}))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({PROTOCOL: "TLSv1.1"}, r"'TLSv1\.1' is not supported; allowed: TLSv1\.2, TLSv1\.3"),
        ({PROTOCOL: "SSLv3"}, "'SSLv3' is not supported"),
        (
            {ALGORITHMS: "TLS_RSA_WITH_AES_128_CBC_SHA"},
            "'TLS_RSA_WITH_AES_128_CBC_SHA' is not supported; allowed: TLS_",
        ),
        ({ALGORITHMS: "TLS_AES_128_GCM_SHA256"}, "add TLS_AES_256_GCM_SHA384, TLS_CHACHA20_POLY1305_SHA256"),
        ({ALGORITHMS: AES, PROTOCOL: "TLSv1.3"}, "has no suite for the versions"),
    ],
)
def test_other_values_are_refused(options: Options, message: str) -> None:
    with pytest.raises(InvalidOptionError, match=message):
        restrict(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), options)
