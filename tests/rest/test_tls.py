"""The REST API over TLS, its certificates made by openssl."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from firesteel.cli.main import cli
from firesteel.client.rest_client import ClusterClientError, RestClusterClient
from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.ssl_contexts import rest_client_context, rest_server_context
from tests.rest.certificates import Authority, keystore
from tests.rest.rest_cluster import serving

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl")

ENABLED = {"security.ssl.rest.enabled": "true"}
MUTUAL = {**ENABLED, "security.ssl.rest.authentication-enabled": "true"}


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"), "ours")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("certificates"), "theirs")


def stores(keys: Path | None, trusted: Authority | None) -> dict[str, str]:
    found = {} if keys is None else {"security.ssl.rest.keystore": str(keys)}
    return found | ({} if trusted is None else {"security.ssl.rest.truststore": str(trusted.certificate)})


async def overview(address: str, options: dict[str, str]) -> Any:
    return await asyncio.to_thread(lambda: RestClusterClient(address, None, options).get("/overview"))


async def test_the_api_and_the_dashboard_are_served_to_clients_that_trust_the_server(
    ours: Authority, tmp_path: Path
) -> None:
    async with serving(tmp_path, **ENABLED, **stores(ours.issue("server"), None)) as rest:
        assert rest.server.address.startswith("https://127.0.0.1:")
        client = ENABLED | stores(None, ours)
        assert (await overview(rest.server.address.removeprefix("https://"), client))["taskmanagers"] == 1
        trusted = rest_client_context(client)
        async with rest.session.get(f"{rest.server.address}/", ssl=trusted) as page:
            assert (page.status, page.content_type) == (200, "text/html")
        with pytest.raises(ClusterClientError, match="no JobManager responds"):
            await overview(rest.server.address.replace("https", "http"), {})


async def test_a_server_of_another_authority_or_name_is_refused(
    ours: Authority, theirs: Authority, tmp_path: Path
) -> None:
    async with serving(tmp_path, **ENABLED, **stores(ours.issue("other", "DNS:elsewhere.example"), None)) as rest:
        for client, reason in (
            (stores(None, theirs), "CERTIFICATE_VERIFY_FAILED"),
            ({}, "CERTIFICATE_VERIFY_FAILED"),
            (stores(None, ours), "IP address mismatch"),
        ):
            with pytest.raises(ClusterClientError, match=reason):
                await overview(rest.server.address, ENABLED | client)
        lenient = stores(None, ours) | {"security.ssl.rest.verify-hostname": "false"}
        assert await overview(rest.server.address, ENABLED | lenient)


async def test_with_authentication_a_client_needs_a_certificate_that_is_trusted(
    ours: Authority, theirs: Authority, tmp_path: Path
) -> None:
    async with serving(tmp_path, **MUTUAL, **stores(ours.issue("server"), ours)) as rest:
        assert await overview(rest.server.address, MUTUAL | stores(ours.issue("client"), ours))
        for client in (ENABLED | stores(None, ours), MUTUAL | stores(theirs.issue("client"), ours)):
            with pytest.raises(ClusterClientError, match="no JobManager responds") as refused:
                await overview(rest.server.address, client)
            assert refused.value.status == 0


async def test_commands_find_the_files_in_the_configuration(
    ours: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FIRESTEEL_CONF_DIR", raising=False)
    server = stores(ours.issue("server", password="a password"), None) | {
        "security.ssl.rest.key-password": "a password"
    }
    async with serving(tmp_path, **ENABLED, **server) as rest:

        async def listed(address: str) -> Result:
            return await asyncio.to_thread(CliRunner().invoke, cli, ["list", "-m", address])

        client = "\n".join(f"{key}: {value}" for key, value in (ENABLED | stores(None, ours)).items())
        monkeypatch.setenv("FIRESTEEL_PROPERTIES", client)
        done = await listed(rest.server.address.removeprefix("https://"))
        assert (done.exit_code, done.stdout) == (0, "No running jobs.\n")
        monkeypatch.setenv("FIRESTEEL_PROPERTIES", client.replace("ca.pem", "nowhere.pem"))
        done = await listed(rest.server.address)
        assert done.exit_code == 1
        assert "nowhere.pem can't be read: No such file or directory" in done.stderr


def test_javas_keystores_are_refused_with_how_to_convert_them(ours: Authority) -> None:
    store = keystore(ours.issue("server"))
    for options in (stores(store, None), {"security.ssl.rest.truststore": str(store)}):
        with pytest.raises(InvalidOptionError, match=r"is not a PEM file; .*openssl pkcs12 -in"):
            (rest_server_context if "security.ssl.rest.keystore" in options else rest_client_context)(ENABLED | options)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (ENABLED, "'security.ssl.rest.keystore' is not set"),
        (ENABLED | {"security.ssl.rest.keystore": "/nowhere.pem"}, "/nowhere.pem can't be read"),
        ({"security.ssl.rest.enabled": "perhaps"}, "allowed: true, false"),
    ],
)
def test_missing_options_of_a_server_are_named(options: dict[str, str], reason: str) -> None:
    with pytest.raises(InvalidOptionError, match=reason):
        rest_server_context(options)


def test_an_unreadable_key_is_reported(ours: Authority) -> None:
    options = ENABLED | stores(ours.issue("server", password="right"), None)
    for password in ({}, {"security.ssl.rest.key-password": "wrong"}):
        with pytest.raises(InvalidOptionError, match=r"with security\.ssl\.rest\.key-password if the key is encrypted"):
            rest_server_context(options | password)
    with pytest.raises(InvalidOptionError, match="expected a certificate and its key in PEM"):
        rest_server_context(ENABLED | {"security.ssl.rest.keystore": str(ours.certificate)})


def test_a_server_with_client_certificates_may_listen_on_public_addresses(ours: Authority) -> None:
    from firesteel.rest.operations import Operations
    from firesteel.rest.server import RestServer

    options = {"rest.bind-address": "0.0.0.0", **MUTUAL, **stores(ours.issue("server"), ours)}
    cluster: Any = None
    assert RestServer(cluster, Operations(asyncio.ensure_future), options).address.startswith("https://")
    with pytest.raises(
        InvalidOptionError, match=r"security\.rest\.token\.admin or security\.ssl\.rest\.authentication"
    ):
        RestServer(cluster, Operations(asyncio.ensure_future), options | ENABLED | {list(MUTUAL)[1]: "false"})
