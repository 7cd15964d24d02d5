"""Loopback addresses, which only processes of this machine can reach."""

from __future__ import annotations

import ipaddress

__all__ = ["is_address", "is_loopback"]


def is_address(host: str) -> bool:
    """Return whether a host is an IP address rather than a name.

    Example:
        >>> is_address("192.0.2.1"), is_address("::1"), is_address("localhost")
        (True, True, False)
    """
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Return whether a name or address is a loopback address, without a DNS lookup.

    Example:
        >>> [is_loopback(host) for host in ("localhost", "127.0.0.2", "[::1]", "0.0.0.0", "127.0.0.1.example.org")]
        [True, True, True, False, False]
    """
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
