"""How processes log: lines of text, or of JSON with the job, vertex and subtask that they are about."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from firesteel.runtime.options import InvalidOptionError

__all__ = ["about", "configure_logging", "leave_log_to_the_program", "most_log_files"]

_FORMAT = "env.log.format"
_TEXT = "%(asctime)s %(levelname)-5s %(name)s - %(message)s"
_LARGEST_FILE = 100 * 1024 * 1024
_MOST_FILES_OPTION, _MOST_FILES = "env.log.max", "10"
_MOST_FILES_VARIABLE = "MAX_LOG_FILE_NUMBER"
_ABOUT = ("job_id", "vertex_id", "subtask")


def about(job_id: str, vertex_id: str | None = None, subtask: int | None = None) -> dict[str, Any]:
    """What a line is about, for `extra=` of a log call."""
    return {"job_id": job_id, "vertex_id": vertex_id, "subtask": subtask}


def configure_logging(
    configuration: Mapping[str, str],
    level: int = logging.INFO,
    log_file: Path | None = None,
    has_terminal: bool = True,
) -> None:
    """Let the process log to standard error, to a file, or to both.

    Args:
        configuration: Has `env.log.format`: `text` or `json`.
        level: Of the least important lines that are written.
        log_file: Takes the lines, too. A full one (100 MB) is put aside, and `most_log_files` of them are kept.
        has_terminal: Whether standard error gets the lines.

    Raises:
        InvalidOptionError: there is no such format, or no such number of files.
        OSError: the file can't be written.
    """
    kind = configuration.get(_FORMAT, "text")
    if kind not in ("text", "json"):
        raise InvalidOptionError(f"option {_FORMAT!r}: there is no format {kind!r}; allowed: text, json")
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)] if has_terminal else []
    if log_file is not None:
        most_files = most_log_files(configuration)
        handlers.append(RotatingFileHandler(log_file, maxBytes=_LARGEST_FILE, backupCount=most_files))
    for handler in handlers:
        handler.setFormatter(JsonFormatter() if kind == "json" else logging.Formatter(_TEXT))
    logging.basicConfig(level=level, handlers=handlers)


def most_log_files(configuration: Mapping[str, str]) -> int:
    """Return how many old log files are kept: `MAX_LOG_FILE_NUMBER` of the environment, else `env.log.max` [10].

    Raises:
        InvalidOptionError: it is no number, or less than 1.
    """
    text = os.environ.get(_MOST_FILES_VARIABLE) or configuration.get(_MOST_FILES_OPTION, _MOST_FILES)
    if not text.isdecimal() or int(text) < 1:
        raise InvalidOptionError(
            f"{_MOST_FILES_VARIABLE}, or option {_MOST_FILES_OPTION!r}, is {text!r}, expected is a number of at least 1"
        )
    return int(text)


def leave_log_to_the_program() -> None:
    """What a job's control plane tells (INFO) is not for the log of the program that it runs in, as Flink's is not.

    A program that wants it sets the level of the logger `firesteel`. Warnings are for everybody.
    """
    for name in ("firesteel", "py4j"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)


class JsonFormatter(logging.Formatter):
    """A line of JSON: time, level, logger, message and, where known, job_id, vertex_id, subtask and exception."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name in _ABOUT if (value := getattr(record, name, None)) is not None}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)
