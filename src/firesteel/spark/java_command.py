"""The command line of Spark's JVM.

PySpark itself starts `bin/spark-submit`. Its class SparkSubmit fetches jars and packages, reads files of configuration
and logs in with Kerberos, then runs the server that Python talks to. A local Spark with no such settings starts with
that server, a tenth of a second earlier.

Why: `docs/decisions/0004-start-the-jvm-directly.md`, `docs/decisions/0060-what-the-first-job-needs-starts-at-once.md`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from firesteel.spark.class_archive import ClassArchive, class_archive
from firesteel.spark.java import Java
from firesteel.spark.java_files import java_arguments, java_properties, write_private_file
from firesteel.spark.java_options import (
    DRIVER_MEMORY,
    DRIVER_OPTIONS,
    IS_STRICT,
    JAVA_VARIABLES,
    chooses_collector,
    options_in,
)
from firesteel.spark.spark_errors import SparkStartError

__all__ = [
    "CLASS_PATH",
    "FIXED_OPTIONS",
    "JVM_OPTIONS",
    "LIBRARY_PATH",
    "archive_for",
    "configuration_directories",
    "java_command",
    "package_directory",
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

_COLLECTOR = "-XX:+UseSerialGC"

JVM_OPTIONS = (_COLLECTOR, "-XX:TieredStopAtLevel=1", "-XX:+IgnoreUnrecognizedVMOptions")
"""Options for a fast start and little CPU use, as the JVM only moves buffers and the cores are needed for Python."""

FIXED_OPTIONS = (
    *JVM_OPTIONS,
    *_JAVA_OPTIONS,
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED_PACKAGES),
)

CLASS_PATH = "spark.driver.extraClassPath"
LIBRARY_PATH = "spark.driver.extraLibraryPath"
"""Settings that Spark's own launcher carries out."""

_UNSAFE_DENIED_SINCE = 24

_SUBMIT, _SERVER = "org.apache.spark.deploy.SparkSubmit", "org.apache.spark.api.python.PythonGatewayServer"


def java_command(java: Java, home: str, directory: str, settings: Mapping[str, str]) -> list[str]:
    """Return the command with all options of Java except those of the archive and of `spark_arguments`.

    Args:
        java: The Java.
        home: The directory of Spark.
        directory: The directory for temporary files.
        settings: Spark's settings.
    """
    has_collector = chooses_collector(options_in(settings, DRIVER_OPTIONS))
    own_classes = [settings[CLASS_PATH]] if settings.get(CLASS_PATH) else []
    return [
        java.executable,
        "-cp",
        os.pathsep.join([*own_classes, *configuration_directories(home), f"{home}/jars/*"]),
        f"-Xmx{settings.get(DRIVER_MEMORY, '1g')}",
        *(option for option in FIXED_OPTIONS if option != _COLLECTOR or not has_collector),
        f"-Djava.io.tmpdir={directory}",
        f"-XX:ErrorFile={directory}/java_error.log",
        # From Java 24 on each use of Unsafe, which Spark's memory needs, prints a warning.
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
    own = options_in(settings, DRIVER_OPTIONS)
    if own or JAVA_VARIABLES & os.environ.keys():
        own.insert(0, IS_STRICT)  # Ours, which not every Java has, are ignored otherwise.
    properties = [] if with_submit else [f"-D{key}={value}" for key, value in settings.items()]
    options = write_private_file(Path(directory) / "java.options", java_arguments([*own, *properties]))
    if not with_submit:
        return [f"@{options}", _SERVER]
    file = write_private_file(Path(directory) / "spark.properties", java_properties(settings))
    return [f"@{options}", _SUBMIT, "--properties-file", file, "--load-spark-defaults", "pyspark-shell"]


def configuration_directories(home: str) -> list[str]:
    """Return the directories where Spark looks for its configuration files."""
    directory = os.environ.get("SPARK_CONF_DIR", f"{home}/conf")
    return [directory] if Path(directory).is_dir() else []


def archive_for(java: Java) -> ClassArchive | None:
    """Return the class archive of Spark for a Java, which may not exist yet, or None if there can't be one.

    Java creates none if a directory with files is on its class path.
    """
    home = package_directory("pyspark")
    return None if configuration_directories(home) else class_archive(java, Path(home, "jars"), FIXED_OPTIONS)


def package_directory(package: str) -> str:
    """Return the directory of a package without importing it."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SparkStartError(f"the package {package} is not installed")
    return str(spec.submodule_search_locations[0])
