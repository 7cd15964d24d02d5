"""Options of logs."""

from __future__ import annotations

from firesteel.common.options.kinds import choice, integer_from, text_kind
from firesteel.common.options.option import Option

ENV_LOG_FORMAT = Option(
    "env.log.format",
    choice("text", "json"),
    "text",
    "`json` writes one JSON object per line, with `job_id`, `vertex_id` and `subtask` where known",
)
ENV_LOG_LEVEL = Option(
    "env.log.level",
    text_kind("levels"),
    "INFO",
    "Level of the log, and after commas those of loggers: `INFO, firesteel.coordinator=DEBUG`. They can be changed "
    "while a JobManager runs (`firesteel logs --level`)",
)
ENV_LOG_MAX = Option(
    "env.log.max",
    integer_from(1),
    "10",
    "Rotated log files to keep; `MAX_LOG_FILE_NUMBER` in the environment takes precedence",
)
