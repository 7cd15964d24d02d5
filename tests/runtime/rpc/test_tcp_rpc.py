"""Calls between processes behave as calls in memory; failures of the connection are reported."""

from __future__ import annotations

import asyncio
import os
import pickle
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar, Protocol

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.rpc import (
    EndpointStoppedError,
    FencedRpcEndpoint,
    FencingTokenError,
    RpcAuthenticationError,
    RpcConnectionError,
    RpcEndpoint,
    RpcError,
    RpcMessageTooLargeError,
    RpcProtocolError,
    RpcTimeoutError,
    RpcVersionError,
    TcpRpcService,
    channel,
    large_arguments,
    no_rpc_timeout,
    rpc_secret,
)

SECRET = b"sixteen bytes or more"


class EchoGateway(Protocol):
    async def echo(self, value: Any) -> Any: ...

    @large_arguments
    async def take(self, value: Any) -> int: ...

    async def fail(self, error: Any) -> None: ...

    @no_rpc_timeout
    async def wait(self) -> None: ...

    async def wait_briefly(self) -> None: ...


class EchoCalls:
    heard: list[Any]

    async def echo(self, value: Any) -> Any:
        self.__dict__.setdefault("heard", []).append(value)
        return value() if callable(value) else value

    async def take(self, value: Any) -> int:
        return len(value)

    async def fail(self, error: Any) -> None:
        raise error() if callable(error) else error

    async def wait(self) -> None:
        await asyncio.Event().wait()

    wait_briefly = wait


class Echo(EchoCalls, RpcEndpoint):
    pass


class FencedEcho(EchoCalls, FencedRpcEndpoint):
    pass


class Unreadable(Exception):
    """Can be pickled, but not read back."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(f"{one} {two}")


class Explosive:
    """Makes a directory when somebody unpickles it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __reduce__(self) -> tuple[Callable[[str], None], tuple[str]]:
        return os.mkdir, (str(self.directory),)


Serve = Callable[..., Awaitable[TcpRpcService]]


@pytest.fixture
async def serve() -> AsyncIterator[Serve]:
    services: list[TcpRpcService] = []

    async def serve(secret: bytes = SECRET, **options: Any) -> TcpRpcService:
        services.append(TcpRpcService(secret, **options))
        await services[-1].start()
        return services[-1]

    yield serve
    for service in services:
        await service.stop()


async def echo(serve: Serve, **options: Any) -> tuple[Echo, EchoGateway]:
    """An endpoint and a gateway to it in another service."""
    endpoint = Echo(await serve(), "echo")
    await endpoint.start()
    client = await serve(**options)
    gateway: EchoGateway = await client.connect(endpoint.address, EchoGateway)
    return endpoint, gateway


async def test_calls_of_one_caller_start_in_the_order_made(serve: Serve) -> None:
    endpoint, gateway = await echo(serve)
    calls = [gateway.echo(number) for number in range(1000)]
    assert await asyncio.gather(*calls) == list(range(1000))
    assert endpoint.heard == list(range(1000))


async def test_calls_made_before_the_connection_is_open_keep_their_order(serve: Serve) -> None:
    endpoint, gateway = await echo(serve)
    service: TcpRpcService = gateway._service  # type: ignore[attr-defined]
    await service._connection(endpoint.address).close("for the test")
    assert await asyncio.gather(*(gateway.echo(number) for number in range(10))) == list(range(10))
    assert endpoint.heard == list(range(10))


async def test_endpoints_of_one_service_are_called_without_a_connection(serve: Serve) -> None:
    service = await serve()
    endpoint = Echo(service, "echo")
    await endpoint.start()
    gateway: EchoGateway = await service.connect(endpoint.address, EchoGateway)
    value = [1]
    assert await gateway.echo(value) == value
    assert endpoint.heard[0] is not value
    assert service._outgoing == {}


