"""Refuses connections of this process, so that a program on trial reaches no other system."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["NoNetworkError", "leave_network"]

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_CONNECTING = {"socket.connect", "socket.sendto", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr"}


class NoNetworkError(OSError):
    """The program wants to reach another system."""


def leave_network() -> None:
    """Refuse each connection of this process from now on, by an error where Python makes it.

    Where the kernel allows it, the process and its children also get a network of their own without interfaces, because
    libraries in C connect without Python.
    """
    _leave_namespace()
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event not in _CONNECTING:
        return
    address = arguments[1] if event in ("socket.connect", "socket.sendto") else arguments[0]
    if not isinstance(address, str | bytes) or event not in ("socket.connect", "socket.sendto"):  # a path is local
        raise NoNetworkError(f"a program is checked without network; it wanted to reach {_shown(address)}")


def _shown(address: object) -> str:
    return ":".join(map(str, address[:2])) if isinstance(address, tuple) else str(address)


def _leave_namespace() -> None:
    """Ask Linux for a network of its own; others allow it only together with a user namespace, or not at all."""
    libc = ctypes.CDLL(None, use_errno=True)
    unshare = getattr(libc, "unshare", None)
    if unshare is None or unshare(_NEW_NETWORK) == 0:
        return
    user, group = os.getuid(), os.getgid()
    if unshare(_NEW_USER | _NEW_NETWORK) == 0:
        with suppress(OSError):
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
