"""The user at the other end of a loopback connection, as Linux knows it."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

from firesteel.common.loopback import is_loopback

_TABLES = {socket.AF_INET: Path("/proc/net/tcp"), socket.AF_INET6: Path("/proc/net/tcp6")}
_LOCAL, _REMOTE, _STATE, _USER = 1, 2, 3, 7
"""Columns of these tables; see proc(5)."""

_ESTABLISHED = "01"


def is_own_peer(connection: socket.socket) -> bool:
    """Return whether this user, or root, has opened a connection from this machine; False if that is unknown."""
    local, remote = connection.getsockname(), connection.getpeername()
    if not is_loopback(remote[0]) and remote[0] != local[0]:
        return False
    return _user_of(connection.family, remote, local) in (0, os.getuid())


def _user_of(family: int, address: tuple[object, ...], peer: tuple[object, ...]) -> int | None:
    """Return the user of the socket at an address that is connected with a peer; None if it is unknown."""
    here, there = _entry(family, address), _entry(family, peer)
    try:
        lines = _TABLES[socket.AddressFamily(family)].read_text().splitlines()[1:]
    except (OSError, KeyError):
        return None
    for line in lines:
        fields = line.split()
        if (fields[_LOCAL], fields[_REMOTE], fields[_STATE]) == (here, there, _ESTABLISHED):
            return int(fields[_USER])
    return None


def _entry(family: int, address: tuple[object, ...]) -> str:
    """Return an address as the tables show it: words of the host in hexadecimal, in the machine's byte order."""
    packed = socket.inet_pton(family, str(address[0]))
    words = struct.unpack(f"={len(packed) // 4}I", packed)
    return "".join(f"{word:08X}" for word in words) + f":{address[1]:04X}"