async def test_functions_and_errors_travel(serve: Serve) -> None:
    endpoint, gateway = await echo(serve)
    assert await gateway.echo(lambda: 42) == 42
    with pytest.raises(ValueError, match="bad"):
        await gateway.fail(ValueError("bad"))
    with pytest.raises(RpcError, match="Unreadable: a b"):
        await gateway.fail(lambda: Unreadable("a", "b"))
    with pytest.raises(RpcError, match=r"the answer of tcp://.*/echo to echo\(\) can't be sent: .*pickle"):
        await gateway.echo(lambda: asyncio.get_running_loop())
    assert await gateway.echo("still there") == "still there"
    assert endpoint.is_running


async def test_an_unknown_name_and_a_closed_port_are_reported(serve: Serve) -> None:
    service, other = await serve(), await serve()
    with pytest.raises(RpcConnectionError, match=r"no endpoint runs at 'tcp://.*/nothing'"):
        await service.connect(other.address_of("nothing"), EchoGateway)
    with pytest.raises(RpcConnectionError, match=r"no connection to 'tcp://127.0.0.1:1': .*127.0.0.1"):
        await service.connect("tcp://127.0.0.1:1/nothing", EchoGateway)
    with pytest.raises(RpcConnectionError, match="expected tcp://host:port/name"):
        await service.connect("nothing", EchoGateway)


async def test_a_token_is_checked_over_tcp_too(serve: Serve) -> None:
    endpoint = FencedEcho(await serve(), "echo", "t2")
    await endpoint.start()
    client = await serve()
    for token, text in (("t1", "token 't1': it is in leader session 't2'"), (None, "token None")):
        gateway: EchoGateway = await client.connect(endpoint.address, EchoGateway, token)
        with pytest.raises(FencingTokenError, match=text):
            await gateway.echo(1)
    assert "heard" not in endpoint.__dict__
    gateway = await client.connect(endpoint.address, EchoGateway, "t2")
    assert await gateway.echo(1) == 1


async def test_a_stopped_endpoint_answers_waiting_and_later_callers(serve: Serve) -> None:
    endpoint, gateway = await echo(serve)
    waiting = asyncio.ensure_future(gateway.wait())
    await gateway.echo(1)
    await endpoint.stop()
    with pytest.raises(EndpointStoppedError, match=r"stopped before it answered wait\(\)"):
        await waiting
    with pytest.raises(EndpointStoppedError):
        await gateway.echo(2)


async def test_a_lost_connection_fails_the_calls_that_wait_and_the_next_call_opens_it_again(serve: Serve) -> None:
    endpoint, gateway = await echo(serve)
    waiting = asyncio.ensure_future(gateway.wait())
    await gateway.echo(1)
    service = endpoint.rpc_service
    assert isinstance(service, TcpRpcService)
    (connection,) = service._incoming
    connection._channel._writer.transport.abort()
    with pytest.raises(RpcConnectionError, match="the connection was lost"):
        await waiting
    assert await gateway.echo(2) == 2


async def test_a_stopped_service_fails_its_own_calls_and_those_of_others(serve: Serve) -> None:
    endpoint, gateway = await echo(serve)
    waiting = asyncio.ensure_future(gateway.wait())
    await gateway.echo(1)
    service: TcpRpcService = gateway._service  # type: ignore[attr-defined]
    await service.stop()
    for call in (waiting, gateway.echo(2)):
        with pytest.raises(RpcConnectionError, match="this process's RpcService has stopped"):
            await call
    assert isinstance(endpoint.rpc_service, TcpRpcService)
    await endpoint.rpc_service.stop()
    other = await serve()
    with pytest.raises(RpcConnectionError):
        await other.connect(endpoint.address, EchoGateway)


async def test_a_call_without_answer_times_out(serve: Serve) -> None:
    _, gateway = await echo(serve, timeout_s=0.05)
    with pytest.raises(RpcTimeoutError, match=r"did not answer wait_briefly\(\) within 0.05 s"):
        await gateway.wait_briefly()


async def test_too_large_messages_are_refused_and_the_connection_stays_open(serve: Serve) -> None:
    endpoint, gateway = await echo(serve, framesize_bytes=10_000)
    with pytest.raises(RpcMessageTooLargeError, match=r"the call echo\(\) to .* takes 2\d{4} bytes, allowed are 10000"):
        await gateway.echo(b"x" * 20_000)
    assert "heard" not in endpoint.__dict__
    assert await gateway.echo(1) == 1


