"""The process of a history server (Flink: `webmonitor.history.HistoryServer.main`)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Mapping

from firesteel.rest.history_server import HistoryServer


async def serve(configuration: Mapping[str, str], tell: Callable[[str], object]) -> None:
    """Serve archived jobs until SIGINT or SIGTERM.

    Args:
        configuration: Options of the history server.
        tell: Called with the address once it listens.

    Raises:
        InvalidOptionError: it has no directory, or would be reachable by others without a token.
        OSError: the port is in use.
    """
    server = HistoryServer(configuration)
    await server.start()
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    tell(server.address)
    await stopping.wait()
    await server.stop()
