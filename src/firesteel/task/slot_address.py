"""The address at which a slot accepts connections."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from firesteel.common.files.trusted_directory import reason_for_distrust


@dataclass(frozen=True, slots=True)
class SlotAddress:
    """The address of a slot: a Unix socket, and a relay for callers on other hosts.

    Attributes:
        path: The Unix socket.
        relay: `host:port` of its TaskExecutor's relay; empty if all callers are on the same host.
        token: The token that the relay requires.

    Example:
        >>> address = SlotAddress("/tmp/slots/slot-0", "host-1:4711", "abc")
        >>> str(address)
        'slot://host-1:4711/tmp/slots/slot-0?token=abc'
        >>> SlotAddress.parse(str(address)) == address
        True
    """

    path: str
    relay: str = ""
    token: str = ""

    def __str__(self) -> str:
        return f"slot://{self.relay}{self.path}" + (f"?token={self.token}" if self.relay else "")

    @classmethod
    def parse(cls, text: str) -> SlotAddress:
        """Return the address that `str` formatted."""
        parts = urlsplit(text)
        return cls(parts.path, parts.netloc, parse_qs(parts.query).get("token", [""])[0])

    def of_region(self, region: int) -> SlotAddress:
        """Return the address of the process that runs a pipelined region's tasks in the slot."""
        return replace(self, path=f"{self.path}-{region}") if region else self

    @property
    def is_on_this_host(self) -> bool:
        """Whether the slot is on this host.

        Slot directories have random names, so existence implies it, unless another user has made one with that name to
        answer in place of the slot.
        """
        return not self.relay or _is_private(Path(self.path).parent)


def _is_private(directory: Path) -> bool:
    try:
        return reason_for_distrust(directory) is None
    except OSError:
        return False
