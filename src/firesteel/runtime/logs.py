"""Logging of processes: lines of text, or of JSON with the job, vertex and subtask concerned."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from firesteel.common.options.log_options import ENV_LOG_FORMAT, ENV_LOG_LEVEL, ENV_LOG_MAX
from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.log_levels import ROOT, parse_levels, set_levels

__all__ = ["about", "configure_logging", "leave_log_to_the_program", "most_log_files"]

_TEXT = "%(asctime)s %(levelname)-5s %(name)s%(about)s - %(message)s"
_LARGEST_FILE = 100 * 1024 * 1024
_MOST_FILES_VARIABLE = "MAX_LOG_FILE_NUMBER"
_BAR = "  | "
_NEXT_LINE = f"\n{_BAR}"
_LIKE_A_LINE = re.compile(r"^(?=\d{4}-\d\d-\d\d )", re.MULTILINE)
_CONTROLS = [*range(32), *range(127, 160), 0x2028, 0x2029]
"""Control characters; terminals and viewers take some of them for the end of a line."""

_ESCAPES = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _CONTROLS if chr(code) not in "\n\t"}
_ESCAPES_IN_JSON = {code: f"\\u{code:04x}" for code in _CONTROLS if code >= 127}
_ABOUT = ("job_id", "vertex_id", "subtask")


def about(job_id: str, vertex_id: str | None = None, subtask: int | None = None) -> dict[str, object]:
    """Return the `extra=` argument of a log call, with the job, vertex and subtask concerned."""
    return {"job_id": job_id, "vertex_id": vertex_id, "subtask": subtask}


def configure_logging(
    configuration: Mapping[str, str],
    level: str | None = None,
    log_file: Path | None = None,
    has_terminal: bool = True,
) -> None:
    """Configure the process to log to standard error, to a file, or to both.

    Args:
        configuration: Has `env.log.format`: `text` or `json`.
        level: The minimum level, if `env.log.level` does not set one.
        log_file: The log file, rotated at 100 MB; `most_log_files` old files are kept.
        has_terminal: Whether to log to standard error.

    Raises:
        InvalidOptionError: the format, a level or the number of files is invalid.
        OSError: the file can't be written.
    """
    kind = ENV_LOG_FORMAT.of(configuration)
    levels = _levels(ENV_LOG_LEVEL.text_in(configuration) or level or ENV_LOG_LEVEL.of(configuration))
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)] if has_terminal else []
    if log_file is not None:
        most_files = most_log_files(configuration)
        handlers.append(RotatingFileHandler(log_file, maxBytes=_LARGEST_FILE, backupCount=most_files))
    for handler in handlers:
        handler.setFormatter(JsonFormatter() if kind == "json" else TextFormatter(_TEXT))
    logging.basicConfig(level=levels.pop(ROOT, logging.INFO), handlers=handlers)
    set_levels(levels)


def _levels(text: str) -> dict[str, int]:
    try:
        return parse_levels(text)
    except ValueError as error:
        raise InvalidOptionError(f"option {ENV_LOG_LEVEL.key!r}: {error}") from None


def most_log_files(configuration: Mapping[str, str]) -> int:
    """Return the number of old log files to keep: variable `MAX_LOG_FILE_NUMBER`, else `env.log.max` [10].

    Raises:
        InvalidOptionError: it is not a number, or less than 1.
    """
    text = os.environ.get(_MOST_FILES_VARIABLE)
    if not text:
        return ENV_LOG_MAX.of(configuration)
    if not text.isdecimal() or int(text) < 1:
        raise InvalidOptionError(f"{_MOST_FILES_VARIABLE} is {text!r}, expected an integer of at least 1")
    return int(text)


def leave_log_to_the_program() -> None:
    """Suppress INFO messages of a job's control plane in the log of the program that embeds it, as Flink does.

    A program that wants them sets the level of the logger `firesteel`. Warnings are not suppressed.
    """
    for name in ("firesteel", "py4j"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)


class TextFormatter(logging.Formatter):
    """A formatter of lines of text, in which no name or message can look like another line.

    Further lines of a message have a bar in front, and control characters are escaped.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Return the line of a record, without its exception."""
        named = [f"{name} {value}" for name in _ABOUT if (value := getattr(record, name, None)) is not None]
        record.about = f" [{', '.join(named)}]" if named else ""
        return super().formatMessage(record).translate(_ESCAPES).replace("\n", _NEXT_LINE)

    def formatException(self, ei: Any) -> str:
        """Return the traceback of an exception, whose message may have any lines."""
        return _LIKE_A_LINE.sub(_BAR, super().formatException(ei).translate(_ESCAPES))


class JsonFormatter(logging.Formatter):
    """A formatter of JSON lines: time, level, logger, message and, if known, job, vertex, subtask and exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the JSON line of a record."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name in _ABOUT if (value := getattr(record, name, None)) is not None}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False).translate(_ESCAPES_IN_JSON)
