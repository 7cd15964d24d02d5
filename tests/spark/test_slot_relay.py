from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from firesteel.spark.remote_slots import connect
from firesteel.spark.slot_relay import SlotRelay
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
    return SlotAddress(f"/nowhere/{Path(address.path).name}", address.relay, address.token)


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

    def answer(greeting: bytes) -> bytes:
        host, port = address.relay.split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(greeting)
            return connection.recv(10)

    assert await asyncio.to_thread(answer, b"wrong slot-0\n") == b""
    assert await asyncio.to_thread(answer, f"{address.token} slot-0\n".encode()) == b"\n"
    server.close()


async def test_slots_that_open_at_once_share_one_listener(tmp_path: Path) -> None:
    before = listening_sockets(os.getpid())
    relay = SlotRelay(HOST, tmp_path)
    await asyncio.gather(*(relay.start() for _ in range(8)))
    assert len(listening_sockets(os.getpid())) == len(before) + 1
    await relay.close()
    assert listening_sockets(os.getpid()) == before
