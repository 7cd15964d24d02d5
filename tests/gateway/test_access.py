"""Who is at the other end of a loopback connection."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess

import pytest

from firesteel.gateway import access
from firesteel.gateway.access import is_own_peer
from tests.gateway.gateway_client import serving

NOBODY = 65534
REQUEST = (
    "POST /v3/sessions HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Type: application/json\\r\\n"
    "Content-Length: 2\\r\\nConnection: close\\r\\n\\r\\n{}"
)


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")], ids=["own", "java"]
)
def test_a_process_of_this_user_is_recognised(family: socket.AddressFamily, host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(family) as client:
        client.connect((host, server.getsockname()[1]))
        connection, _ = server.accept()
        with connection:
            assert is_own_peer(connection)


def test_without_proc_net_no_client_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_TABLES", ())
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        connection, _ = server.accept()
        with connection:
            assert not is_own_peer(connection)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be another user")
async def test_other_users_may_read_but_not_open_sessions() -> None:
    async with serving() as client:
        port = client.address.rsplit(":", 1)[1]
        script = f"exec 3<>/dev/tcp/127.0.0.1/{port}; printf '{REQUEST}' >&3; cat <&3"
        done = await asyncio.to_thread(
            subprocess.run, ["bash", "-c", script], user=NOBODY, capture_output=True, text=True, check=True, timeout=30
        )
        assert done.stdout.startswith("HTTP/1.1 401")
        assert "only processes of the gateway's own user" in done.stdout
        done = await asyncio.to_thread(
            subprocess.run, ["bash", "-c", script], capture_output=True, text=True, check=True, timeout=30
        )
        assert done.stdout.startswith("HTTP/1.1 200")
