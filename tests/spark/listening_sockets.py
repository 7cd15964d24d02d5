"""The addresses on which processes listen, from /proc/net/tcp and tcp6."""

from __future__ import annotations

import ipaddress
import os
import struct
from contextlib import suppress
from pathlib import Path

from tests.processes import processes_below

_LISTENS = "0A"

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def listening_sockets(process: int) -> dict[tuple[Address, int], int]:
    """Address and port of what a process and all below it listen at -> the process."""
    sockets = _sockets()
    found = {}
    for one in processes_below(process):
        with suppress(OSError):
            for descriptor in Path(f"/proc/{one}/fd").iterdir():
                with suppress(OSError):
                    inode = os.readlink(descriptor).removeprefix("socket:[").removesuffix("]")
                    if inode in sockets:
                        found[sockets[inode]] = one
    return found


def is_loopback(address: Address) -> bool:
    """Whether only this machine reaches it; Java listens at IPv4 addresses as IPv6 ones."""
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _sockets() -> dict[str, tuple[Address, int]]:
    found = {}
    for name in ("tcp", "tcp6"):
        table = Path("/proc/net") / name
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            fields = line.split()
            if fields[3] == _LISTENS:
                host, port = fields[1].split(":")
                found[fields[9]] = _address(host), int(port, 16)
    return found


def _address(text: str) -> Address:
    """Words of 32 bits, each in this machine's byte order."""
    words = [int(text[begin : begin + 8], 16) for begin in range(0, len(text), 8)]
    return ipaddress.ip_address(b"".join(struct.pack("=I", word) for word in words))
