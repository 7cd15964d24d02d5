"""Access to the gateway: its own user needs no token on this machine, because Flink's client has none to send.

Linux knows the user at the other end of a loopback connection.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp import web

from firesteel.common.options.gateway_options import GATEWAY_BIND_ADDRESS, GATEWAY_PORT
from firesteel.common.options.security_options import REST_SUBMIT_WITHOUT_TOKEN, REST_TOKEN_SUBMIT
from firesteel.common.trust.loopback import is_loopback
from firesteel.rest.access import Access

_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LOCAL, _REMOTE, _STATE, _USER = 1, 2, 3, 7
"""Columns of these tables; see proc(5)."""

_ESTABLISHED = "01"


class GatewayAccess(Access):
    """The access rules of a gateway.

    Args:
        configuration: Options of its server.
    """

    bind_option = GATEWAY_BIND_ADDRESS.key
    port_option = GATEWAY_PORT.key
    token_required = (
        "SQL can run code: without a token only processes of the gateway's own user on the same machine may open "
        f"sessions. Configure {REST_TOKEN_SUBMIT} and send it; {REST_SUBMIT_WITHOUT_TOKEN} lets everyone who can reach "
        "this server run code as its user"
    )

    def __init__(self, configuration: Mapping[str, str]) -> None:
        super().__init__(configuration, None)

    def is_own_user(self, request: web.Request) -> bool:
        """Return whether the sender is a process of this user, or of root, on this machine."""
        connection = None if request.transport is None else request.transport.get_extra_info("socket")
        return connection is not None and is_own_peer(connection)


def is_own_peer(connection: socket.socket) -> bool:
    """Return whether this user, or root, has opened a connection from this machine; False if that is unknown."""
    local, remote = connection.getsockname(), connection.getpeername()
    # The tables are those of this machine: a distant peer with the same port would be taken for a local one.
    if not is_loopback(remote[0]) and remote[0] != local[0]:
        return False
    return _user_of(remote, local) in (0, os.getuid())


def _user_of(address: tuple[Any, ...], peer: tuple[Any, ...]) -> int | None:
    """Return the user of the socket at an address that is connected with a peer; None if it is unknown."""
    wanted = set(zip(_entries(*address[:2]), _entries(*peer[:2]), strict=True))
    for table in _TABLES:
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if (fields[_LOCAL], fields[_REMOTE]) in wanted and fields[_STATE] == _ESTABLISHED:
                return int(fields[_USER])
    return None


def _entries(host: str, port: int) -> list[str]:
    """Return an address as the tables show it: words of the host in hexadecimal, in the machine's byte order.

    Java connects to IPv4 addresses with sockets for IPv6, which have another form of the address.
    """
    address = ipaddress.ip_address(host)
    hosts = [address] if address.version == 6 else [address, ipaddress.ip_address(f"::ffff:{host}")]
    return [f"{_hexadecimal(one.packed)}:{port:04X}" for one in hosts]


def _hexadecimal(packed: bytes) -> str:
    return "".join(f"{word:08X}" for word in struct.unpack(f"={len(packed) // 4}I", packed))
