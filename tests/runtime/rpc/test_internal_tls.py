"""TLS between the processes of a cluster, and error messages for rejected peers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from firesteel.cli.main import cli
from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.internal_tls import InternalTls
from firesteel.runtime.rpc import RpcConnectionError, TcpRpcService
from firesteel.runtime.rpc.rpc_errors import RpcAuthenticationError
from firesteel.spark.remote_slots import connect
from firesteel.spark.slot_relay import SlotRelay
from tests.runtime.rpc.test_tcp_rpc import SECRET, Echo, EchoGateway
from tests.spark.test_slot_relay import DATA, HOST, echo, seen_from_elsewhere

Options = dict[str, str]
Serve = Callable[..., Awaitable[TcpRpcService]]


def certificates(directory: Path) -> Options:
    """The options that the command prints."""
    result = CliRunner().invoke(cli, ["certificates", str(directory)])
    assert result.exit_code == 0, result.output
    pairs = (line.split(": ") for line in result.output.splitlines() if not line.startswith("#"))
    return dict(pairs)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Options:
    return certificates(tmp_path_factory.mktemp("certificates") / "ours")


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Options:
    return certificates(tmp_path_factory.mktemp("certificates") / "theirs")


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    services: list[TcpRpcService] = []

    async def serve(options: Options) -> TcpRpcService:
        services.append(TcpRpcService(SECRET, tls=InternalTls.of(options)))
        await services[-1].start()
        return services[-1]

    yield serve
    for service in services:
        await service.stop()


async def call(serve: Serve, server: Options, client: Options) -> Any:
    endpoint = Echo(await serve(server), "echo")
    await endpoint.start()
    gateway = await (await serve(client)).connect(endpoint.address, EchoGateway)
    return await gateway.echo(b"x" * 3_000_000)


async def test_calls_go_through_tls(serve: Serve, ours: Options) -> None:
    assert await call(serve, ours, ours) == b"x" * 3_000_000


async def test_a_process_with_another_authority_is_refused_by_both(
    serve: Serve, ours: Options, theirs: Options, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(RpcAuthenticationError, match=r"its certificate is not trusted here: .*internal\.truststore"):
        await call(serve, ours, theirs)
    half = theirs | {"security.ssl.internal.truststore": ours["security.ssl.internal.truststore"]}
    with pytest.raises(RpcConnectionError, match=r"it refused the certificate of|not trust our certificate"):
        await call(serve, ours, half)
    assert re.search(r"a connection was refused: .*its certificate is not trusted here", caplog.text)


async def test_connections_with_tls_on_one_side_only_fail_with_a_hint(
    serve: Serve, ours: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firesteel.runtime.rpc.channel.HANDSHAKE_TIMEOUT_S", 0.3)
    with pytest.raises(RpcConnectionError, match=r"it does not speak TLS; set security\.ssl\.internal\.enabled"):
        await call(serve, {}, ours)
    with pytest.raises(RpcConnectionError, match="perhaps it speaks TLS"):
        await call(serve, ours, {})


async def test_records_go_to_slots_of_other_hosts_through_tls(ours: Options, theirs: Options, tmp_path: Path) -> None:
    tls = InternalTls.of(ours)
    relay = SlotRelay(HOST, tmp_path, tls)
    await relay.start()
    server = await asyncio.start_unix_server(echo, str(tmp_path / "slot-0"))
    address = seen_from_elsewhere(relay.address_of(str(tmp_path / "slot-0")))

    def exchange() -> bytes:
        with connect(address, tls) as connection, connection.makefile("rb") as reader:
            connection.sendall(DATA)
            return reader.read(len(DATA))

    try:
        assert await asyncio.to_thread(exchange) == DATA
        with pytest.raises(ConnectionError, match=r"the relay at 127\.0\.0\.1:\d+: its certificate is not trusted"):
            await asyncio.to_thread(connect, address, InternalTls.of(theirs))
    finally:
        server.close()
        await relay.close()


def test_general_tls_options_are_defaults_of_specific_ones(ours: Options) -> None:
    common = {key.replace(".internal.", "."): value for key, value in ours.items() if ".rest." not in key}
    found = InternalTls.of(common)
    assert found is not None
    assert found.client_context().get_ca_certs()
    assert InternalTls.of(common | {"security.ssl.internal.enabled": "false"}) is None


def test_a_missing_file_is_reported_at_the_start(ours: Options) -> None:
    with pytest.raises(InvalidOptionError, match=r"/nowhere\.pem can't be read"):
        InternalTls.of(ours | {"security.ssl.internal.keystore": "/nowhere.pem"})


def test_certificates_replace_no_files(tmp_path: Path) -> None:
    certificates(tmp_path / "new")
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "new").iterdir()} == {0o600}
    result = CliRunner().invoke(cli, ["certificates", str(tmp_path / "new")])
    assert (result.exit_code, "is not empty" in result.output) == (1, True)