async def test_a_too_large_answer_is_reported_to_the_caller(serve: Serve) -> None:
    endpoint = Echo(await serve(framesize_bytes=10_000), "echo")
    await endpoint.start()
    gateway: EchoGateway = await (await serve()).connect(endpoint.address, EchoGateway)
    with pytest.raises(RpcMessageTooLargeError, match=r"the answer of .* to echo\(\) takes .* allowed are 10000"):
        await gateway.echo(lambda: b"x" * 20_000)
    with pytest.raises(RpcProtocolError, match=r"a message of .* bytes was announced, allowed are 10000"):
        await gateway.echo(b"x" * 20_000)
    assert endpoint.is_running


async def test_a_caller_with_another_secret_is_refused_on_both_sides(serve: Serve) -> None:
    server, client = await serve(), await serve(secret=b"another secret, as long")
    with pytest.raises(RpcAuthenticationError, match="it refused: the caller could not prove that it knows the secret"):
        await client.connect(server.address_of("echo"), EchoGateway)


async def test_a_server_that_does_not_know_the_secret_is_disconnected(serve: Serve) -> None:
    async def pretend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(channel._hello(b"n" * 32))
        await reader.readexactly(len(channel._hello(b"")) + 32)
        writer.write(channel._ACCEPTED + b"p" * 32)
        await reader.read()
        writer.close()

    with pytest.raises(RpcAuthenticationError, match="it could not prove that it knows the secret"):
        await call_a_fake(serve, pretend)


