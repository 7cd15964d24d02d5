"""Where an error of a program on trial comes from: the program's line, and whether firesteel refuses something."""

from __future__ import annotations

import re
import sys
import traceback
from types import FrameType, TracebackType

from firesteel.common.our_code import OUR_CODE
from firesteel.errors import FiresteelError
from firesteel.migration.no_network import NoNetworkError

__all__ = ["is_of_program", "is_ours", "name_of", "place_of", "place_of_call", "text_of"]

_CALL = re.compile(r"(\w+)(?:\.\w+)*\(\) (?:got|missing|takes)")
"""The message of a call with wrong arguments, with the first part of the function's name."""


def is_ours(error: BaseException) -> bool:
    """Return whether firesteel refuses what the program does, rather than that it lacks data or another system."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and cause not in causes:
        causes.append(cause)
    if any(isinstance(cause, NoNetworkError | ModuleNotFoundError) for cause in causes):
        return isinstance(error, ModuleNotFoundError) and (error.name or "").startswith("pyflink")
    if isinstance(error, FiresteelError | NotImplementedError):
        return not isinstance(error, OSError)
    if isinstance(error, TypeError) and (called := _CALL.match(str(error))) and _is_our_name(called[1]):
        return True
    if isinstance(error, ImportError):
        return (error.name or "").startswith(("pyflink", "firesteel"))
    if isinstance(error, AttributeError):
        owner = error.obj if isinstance(error.obj, type) else type(error.obj)
        return owner.__module__.startswith("firesteel.") or getattr(error.obj, "__name__", "").startswith("firesteel")
    frames = traceback.extract_tb(error.__traceback__)
    return isinstance(error, TypeError | ValueError) and frames[-1].filename.startswith(OUR_CODE)


def _is_our_name(name: str) -> bool:
    modules = [module for path, module in sys.modules.items() if path.startswith("firesteel.")]
    found = [getattr(module, name, None) for module in modules]
    return any(str(getattr(value, "__module__", "")).startswith("firesteel.") for value in found)


def name_of(error: BaseException) -> str:
    """Return the class of an error."""
    return type(error).__name__


def text_of(error: BaseException) -> str:
    """Return the message of an error in one line, without lists that the message of a connector ends with."""
    text = str(error)
    for end in ("\n\nTable options are", "\n\nAvailable factory identifiers"):
        text = text.partition(end)[0]
    return " ".join(text.split()) or "without a message"


def place_of_call(frame: FrameType | None, directory: str) -> tuple[str, int]:
    """Return the file and line of the innermost frame of the program."""
    while frame is not None:
        if is_of_program(frame.f_code.co_filename, directory):
            return frame.f_code.co_filename, frame.f_lineno
        frame = frame.f_back
    return "", 0


def place_of(trace: TracebackType | None, directory: str) -> tuple[str, int]:
    """Return the file and line of the program that an error has passed last; an empty path if there is none."""
    found = [frame for frame in traceback.extract_tb(trace) if is_of_program(frame.filename, directory)]
    return (found[-1].filename, found[-1].lineno or 0) if found else ("", 0)


def is_of_program(file: str, directory: str) -> bool:
    """Return whether a file is one of the program, and none of a library."""
    return file.startswith(directory) and not file.startswith(OUR_CODE) and "site-packages" not in file
