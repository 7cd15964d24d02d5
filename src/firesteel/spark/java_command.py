"""The command line of Spark's JVM.

PySpark itself starts `bin/spark-submit`. Its class SparkSubmit fetches jars and packages, reads files of configuration
and logs in with Kerberos, then runs the server that Python talks to. A local Spark with no such settings starts with
that server, a tenth of a second earlier.

Why: `docs/decisions/0004-start-the-jvm-directly.md`, `docs/decisions/0060-what-the-first-job-needs-starts-at-once.md`.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from firesteel.spark.java import Java
from firesteel.spark.java_files import java_arguments, java_properties, write_private_file

__all__ = [
    "FIXED_OPTIONS",
    "JVM_OPTIONS",
    "configuration_directories",
    "java_command",
    "last_error",
    "spark_arguments",
]

_OPENED_PACKAGES = [
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
]
_JAVA_OPTIONS = (
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dio.netty.allocator.type=pooled",
    "-Dio.netty.handler.ssl.defaultEndpointVerificationAlgorithm=NONE",
)
"""The options of Spark's `launcher.JavaModuleOptions`, without the module that small runtimes lack."""

JVM_OPTIONS = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:+IgnoreUnrecognizedVMOptions")
"""Options for a fast start and little CPU use, as the JVM only moves buffers and the cores are needed for Python."""

FIXED_OPTIONS = (
    *JVM_OPTIONS,
    *_JAVA_OPTIONS,
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
)

JAVA_VARIABLES = frozenset({"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"})
"""Environment variables with options that Java adds to those of its command."""

_UNSAFE_DENIED_SINCE = 24

_SAYS_NO_REASON = re.compile(
    r"Error: Could not create the Java Virtual Machine|Error: A fatal exception has occurred|"
    r"Error occurred during initialization of VM"
)
"""Lines before or after the one with the reason for which Java did not start."""

_SUBMIT, _SERVER = "org.apache.spark.deploy.SparkSubmit", "org.apache.spark.api.python.PythonGatewayServer"


def java_command(java: Java, home: str, directory: str, settings: Mapping[str, str]) -> list[str]:
    """Return the command with all options of Java except those of the archive and of `spark_arguments`.

    Args:
        java: The Java.
        home: The directory of Spark.
        directory: The directory for temporary files.
        settings: Spark's settings.
    """
    return [
        java.executable,
        "-cp",
        os.pathsep.join([*configuration_directories(home), f"{home}/jars/*"]),
        f"-Xmx{settings.get('spark.driver.memory', '1g')}",
        *FIXED_OPTIONS,
        f"-Djava.io.tmpdir={directory}",
        f"-XX:ErrorFile={directory}/java_error.log",
        *(("--sun-misc-unsafe-memory-access=allow",) if java.version >= _UNSAFE_DENIED_SINCE else ()),
    ]


def spark_arguments(settings: Mapping[str, str], directory: str, with_submit: bool) -> list[str]:
    """Return the last arguments, the class that Java runs among them.

    Command lines are visible to all users of the machine, so settings, which may hold passwords, go through files.

    Args:
        settings: Spark's settings.
        directory: The directory of these files.
        with_submit: Whether SparkSubmit carries out the settings.
    """
    own = shlex.split(settings.get("spark.driver.extraJavaOptions", ""))
    if own or JAVA_VARIABLES & os.environ.keys():
        own.insert(0, "-XX:-IgnoreUnrecognizedVMOptions")  # for ours, which not every Java has
    properties = [] if with_submit else [f"-D{key}={value}" for key, value in settings.items()]
    options = write_private_file(Path(directory) / "java.options", java_arguments([*own, *properties]))
    if not with_submit:
        return [f"@{options}", _SERVER]
    file = write_private_file(Path(directory) / "spark.properties", java_properties(settings))
    return [f"@{options}", _SUBMIT, "--properties-file", file, "--load-spark-defaults", "pyspark-shell"]


def last_error(log: Sequence[str]) -> str:
    """Return the last line of Java's output that is an error, else the last one that says something.

    Example:
        >>> last_error(["Invalid maximum heap size: -Xmx1x", "Error: Could not create the Java Virtual Machine."])
        'Invalid maximum heap size: -Xmx1x'
    """
    lines = [line for line in log if line.strip() and _SAYS_NO_REASON.match(line) is None]
    errors = [line for line in lines if re.search(r"(Exception|Error)\b", line) and not line.startswith("\t")]
    return (errors or lines or log or ["it wrote nothing"])[-1].strip()


def configuration_directories(home: str) -> list[str]:
    """Return the directories where Spark looks for its configuration files."""
    directory = os.environ.get("SPARK_CONF_DIR", f"{home}/conf")
    return [directory] if Path(directory).is_dir() else []