async def call_a_fake(serve: Serve, fake: Callable[..., Awaitable[None]]) -> None:
    server = await asyncio.start_server(fake, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        await (await serve()).connect(f"tcp://127.0.0.1:{port}/echo", EchoGateway)
    finally:
        server.close()


OTHER = (
    r"it is firesteel 9\.1\.0 and speaks version 7 of the protocol, this process is firesteel \S+ and speaks version 2"
)


async def test_a_server_of_another_version_or_of_another_kind_is_named(serve: Serve) -> None:
    async def newer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(channel._HELLO.pack(channel._MAGIC, 7, b"n" * 32) + b"9.1.0".ljust(24, b"\0"))
        await reader.read()
        writer.close()

    async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
        writer.close()

    with pytest.raises(
        RpcVersionError,
        match=OTHER,
    ):
        await call_a_fake(serve, newer)
    with pytest.raises(RpcProtocolError, match="it does not speak firesteel's protocol: it began with b'HTTP'"):
        await call_a_fake(serve, web)


async def test_a_caller_of_another_version_gets_an_error(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = await serve()
    reader, writer = await asyncio.open_connection("127.0.0.1", server._port)
    await reader.readexactly(len(channel._hello(b"")))
    writer.write(channel._HELLO.pack(channel._MAGIC, 7, b"n" * 32) + b"9.1.0".ljust(24, b"\0"))
    refusal = await reader.read()
    assert refusal[0] == 1
    assert re.search(OTHER, refusal.decode(errors="replace"))
    writer.close()


async def test_nothing_is_unpickled_before_the_caller_is_authenticated(serve: Serve, tmp_path: Path) -> None:
    server, bomb = await serve(), pickle.dumps(Explosive(tmp_path / "boom"))
    hello = channel._hello(b"n" * 32)
    frame = channel._FRAME.pack(len(bomb) + 9, b"m" * 32) + bytes(9) + bomb
    for attempt in (bomb * 100, hello + b"p" * 32 + frame * 10, hello[:10]):
        reader, writer = await asyncio.open_connection("127.0.0.1", server._port)
        writer.write(attempt)
        writer.write_eof()
        await reader.read()
        writer.close()
    assert not (tmp_path / "boom").exists()
    assert server._incoming == set()


async def everything(client: channel.Channel) -> bytes:
    """Return the data received until the connection ends."""
    replies = b""
    try:
        while True:
            replies += await client.receive()
    except RpcConnectionError:
        await client.close()
    return replies


async def test_a_repeated_message_ends_the_connection(serve: Serve, tmp_path: Path) -> None:
    client = await channel.open_channel("127.0.0.1", (await serve())._port, SECRET, 1000)
    for _ in range(2):
        client._sent = 0
        client.send(bytes(9) + pickle.dumps(Explosive(tmp_path / "boom")), "a bomb")
    replies = await everything(client)
    assert b"an RpcCall was expected" in replies
    assert b"a message was modified in transit" in replies
    assert (tmp_path / "boom").is_dir()


async def test_a_changed_message_is_not_unpickled(serve: Serve, tmp_path: Path) -> None:
    server = await serve()
    client = await channel.open_channel("127.0.0.1", server._port, SECRET, 1000)
    client._key = b"k" * 32
    client.send(bytes(9) + pickle.dumps(Explosive(tmp_path / "boom")), "a bomb")
    assert await everything(client) == b""
    assert not (tmp_path / "boom").exists()
    assert server._incoming == set()


async def test_an_invalid_message_closes_the_connection(serve: Serve) -> None:
    server = await serve()
    client = await channel.open_channel("127.0.0.1", server._port, SECRET, 1000)
    client.send(b"what?", "nonsense")
    assert b"a message began with b'what?'" in await client.receive()
    with pytest.raises(RpcConnectionError):
        await client.receive()
    await client.close()


async def test_the_secret_is_never_sent(serve: Serve) -> None:
    heard = bytearray()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(channel._hello(b"n" * 32))
        heard.extend(await reader.readexactly(len(channel._hello(b"")) + 32))
        writer.close()

    with pytest.raises(RpcProtocolError, match="the handshake was interrupted"):
        await call_a_fake(serve, listen)
    assert len(heard) == len(channel._hello(b"")) + 32
    assert SECRET not in bytes(heard)


def test_the_secret_comes_from_the_environment_or_a_private_file(tmp_path: Path) -> None:
    assert rpc_secret({}, {"FIRESTEEL_RPC_SECRET": SECRET.decode()}) == SECRET
    file = tmp_path / "secret"
    file.write_bytes(SECRET + b"\n")
    file.chmod(0o600)
    assert rpc_secret({"security.rpc.secret-file": str(file)}, {}) == SECRET
    file.chmod(0o640)
    with pytest.raises(InvalidOptionError, match=r"others may read .* \(mode 640\); allowed is 600, so: chmod 600"):
        rpc_secret({"security.rpc.secret-file": str(file)}, {})
    with pytest.raises(InvalidOptionError, match="can't be read"):
        rpc_secret({"security.rpc.secret-file": str(tmp_path / "none")}, {})
    with pytest.raises(InvalidOptionError, match=r"at least 16 bytes .* FIRESTEEL_RPC_SECRET has 0"):
        rpc_secret({}, {})


class Traced:
    """Remembers the threads in which it was written."""

    threads: ClassVar[list[threading.Thread]] = []

    def __reduce__(self) -> tuple[type[list[Any]], tuple[()]]:
        self.threads.append(threading.current_thread())
        return list, ()


@pytest.mark.parametrize("is_remote", [False, True])
async def test_large_arguments_are_written_in_a_thread(serve: Serve, is_remote: bool) -> None:
    endpoint, gateway = await echo(serve)
    if not is_remote:
        gateway = await endpoint.rpc_service.connect(endpoint.address, EchoGateway)
    Traced.threads.clear()
    assert await gateway.take(Traced()) == 0
    (thread,) = Traced.threads
    assert thread is not threading.current_thread()
    with pytest.raises(TypeError, match="pickle"):
        await gateway.take(asyncio.get_running_loop())


@pytest.mark.parametrize(
    "text",
    [
        "CHANGE-ME-to-a-random-secret",
        "please_change_me_please",
        "<your secret>-<here>",
        "..." * 6,
    ],
)
def test_placeholders_are_no_secrets(text: str) -> None:
    with pytest.raises(InvalidOptionError, match="FIRESTEEL_RPC_SECRET is a placeholder"):
        rpc_secret({}, {"FIRESTEEL_RPC_SECRET": text})


def test_random_secrets_are_no_placeholders() -> None:
    for _ in range(1000):
        assert rpc_secret({}, {"FIRESTEEL_RPC_SECRET": os.urandom(16).hex()})
