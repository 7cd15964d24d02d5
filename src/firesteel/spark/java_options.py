"""Options of users for the JVMs of Spark's driver and executors, checked before one starts.

Spark tells executors to ignore options that Java does not know, and so do we for options of our own that not every Java
has. A misspelled option would have no effect and no message. Java itself is asked, since each version has others.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Mapping

from firesteel.common.options.option import InvalidOptionError
from firesteel.spark.java import Java

__all__ = [
    "DRIVER_MEMORY",
    "DRIVER_OPTIONS",
    "EXECUTOR_OPTIONS",
    "IS_STRICT",
    "JAVA_VARIABLES",
    "check_java_options",
    "chooses_collector",
    "last_error",
    "options_in",
]

DRIVER_OPTIONS = ("spark.driver.defaultJavaOptions", "spark.driver.extraJavaOptions")
EXECUTOR_OPTIONS = ("spark.executor.defaultJavaOptions", "spark.executor.extraJavaOptions")
"""Spark's settings with options of Java; later ones take precedence."""

DRIVER_MEMORY = "spark.driver.memory"

JAVA_VARIABLES = frozenset({"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"})
"""Environment variables with options that Java adds to those of its command."""

IS_STRICT = "-XX:-IgnoreUnrecognizedVMOptions"

_CHECKED = re.compile(r"-XX:(?!\w*(?:File|Flags|Record|Path|Archive|AOT|On\w*Error|Log|Dump))\S+|-X[^:=/]+")
"""Options that only set values of the JVM. Others name files, which other hosts may have, or start something."""

_COLLECTOR = re.compile(r"-XX:\+Use\w+GC")
_TIMEOUT_S = 30

_SAYS_NO_REASON = re.compile(
    r"Error: Could not create the Java Virtual Machine|Error: A fatal exception has occurred|"
    r"Error occurred during initialization of VM|Picked up \w+:|NOTE: Picked up \w+:"
)
"""Lines before or after the one with the reason for which Java did not start."""


def options_in(settings: Mapping[str, str], keys: tuple[str, ...]) -> list[str]:
    """Return the options of Java in some of Spark's settings.

    Raises:
        InvalidOptionError: one has a quotation mark without its counterpart.
    """
    found: list[str] = []
    for key in keys:
        try:
            found += shlex.split(settings.get(key, ""))
        except ValueError as error:
            raise InvalidOptionError(f"option {key!r} is {settings[key]!r}: {error}") from None
    return found


def chooses_collector(options: list[str]) -> bool:
    """Return whether options name a garbage collector; Java does not start with two."""
    return any(map(_COLLECTOR.fullmatch, options))


def check_java_options(java: Java, settings: Mapping[str, str]) -> None:
    """Refuse options with which Java does not start, or that it does not know.

    Java is started once for each place that has options, which takes a tenth of a second.

    Args:
        java: The driver's Java, which stands for that of the executors.
        settings: Spark's settings, as the user gave them.

    Raises:
        InvalidOptionError: Java refuses an option; the message has the line that Java prints.
    """
    for variable in sorted(JAVA_VARIABLES & os.environ.keys()):
        if refusal := _refusal(java, [], variable):
            raise InvalidOptionError(f"environment variable {variable!r} is refused by {java}: {refusal}")
    if (memory := settings.get(DRIVER_MEMORY)) is not None and (refusal := _refusal(java, [f"-Xmx{memory}"])):
        raise InvalidOptionError(f"option {DRIVER_MEMORY!r} is {memory!r}, which {java} refuses: {refusal}")
    for keys in (DRIVER_OPTIONS, EXECUTOR_OPTIONS):
        checked = [option for option in options_in(settings, keys) if _CHECKED.fullmatch(option)]
        if checked and (refusal := _refusal(java, checked)):
            given = " and ".join(repr(key) for key in keys if key in settings)
            raise InvalidOptionError(f"option {given} is refused by {java}: {refusal}{_way_out(keys, refusal)}")


def _way_out(keys: tuple[str, ...], refusal: str) -> str:
    if keys is not EXECUTOR_OPTIONS or "Unrecognized" not in refusal:
        return ""
    return "; if the executors have another Java, which knows it, add -XX:+IgnoreUnrecognizedVMOptions"


def _refusal(java: Java, options: list[str], variable: str = "") -> str:
    """Return why Java does not start with options, those of an environment variable among them, or nothing."""
    environment = {name: value for name, value in os.environ.items() if name not in JAVA_VARIABLES - {variable}}
    command = [java.executable, IS_STRICT, *options, "-version"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, env=environment, check=False)
    except subprocess.TimeoutExpired:  # An agent waits for somebody, say.
        return ""
    return last_error((done.stderr + done.stdout).splitlines()) if done.returncode else ""


def last_error(log: list[str]) -> str:
    """Return the last line of Java's output that is an error, else the last one that says something.

    Example:
        >>> last_error(["Invalid maximum heap size: -Xmx1x", "Error: Could not create the Java Virtual Machine."])
        'Invalid maximum heap size: -Xmx1x'
    """
    lines = [line for line in log if line.strip() and _SAYS_NO_REASON.match(line) is None]
    errors = [line for line in lines if re.search(r"(Exception|Error)\b", line) and not line.startswith("\t")]
    return (errors or lines or log or ["it wrote nothing"])[-1].strip()
