"""Endpoints for probes: whether the process lives, and whether it can serve. They need no token and tell no secrets."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from firesteel.common.files.file_systems import Files
from firesteel.common.options.checkpointing_options import CHECKPOINTING_DIR
from firesteel.common.options.ha_options import HA_STORAGE_DIR
from firesteel.common.terminal_text import counted
from firesteel.rest.routes import Accepted, Answer, Call, Route
from firesteel.runtime.thread_pools import REQUESTED_FILES

logger = logging.getLogger(__name__)

_PATIENCE_S = 5.0
"""After that time a check has failed; Kubernetes' probes give up after the time that is set for them."""

_UNAVAILABLE = 503


async def _live(call: Call) -> Answer:
    """Answer: the event loop, which runs the control plane, also serves this."""
    return {"status": "live"}


async def _ready(call: Call) -> Answer:
    """Answer 200 if this JobManager leads, or knows the leader, and can write what it stores; else 503 with reasons."""
    checks: dict[str, Callable[[Call], Awaitable[str]]] = {"leader": _leader, "storage": _storage}
    found = {name: await _outcome(check(call)) for name, check in checks.items()}
    failed = {name: text for name, (is_good, text) in found.items() if not is_good}
    body = {"status": "not ready" if failed else "ready", "checks": {name: text for name, (_, text) in found.items()}}
    return Accepted(body, _UNAVAILABLE if failed else 200)


async def _outcome(check: Awaitable[str]) -> tuple[bool, str]:
    try:
        return True, await asyncio.wait_for(check, _PATIENCE_S)
    except TimeoutError:
        return False, f"no answer within {_PATIENCE_S:g} s"
    except Exception as error:
        # Anybody may ask, and the message may name paths and hosts.
        logger.warning("this JobManager is not ready: %s: %s", type(error).__name__, error)
        return False, f"{type(error).__name__}; the log has the details"


async def _leader(call: Call) -> str:
    overview = await (await call.cluster.dispatcher()).request_overview()
    slots, jobs = counted(overview.slots_total, "slot"), counted(overview.jobs_running, "job")
    return f"{slots}, {overview.slots_available} free, {jobs} running"


async def _storage(call: Call) -> str:
    """Write a file in each local directory that is configured; object stores are tried by the jobs that use them."""
    configuration = call.cluster.configuration
    named = [option.of(configuration) for option in (HA_STORAGE_DIR, CHECKPOINTING_DIR)]
    files = Files(configuration)
    paths = [files.path(files.resolve(name)) for name in named if name is not None]
    local = [path for path in paths if isinstance(path, Path)]
    for path in local:
        await REQUESTED_FILES.run(_try_to_write, path)
    return f"{len(local)} directories can be written"


def _try_to_write(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    # Written and not only opened: a full disk still lets files be created.
    with tempfile.TemporaryFile(dir=directory) as file:
        file.write(b"ready")
        file.flush()


ROUTES = (
    Route("GET", "/health/live", _live, is_public=True),
    Route("GET", "/health/ready", _ready, is_public=True),
)
