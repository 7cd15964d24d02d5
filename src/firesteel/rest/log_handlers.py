"""Endpoints of logs: files of the JobManager's process, and chunks of files of TaskExecutors in other processes."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from firesteel.common.json_types import Json
from firesteel.rest.cluster import Cluster
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import Answer, Call, File, Pieces, Route
from firesteel.runtime.log_levels import levels_now, parse_levels, set_levels
from firesteel.runtime.resourcemanager.resource_manager_gateway import UnknownTaskExecutorError
from firesteel.runtime.taskexecutor.log_files import LogFile, LogFileNotFoundError
from firesteel.runtime.thread_pools import REQUESTED_FILES

_LOG, _STDOUT = (".log",), (".out", "stdout")


def _files(cluster: Cluster) -> list[Path]:
    """Return the JobManager's log files; this call blocks."""
    directory = cluster.log_directory
    return [] if directory is None else sorted(path for path in directory.iterdir() if path.is_file())


def _log_files(cluster: Cluster) -> list[LogFile]:
    """Return the JobManager's log files with sizes and times; this call blocks."""
    return [LogFile.at(path) for path in _files(cluster)]


def _listing(files: Iterable[LogFile]) -> Json:
    return {"logs": [{"name": file.name, "size": file.size, "mtime": file.modified_ms} for file in files]}


def _chosen(call: Call, names: Iterable[str], endings: tuple[str, ...]) -> str | None:
    """Return the file that the path names, or the first one with one of the endings."""
    wanted = call.path.get("filename")
    return next((name for name in names if (name.endswith(endings) if wanted is None else name == wanted)), None)


async def _file(call: Call, endings: tuple[str, ...], otherwise: str) -> File:
    files = {path.name: path for path in await REQUESTED_FILES.run(_files, call.cluster)}
    name = _chosen(call, files, endings)
    if name is None:
        raise RestError(404, otherwise)
    return File(files[name])


async def _logs(call: Call) -> Answer:
    return _listing(await REQUESTED_FILES.run(_log_files, call.cluster))


async def _log(call: Call) -> Answer:
    wanted = call.path.get("filename") or "*.log"
    return await _file(call, _LOG, f"log file {wanted} not found: the JobManager logs to its terminal")


async def _stdout(call: Call) -> Answer:
    return await _file(call, _STDOUT, "file of the standard output not found: the JobManager prints to its terminal")


# --- TaskManagers --------------------------------------------------------------------------------------------------


async def _files_of(call: Call) -> tuple[LogFile, ...] | None:
    """Return the log files of a TaskExecutor, or None if it lives in the JobManager's process."""
    try:
        return await (await call.cluster.resource_manager()).request_task_manager_logs(call.path["taskmanagerid"])
    except UnknownTaskExecutorError as error:
        raise RestError(404, str(error)) from None


async def _task_manager_logs(call: Call) -> Answer:
    files = await _files_of(call)
    if files is None:
        return await _logs(call)
    return _listing(files)


async def _task_manager_log(call: Call) -> Answer:
    files = await _files_of(call)
    return await _log(call) if files is None else _pieces(call, files, _LOG)


async def _task_manager_stdout(call: Call) -> Answer:
    files = await _files_of(call)
    return await _stdout(call) if files is None else _pieces(call, files, _STDOUT)


def _pieces(call: Call, files: tuple[LogFile, ...], endings: tuple[str, ...]) -> Pieces:
    sizes = {file.name: file.size for file in files}
    name, task_manager = _chosen(call, sizes, endings), call.path["taskmanagerid"]
    if name is None:
        wanted = call.path.get("filename") or f"*{endings[0]}"
        raise RestError(404, str(LogFileNotFoundError(wanted, tuple(sizes))))

    async def read(offset: int) -> bytes:
        resource_manager = await call.cluster.resource_manager()
        return await resource_manager.request_task_manager_log_piece(task_manager, name, offset)

    return Pieces(sizes[name], read)


async def _levels(call: Call) -> Answer:
    """Return the levels of loggers in the serving process."""
    return dict(levels_now())


async def _set_levels(call: Call) -> Answer:
    """Set levels of loggers in the serving process, until it ends."""
    text = ",".join(f"{name}={level}" for name, level in call.body.items())
    try:
        set_levels(parse_levels(text))
    except ValueError as error:
        raise RestError(400, str(error)) from None
    return dict(levels_now())


_TASK_MANAGER = "/taskmanagers/{taskmanagerid}"
ROUTES = (
    Route("GET", "/firesteel/log-levels", _levels),
    Route("PUT", "/firesteel/log-levels", _set_levels, "admin"),
    Route("GET", "/jobmanager/logs", _logs),
    Route("GET", "/jobmanager/logs/{filename}", _log, produces="text/plain"),
    Route("GET", "/jobmanager/log", _log, produces="text/plain"),
    Route("GET", "/jobmanager/stdout", _stdout, produces="text/plain"),
    Route("GET", f"{_TASK_MANAGER}/logs", _task_manager_logs),
    Route("GET", f"{_TASK_MANAGER}/logs/{{filename}}", _task_manager_log, produces="text/plain"),
    Route("GET", f"{_TASK_MANAGER}/log", _task_manager_log, produces="text/plain"),
    Route("GET", f"{_TASK_MANAGER}/stdout", _task_manager_stdout, produces="text/plain"),
)
