"""Hosts that share nothing but a network: network namespaces, each with files, a name and processes of its own."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]

HERE = "/mnt"
"""Where a host's processes see its files. Not /tmp: the code that they run may be below it."""

_KEPT = ("home", "certificates")
"""Directories that a host has after it lost its disk, too."""

_BALLAST = "ballast"

_DISK = "256m"
"""Size of a host's files."""

_ENTER = """
mount --make-rprivate /
mount --bind "$1/hosts" /etc/hosts
mount --bind "$1" "$3"
mount -t tmpfs none /dev/shm
hostname "$2"
shift 3
exec "$@"
"""
"""Gives a process the host's name, a list of all hosts, and the host's files."""


def why_not() -> str:
    """Why there can't be hosts here; empty if there can be."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "only root on Linux may make network namespaces"
    tried = subprocess.run(["unshare", "-nmu", "ip", "link"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


class Host:
    """A host of a network, up from the start.

    Attributes:
        name: Its name, which the other hosts know.
        address: Its address.
        files: The directory that its processes see as `HERE`.
    """

    def __init__(self, network: Network, name: str, number: int) -> None:
        self.name = name
        self.address = f"{network.prefix}.{number}"
        self.files = network.directory / name
        self._namespace = f"{network.name}-{name}"
        self._link = f"{network.name}h{number}"
        self._started: list[subprocess.Popen[bytes]] = []
        self.files.mkdir()
        _run("mount", "-t", "tmpfs", "-o", f"size={_DISK}", "none", str(self.files))
        (self.files / "home").mkdir()
        _ip("netns", "add", self._namespace)
        _ip("link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", self._namespace)
        _ip("link", "set", self._link, "master", network.bridge, "up")
        for arguments in (["addr", "add", f"{self.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
            _ip("-n", self._namespace, *arguments)
        _ip("-n", self._namespace, "link", "set", "lo", "up")

    def start(
        self, command: Sequence[str], environment: Mapping[str, str] | None = None, log: str = ""
    ) -> subprocess.Popen[bytes]:
        """Start a process; its output goes to a file of the host, or to pipes if no file is named."""
        enter = ["ip", "netns", "exec", self._namespace, "unshare", "-mu", "sh", "-c", _ENTER, "sh"]
        known = {**os.environ, "HOME": f"{HERE}/home", "TMPDIR": HERE, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
        with (self.files / (log or "unused")).open("ab") as file:
            process = subprocess.Popen(
                [*enter, str(self.files), self.name, HERE, *command],
                stdin=subprocess.DEVNULL,
                stdout=file if log else subprocess.PIPE,
                stderr=file if log else subprocess.PIPE,
                env={**known, **(environment or {})},
                cwd="/",
                start_new_session=True,
            )
        self._started.append(process)
        return process

    def processes(self, *words: str) -> list[int]:
        """Return the processes in whose command lines all words are."""
        listed = subprocess.run(["ip", "netns", "pids", self._namespace], capture_output=True, text=True, check=True)
        found = []
        for process in map(int, listed.stdout.split()):
            with suppress(OSError):
                line = Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
                if all(word in line for word in words):
                    found.append(process)
        return found

    def kill(self, *words: str) -> int:
        """Kill the processes in whose command lines all words are; return how many there were."""
        return self._send(signal.SIGKILL, *words)

    def _send(self, number: signal.Signals, *words: str) -> int:
        found = self.processes(*words)
        for process in found:
            with suppress(ProcessLookupError):
                os.kill(process, number)
        return len(found)

    def pause(self, seconds: float) -> None:
        """Let all processes stand still for a while."""
        self._send(signal.SIGSTOP)
        time.sleep(seconds)
        self._send(signal.SIGCONT)

    def crash(self) -> None:
        """Lose power: no packet leaves any more, then all processes are gone, and the host's files with them."""
        _ip("link", "set", self._link, "down")
        while self.kill():
            time.sleep(0.05)
        for path in self.files.iterdir():
            if path.is_dir() and path.name not in _KEPT:
                shutil.rmtree(path)

    def fill_disk(self) -> None:
        """Leave no space for files."""
        with suppress(OSError), (self.files / _BALLAST).open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 20))

    def empty_disk(self) -> None:
        """Undo `fill_disk`."""
        (self.files / _BALLAST).unlink()

    def come_back(self) -> None:
        """Be on the network again, without processes."""
        _ip("link", "set", self._link, "up")

    def cut_from(self, other: Host) -> None:
        """Lose all packets to another host and from it."""
        for one, two in ((self, other), (other, self)):
            _ip("-n", one._namespace, "route", "add", "blackhole", f"{two.address}/32")

    def join(self, other: Host) -> None:
        """Undo `cut_from`."""
        for one, two in ((self, other), (other, self)):
            _ip("-n", one._namespace, "route", "del", "blackhole", f"{two.address}/32")

    def remove(self) -> None:
        """Kill everything and remove the host."""
        while self.kill():
            time.sleep(0.05)
        for process in self._started:
            process.wait()
        _ip("netns", "del", self._namespace)
        _run("umount", "--lazy", str(self.files))


class Network:
    """A network of hosts.

    Attributes:
        name: Short and unique.
        prefix: Of all addresses.
        directory: Where the hosts' files are.
        hosts: By name.
    """

    def __init__(self, directory: Path) -> None:
        number = random.SystemRandom().randrange(1, 250)
        self.name, self.prefix = f"fs{number}", f"10.231.{number}"
        self.bridge = f"{self.name}b"
        self.directory = directory
        self.hosts: dict[str, Host] = {}
        _ip("link", "add", self.bridge, "type", "bridge")
        _ip("addr", "add", f"{self.prefix}.254/24", "dev", self.bridge)
        _ip("link", "set", self.bridge, "up")

    def add(self, *names: str) -> None:
        """Add hosts; each knows the names of all."""
        for name in names:
            self.hosts[name] = Host(self, name, len(self.hosts) + 1)
        listed = "".join(f"{host.address} {host.name}\n" for host in self.hosts.values())
        for host in self.hosts.values():
            (host.files / "hosts").write_text(f"127.0.0.1 localhost\n{listed}")

    def remove(self) -> None:
        """Remove everything."""
        for host in self.hosts.values():
            host.remove()
        _ip("link", "del", self.bridge)


@contextmanager
def network(directory: Path) -> Iterator[Network]:
    """A network that is removed in the end."""
    made = Network(directory)
    try:
        yield made
    finally:
        made.remove()


def _ip(*arguments: str) -> None:
    _run("ip", *arguments)


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
