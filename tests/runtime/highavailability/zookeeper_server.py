"""A real ZooKeeper server, of Debian's package `zookeeper`, for tests."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from firesteel.spark.java import find_java
from firesteel.spark.spark_errors import JavaNotFoundError

JAR = Path("/usr/share/java/zookeeper.jar")
INSTALL = "apt-get install -y --no-install-recommends zookeeper"
START_TIMEOUT_S = 60


def java_for_zookeeper() -> str:
    """The Java to run it with. Without it or the jar: skips, or fails where `FIRESTEEL_REQUIRE_ZOOKEEPER` is set."""
    try:
        java = find_java().executable
        missing = None if JAR.exists() else f"{JAR} is missing; install it: {INSTALL}"
    except JavaNotFoundError as error:
        java, missing = "", str(error)
    if missing is not None:
        text = f"NO ZOOKEEPER, SO NOTHING OF IT IS TESTED: {missing}"
        (pytest.fail if os.environ.get("FIRESTEEL_REQUIRE_ZOOKEEPER") else pytest.skip)(text)
    return java


class ZooKeeperServer:
    """One server; its sessions and nodes outlive its process.

    Args:
        directory: Where it keeps its data.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._java = java_for_zookeeper()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self._process: subprocess.Popen[bytes] | None = None
        (directory / "log").mkdir(parents=True)
        host, port = self.address.split(":")
        (directory / "zoo.cfg").write_text(
            f"dataDir={directory}\nclientPort={port}\nclientPortAddress={host}\ntickTime=100\nminSessionTimeout=200\n"
            "maxClientCnxns=0\nadmin.enableServer=false\n4lw.commands.whitelist=*\n"
        )

    def start(self) -> None:
        """Return once it answers."""
        main = "org.apache.zookeeper.server.ZooKeeperServerMain"
        options = ["-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.forceSync=no"]
        command = [self._java, *options, "-cp", str(JAR), main, str(self._directory / "zoo.cfg")]
        with open(self._directory / "log" / "out", "ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        deadline_s = time.monotonic() + START_TIMEOUT_S
        while not self._answers():
            assert self._process.poll() is None, (self._directory / "log" / "out").read_text()
            assert time.monotonic() < deadline_s, f"ZooKeeper does not answer at {self.address}"
            time.sleep(0.02)

    def kill(self) -> None:
        """End it as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        host, port = self.address.split(":")
        try:
            with socket.create_connection((host, int(port)), 1) as connection:
                connection.sendall(b"ruok")
                return connection.recv(4) == b"imok"
        except OSError:
            return False
