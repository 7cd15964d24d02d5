from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from firesteel.spark.remote_slots import _try_to_connect, connect
from firesteel.spark.slot_relay import SlotRelay
from firesteel.task.relay_handshake import relay_proof
from firesteel.task.slot_address import SlotAddress
from tests.spark.listening_sockets import listening_sockets

HOST = "127.0.0.1"
DATA = b"x" * 100_000


@pytest.fixture
async def relay(tmp_path: Path) -> AsyncIterator[SlotRelay]:
    relay = SlotRelay(HOST, tmp_path)
    await relay.start()
    yield relay
    await relay.close()


def seen_from_elsewhere(address: SlotAddress) -> SlotAddress:
    """The address on a host that has not the slot's directory."""
    return SlotAddress(f"/nowhere/else/{Path(address.path).name}", address.relay, address.token)


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    writer.close()
    await writer.wait_closed()


def exchange(address: SlotAddress) -> bytes:
    """Return the response."""
    with connect(address) as connection, connection.makefile("rb") as reader:
        connection.sendall(DATA)
        return reader.read(len(DATA))


async def test_bytes_go_to_a_slot_and_back_also_if_it_comes_later(relay: SlotRelay, tmp_path: Path) -> None:
    address = relay.address_of(str(tmp_path / "slot-0"))
    asked = asyncio.create_task(asyncio.to_thread(exchange, seen_from_elsewhere(address)))
    await asyncio.sleep(0)
    server = await asyncio.start_unix_server(echo, address.path)
    assert await asked == DATA
    assert await asyncio.to_thread(exchange, address) == DATA
    server.close()


async def test_requests_without_the_token_are_rejected(relay: SlotRelay, tmp_path: Path) -> None:
    server = await asyncio.start_unix_server(echo, str(tmp_path / "slot-0"))
    address = relay.address_of(str(tmp_path / "slot-0"))

    def answer(make_greeting: Callable[[bytes], bytes]) -> bytes:
        host, port = address.relay.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(make_greeting(connection.recv(32)))
            with connection.makefile("rb") as reader:
                return reader.read(32)

    def greeting(token: str, name: str = "slot-0") -> Callable[[bytes], bytes]:
        own = bytes(32)
        return lambda theirs: own + relay_proof(token, "caller", theirs, own, name) + b"slot-0\n"

    assert await asyncio.to_thread(answer, greeting("wrong")) == b""
    assert await asyncio.to_thread(answer, greeting(address.token, "slot-1")) == b""
    assert await asyncio.to_thread(answer, lambda _: f"{address.token} slot-0\n".encode() * 10) == b""
    assert len(await asyncio.to_thread(answer, greeting(address.token))) == 32
    server.close()


async def test_who_holds_the_port_of_a_relay_learns_no_token_and_is_not_believed(tmp_path: Path) -> None:
    received = asyncio.get_running_loop().create_future()

    async def impostor(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(bytes(32))
        received.set_result(await reader.readline())
        writer.write(b"\n" * 100)  # what it answered before, and frames that would be unpickled
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(impostor, HOST, 0)
    port = server.sockets[0].getsockname()[1]
    address = SlotAddress("/nowhere/slot-0", f"{HOST}:{port}", "the token")
    with pytest.raises(ConnectionError, match="it lacks the token"):
        await asyncio.to_thread(_try_to_connect, address, None)
    assert b"the token" not in await received
    server.close()


@pytest.mark.parametrize("mode", [0o777, 0o770])
async def test_a_directory_that_others_made_does_not_stand_for_the_slot(
    relay: SlotRelay, tmp_path: Path, mode: int
) -> None:
    """Another user of the caller's host has learned the name of the slot's directory."""
    address = relay.address_of(str(tmp_path / "slot-0"))
    server = await asyncio.start_unix_server(echo, address.path)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    theirs.chmod(mode)
    impostor = await asyncio.start_unix_server(lambda _, writer: writer.close(), str(theirs / "slot-0"))
    fooled = SlotAddress(str(theirs / "slot-0"), address.relay, address.token)
    assert not fooled.is_on_this_host
    assert await asyncio.to_thread(exchange, fooled) == DATA
    impostor.close()
    server.close()


async def test_slots_that_open_at_once_share_one_listener(tmp_path: Path) -> None:
    before = listening_sockets(os.getpid())
    relay = SlotRelay(HOST, tmp_path)
    await asyncio.gather(*(relay.start() for _ in range(8)))
    assert len(listening_sockets(os.getpid())) == len(before) + 1
    await relay.close()
    assert listening_sockets(os.getpid()) == before
