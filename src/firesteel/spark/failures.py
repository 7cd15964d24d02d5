"""Extraction of an operator's failure from the errors that Spark reports."""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import Any

from firesteel.common.closed_output import OutputClosedError
from firesteel.common.trust.restricted_pickle import load_plain
from firesteel.runtime.failure import TaskFailure
from firesteel.spark.shim import FAILURE_MARK

_MARKED = re.compile(f"{FAILURE_MARK}([0-9a-f]+){FAILURE_MARK}")


def task_failure(fields: dict[str, Any]) -> TaskFailure:
    """Return the failure that a slot sent as a dict."""
    return TaskFailure(**fields)


def failure_of_exit(error: BaseException, details: str) -> TaskFailure:
    """Return the failure of user code that ended its thread, for example by `sys.exit()`."""
    frames = traceback.extract_tb(error.__traceback__)
    location = None
    if frames:
        last = frames[-1]
        location = f"{Path(last.filename).name}:{last.lineno} in {last.name}: {last.line}"
    message = f"{error!r} ended the thread that ran the user's code; raise an error instead"
    return TaskFailure(message, user_location=location, details=details)


def failure_of_spark_error(error: Exception, details: str) -> TaskFailure:
    """Return the operator's failure if Spark's error carries one, else the first line of Spark's error."""
    # Spark keeps only the text of a worker's error, so the failure travels in it as hexadecimal digits.
    marked = _MARKED.search(str(error)) or _MARKED.search(details)
    if marked is not None:
        return task_failure(load_plain(bytes.fromhex(marked.group(1)), "a failure"))
    lines = [line.lstrip(": ") for line in str(error).splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].startswith("An error occurred while calling"):
        del lines[0]  # the name of the Py4J object in the message is meaningless to users
    message = lines[0] if lines else "no message"
    is_recoverable = not isinstance(error, OutputClosedError)
    return TaskFailure(f"{type(error).__name__}: {message}", details=details, is_recoverable=is_recoverable)
