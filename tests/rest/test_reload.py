"""Certificates and files of tokens are replaced under a server that runs."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firesteel.client.rest_client import ClusterClientError, RestClusterClient
from firesteel.common.options.option import InvalidOptionError
from firesteel.rest.tokens import Tokens
from tests.rest.certificates import Authority
from tests.rest.rest_cluster import serving

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")

OLD, NEW, OTHER = "old-token-of-the-cluster", "new-token-of-the-cluster", "one-of-somebody-else's"


def replaced(path: Path, text: str) -> None:
    """Replace a file as Kubernetes and certbot do: another file gets its name."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.chmod(0o600)
    new.replace(path)


async def overview(address: str, trusted: Path, keys: Path | None = None, token: str | None = None) -> Any:
    options = {"security.ssl.rest.enabled": "true", "security.ssl.rest.truststore": str(trusted)}
    if keys is not None:
        options |= {"security.ssl.rest.authentication-enabled": "true", "security.ssl.rest.keystore": str(keys)}
    return await asyncio.to_thread(lambda: RestClusterClient(address, token, options).get("/overview"))


@needs_openssl
async def test_a_replaced_certificate_is_used_by_the_next_handshake(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Authority(tmp_path, "first"), Authority(tmp_path, "second")
    keystore = tmp_path / "keystore.pem"
    replaced(keystore, first.issue("server").read_text())
    options = {"security.ssl.rest.enabled": "true", "security.ssl.rest.keystore": str(keystore)}
    async with serving(tmp_path, **options) as rest:
        assert (await overview(rest.server.address, first.certificate))["taskmanagers"] == 1
        replaced(keystore, second.issue("server").read_text())
        assert (await overview(rest.server.address, second.certificate))["taskmanagers"] == 1
        with pytest.raises(ClusterClientError, match="CERTIFICATE_VERIFY_FAILED"):
            await overview(rest.server.address, first.certificate)
        keystore.write_text("-----BEGIN CERTIFICATE-----\nhalf")
        with caplog.at_level(logging.WARNING):
            assert (await overview(rest.server.address, second.certificate))["taskmanagers"] == 1
        assert "has changed and can't be used, so the former one stays" in caplog.text


@needs_openssl
async def test_replaced_trust_decides_on_the_next_client(tmp_path: Path) -> None:
    server, first, second = (Authority(tmp_path, name) for name in ("server", "first", "second"))
    trusted = tmp_path / "truststore.pem"
    replaced(trusted, first.certificate.read_text())
    options = {
        "security.ssl.rest.enabled": "true",
        "security.ssl.rest.authentication-enabled": "true",
        "security.ssl.rest.keystore": str(server.issue("server")),
        "security.ssl.rest.truststore": str(trusted),
    }
    of_first, of_second = first.issue("client"), second.issue("client")
    async with serving(tmp_path, **options) as rest:
        assert await overview(rest.server.address, server.certificate, of_first)
        with pytest.raises(ClusterClientError):
            await overview(rest.server.address, server.certificate, of_second)
        replaced(trusted, second.certificate.read_text())
        assert await overview(rest.server.address, server.certificate, of_second)
        with pytest.raises(ClusterClientError):
            await overview(rest.server.address, server.certificate, of_first)


@needs_openssl
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=str)
async def test_a_session_from_before_does_not_outlive_the_trust_in_its_client(
    tmp_path: Path, version: ssl.TLSVersion
) -> None:
    server, first, second = (Authority(tmp_path, name) for name in ("server", "first", "second"))
    trusted = tmp_path / "truststore.pem"
    replaced(trusted, first.certificate.read_text())
    options = {
        "security.ssl.rest.enabled": "true",
        "security.ssl.rest.authentication-enabled": "true",
        "security.ssl.rest.keystore": str(server.issue("server")),
        "security.ssl.rest.truststore": str(trusted),
    }
    context = ssl.create_default_context(cafile=str(server.certificate))
    context.maximum_version = version
    context.load_cert_chain(first.issue("client"))

    def answered(port: int, session: ssl.SSLSession | None) -> tuple[bytes, ssl.SSLSession | None]:
        with (
            socket.create_connection(("127.0.0.1", port), 10) as plain,
            context.wrap_socket(plain, server_hostname="127.0.0.1", session=session) as connection,
        ):
            connection.sendall(b"GET /overview HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
            return connection.recv(1000), connection.session

    async with serving(tmp_path, **options) as rest:
        answer, session = await asyncio.to_thread(answered, rest.server.port, None)
        assert answer.startswith(b"HTTP/1.1 200")
        await asyncio.sleep(1.1)  # The times of sessions are whole seconds.
        replaced(trusted, second.certificate.read_text())
        assert await asyncio.to_thread(outcome, answered, rest.server.port, session) == "refused"


def outcome(answered: Callable[[int, ssl.SSLSession | None], Any], port: int, session: ssl.SSLSession | None) -> str:
    try:
        answer, _ = answered(port, session)
    except OSError:
        return "refused"
    return "answered" if answer and not answer.startswith(b"HTTP/1.1 401") else "refused"


async def status(rest: Any, token: str, path: str = "/overview", method: str = "GET") -> int:
    headers = {"Authorization": f"Bearer {token}"}
    async with rest.session.request(method, rest.server.address + path, headers=headers) as answer:
        return int(answer.status)


async def test_tokens_are_replaced_by_way_of_a_time_in_which_both_are_valid(tmp_path: Path) -> None:
    submit, view = tmp_path / "submit", tmp_path / "view"
    replaced(submit, OLD + "\n")
    replaced(view, OTHER)
    options = {"security.rest.token-file.submit": str(submit), "security.rest.token-file.view": str(view)}
    async with serving(tmp_path, **options) as rest:
        assert [await status(rest, token) for token in (OLD, NEW, OTHER)] == [200, 401, 200]
        replaced(submit, f"{NEW}\n{OLD}\n")
        assert [await status(rest, token) for token in (OLD, NEW)] == [200, 200]
        # A token of the role to view may not change anything, one of the role to submit may.
        cancel = f"/jobs/{'0' * 32}"
        assert [await status(rest, token, cancel, "PATCH") for token in (OTHER, NEW)] == [403, 404]
        replaced(submit, NEW)
        assert [await status(rest, token) for token in (OLD, NEW)] == [401, 200]
        submit.unlink()
        assert await status(rest, NEW) == 200  # as a file that is away for a moment locks nobody out
        assert await status(rest, OLD) == 401


def test_files_of_tokens_that_others_may_read_or_that_are_weak_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    option = {"security.rest.token-file.admin": str(path)}
    with pytest.raises(InvalidOptionError, match="can't be read"):
        Tokens(option)
    replaced(path, "short")
    with pytest.raises(InvalidOptionError, match="has 5 bytes; the minimum is 16"):
        Tokens(option)
    replaced(path, OLD)
    path.chmod(0o640)
    with pytest.raises(InvalidOptionError, match=r"others may read .* \(mode 640\); allowed is 600"):
        Tokens(option)
    path.chmod(0o600)
    tokens = Tokens(option)
    assert (tokens.are_required, tokens.roles_of(OLD), tokens.roles_of(NEW)) == (True, ["admin"], [])
    os.truncate(path, 0)
    assert tokens.are_required  # An empty file lets nobody in, rather than everybody.
    assert tokens.roles_of(OLD) == []
