"""The history server: the dashboard and the REST API of jobs that have ended, from their archives.

Flink: `runtime.webmonitor.history.HistoryServer`. It reads an archive when one of its answers is asked for, instead of
expanding all of them into a directory.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from aiohttp import web

from firesteel.common.files.file_systems import Files
from firesteel.common.files.remote_path import AnyPath
from firesteel.common.json_types import Json
from firesteel.common.options.history_options import (
    HISTORY_ADDRESS,
    HISTORY_DIRS,
    HISTORY_PORT,
    HISTORY_REFRESH,
    HISTORY_RETAINED,
)
from firesteel.common.options.rest_options import REST_BIND_ADDRESS, REST_BIND_PORT, REST_PORT
from firesteel.rest import dashboard_handlers
from firesteel.rest.access import Access
from firesteel.rest.archive import OVERVIEW, read_archive
from firesteel.rest.cluster_handlers import web_configuration
from firesteel.rest.dashboard_handlers import SAMPLED
from firesteel.rest.endpoint import RestServerEndpoint
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import Answer, Route, Text
from firesteel.runtime.thread_pools import ARCHIVE

__all__ = ["HistoryServer"]

logger = logging.getLogger(__name__)

_ID: Final = re.compile("[0-9a-f]{32}")
_ARCHIVE: Final = re.compile("(?:[^/]+/applications/[^/]+/jobs/)?([0-9a-f]{32})")
"""Where archives are: beside each other or, in Flink 2.3 and later, by cluster and application."""

_CACHED: Final = 32
_STATES: Final = {"FINISHED": "finished", "CANCELED": "cancelled", "FAILED": "failed"}


_LACKING: Final[dict[str, Json]] = {
    "/firesteel/jobs/[^/]+/stdout": {"offset": 0, "text": ""},
    "/firesteel/jobs/[^/]+/autoscaler": {"enabled": False, "decisions": []},
    "/firesteel/jobs/[^/]+/slots": {"taskmanagers": []},
    "/firesteel/jobs/[^/]+/history": {"interval": 0, **{name: [] for name in SAMPLED}},
    "/jobs/[^/]+/vertices/[^/]+/watermarks": [],
    "/jobs/[^/]+/rescales/history": [],
}
"""What the dashboard asks and archives do not have, or only those of later releases."""


_Overview = dict[str, Any]
"""An entry of `/jobs/overview`."""


class _Job(NamedTuple):
    """An archived job: its file, and its entries of `/jobs/overview`."""

    path: AnyPath
    overview: list[_Overview]


class _Asked(NamedTuple):
    """A request."""

    archives: Archives
    path: str


class Archives:
    """The archives in some directories.

    Args:
        configuration: Options of the history server and of file systems.
    """

    def __init__(self, configuration: Mapping[str, str]) -> None:
        files = Files(configuration)
        named = (HISTORY_DIRS.required(configuration)).split(",")
        self.directories = [files.path(files.resolve(name.strip())) for name in named]
        self._retained = HISTORY_RETAINED.of(configuration)
        self._jobs: dict[str, _Job] = {}
        self._read: OrderedDict[str, dict[str, str]] = OrderedDict()

    def look(self) -> None:
        """Find new archives and forget removed ones; remove those that are more than are retained. Blocks."""
        found: dict[str, _Job] = {}
        for directory in self.directories:
            try:
                there = {
                    _ID.findall(name)[-1]: directory / name for name in _files(directory) if _ARCHIVE.fullmatch(name)
                }
            except OSError as error:
                logger.warning("archives in %s can't be listed: %s", directory, error)
                # A store that does not answer for a moment must not make its jobs disappear from the dashboard.
                found |= {id_: job for id_, job in self._jobs.items() if str(job.path).startswith(f"{directory}/")}
                continue
            jobs = {id_: job for id_, path in there.items() if (job := self._job(id_, path)) is not None}
            found |= dict(self._retained_of(jobs))
        self._jobs = found

    def _job(self, job_id: str, path: AnyPath) -> _Job | None:
        known = self._jobs.get(job_id)
        if known is not None and known.path == path:
            return known
        try:
            return _Job(path, _overview_of(job_id, read_archive(path)))
        except (OSError, ValueError) as error:
            logger.warning("archive %s is left out: %s", path, error)
            return None

    def _retained_of(self, jobs: Mapping[str, _Job]) -> Iterator[tuple[str, _Job]]:
        newest = sorted(jobs.items(), key=lambda item: item[1].overview[0]["end-time"], reverse=True)
        for number, (job_id, job) in enumerate(newest):
            if 0 <= self._retained <= number:
                _remove(job.path)
            else:
                yield job_id, job

    def overview(self) -> list[_Overview]:
        """Return the entries of all jobs in `/jobs/overview`."""
        return [entry for job in self._jobs.values() for entry in job.overview]

    async def answer(self, path: str) -> str:
        """Return the archived answer to a request.

        Raises:
            RestError: there is none (404).
        """
        job_id = next((part for part in path.split("/") if _ID.fullmatch(part)), "")
        if job_id not in self._jobs:
            raise RestError(404, f"Job {job_id} not found" if job_id else f"Not found: {path}")
        answers = self._read.get(job_id)
        if answers is None:
            try:
                answers = await ARCHIVE.run(read_archive, self._jobs[job_id].path)
            except (OSError, ValueError) as error:  # It is found removed or damaged before the next look.
                raise RestError(404, f"The archive of job {job_id} can't be read: {error}") from None
        self._read[job_id] = answers
        self._read.move_to_end(job_id)
        while len(self._read) > _CACHED:
            self._read.popitem(last=False)
        if path not in answers:
            for pattern, answer in _LACKING.items():
                if re.fullmatch(pattern, path):
                    return json.dumps(answer)
            raise RestError(404, f"The archive of job {job_id} has no answer to {path}")
        return answers[path]


def _overview_of(job_id: str, answers: Mapping[str, str]) -> list[_Overview]:
    """Return the entries of an archive in `/jobs/overview`.

    Raises:
        ValueError: there is none, or one that is not about the job.
    """
    try:
        entries = json.loads(answers.get(OVERVIEW, "null"))["jobs"]
        is_valid = bool(entries) and all(_is_about(job_id, entry) for entry in entries)
    except (KeyError, TypeError, RecursionError):
        is_valid = False
    if not is_valid:
        raise ValueError(f"its answer to {OVERVIEW} is not the overview of job {job_id}")
    return list(entries)


def _is_about(job_id: str, entry: _Overview) -> bool:
    return entry["jid"] == job_id and isinstance(entry["end-time"], int) and isinstance(entry["state"], str)


def _remove(path: AnyPath) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        logger.warning("archive %s, which is not retained, can't be removed: %s", path, error)


def _files(directory: AnyPath) -> Iterator[str]:
    """Yield the paths of all files below a directory, relative to it; none if there is no such directory."""
    if not isinstance(directory, Path):
        yield from directory.files()
        return
    for path in directory.rglob("*"):
        if path.is_file():
            yield path.relative_to(directory).as_posix()


async def _overview(asked: _Asked) -> Answer:
    return {"jobs": asked.archives.overview()}


async def _cluster(asked: _Asked) -> Answer:
    jobs = asked.archives.overview()
    counts = {f"jobs-{name}": sum(job["state"] == state for job in jobs) for state, name in _STATES.items()}
    return {"taskmanagers": 0, "slots-total": 0, "slots-available": 0, "jobs-running": 0, **counts}


async def _config(asked: _Asked) -> Answer:
    features = {"web-submit": False, "web-cancel": False, "web-rescale": False, "web-history": True}
    return web_configuration(features)


async def _archived(asked: _Asked) -> Answer:
    return Text(await asked.archives.answer(asked.path), "application/json")


_ROUTES: Final = (
    *(route for route in dashboard_handlers.ROUTES if "/jobs/" not in route.path),
    Route("GET", "/config", _config),
    Route("GET", "/overview", _cluster),
    Route("GET", "/jobs/overview", _overview),
    Route("GET", "/{rest:(jobs|firesteel/jobs)/.*}", _archived),
)


class _HistoryAccess(Access):
    bind_option = HISTORY_ADDRESS.key
    port_option = HISTORY_PORT.key


class HistoryServer(RestServerEndpoint):
    """Serves archived jobs at `historyserver.web.address` and `historyserver.web.port`.

    Args:
        configuration: Options of the history server, of file systems, and of the REST API: tokens, limits.

    Raises:
        InvalidOptionError: it has no directory, or would be reachable by others without a token.
    """

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self.archives = archives = Archives(configuration)
        self._refresh_s = HISTORY_REFRESH.of(configuration)
        address, port = HISTORY_ADDRESS.of(configuration), str(HISTORY_PORT.of(configuration))
        # `rest.bind-port` is that of the JobManager on this host, and goes before `rest.port`.
        own = {key: value for key, value in configuration.items() if key != REST_BIND_PORT.key}
        own |= {REST_BIND_ADDRESS.key: address, REST_PORT.key: port}

        def asked(request: web.Request, body: dict[str, object], files: dict[str, bytes]) -> _Asked:
            return _Asked(archives, request.path)

        super().__init__(_ROUTES, ("",), asked, _HistoryAccess(own, None), own)
        self._looking: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Read the archives, start listening, and look for new archives.

        Raises:
            AddressInUseError: the port is in use.
        """
        await ARCHIVE.run(self.archives.look)
        await super().start()
        self._looking = asyncio.create_task(self._look())

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._refresh_s)
            try:
                await ARCHIVE.run(self.archives.look)
            except Exception:
                logger.warning("the archives can't be looked through; it is tried again", exc_info=True)

    async def stop(self) -> None:
        """Stop both."""
        if self._looking is not None:
            self._looking.cancel()
        await super().stop()
