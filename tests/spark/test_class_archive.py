"""The archive of Spark's classes: missing, broken and foreign archives do no harm."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from firesteel.spark import class_archive as class_archive_module
from firesteel.spark.class_archive import CACHE_DIRECTORY, VERIFY, ClassArchive, class_archive
from firesteel.spark.java import Java
from tests.seeds import steps


@pytest.fixture
def java(tmp_path: Path) -> Java:
    executable = tmp_path / "java"
    executable.write_text("#!")
    return Java(str(executable), 17, "a test")


@pytest.fixture
def jars(tmp_path: Path) -> Path:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "spark.jar").write_text("classes")
    return tmp_path / "jars"


@pytest.fixture(autouse=True)
def caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(CACHE_DIRECTORY, str(tmp_path / "caches"))
    return tmp_path / "caches"


@pytest.fixture
def archive(java: Java, jars: Path) -> ClassArchive:
    found = class_archive(java, jars, ["-Xa"])
    assert found is not None
    return found


def make(archive: ClassArchive) -> None:
    with archive.making() as path:
        assert path is not None
        path.write_text("classes")


def test_an_existing_archive_is_used(archive: ClassArchive) -> None:
    assert archive.options() == []
    assert archive.is_wanted
    make(archive)
    assert archive.options() == [f"-XX:SharedArchiveFile={archive.path}", "-XX:+VerifySharedSpaces"]
    assert not archive.is_wanted
    assert archive.path.stat().st_mode & 0o777 == 0o600
    assert archive.path.parent.stat().st_mode & 0o777 == 0o700


def test_newer_java_versions_create_self_contained_archives(archive: ClassArchive) -> None:
    newer = replace(archive, java_version=25)
    make(newer)
    assert newer.options()[0] == f"-XX:AOTCache={newer.path}"
    assert newer.options_to_make(Path("/x")) == ["-XX:AOTCacheOutput=/x"]
    assert archive.options_to_make(Path("/x")) == ["-XX:ArchiveClassesAtExit=/x"]


def test_the_archive_depends_on_java_jars_and_options(java: Java, jars: Path, archive: ClassArchive) -> None:
    assert class_archive(java, jars, ["-Xa"]) == archive
    assert class_archive(java, jars, ["-Xb"]) != archive
    assert class_archive(replace(java, version=21), jars, ["-Xa"]) != archive
    Path(java.executable).write_text("#!!")
    upgraded = class_archive(java, jars, ["-Xa"])
    assert upgraded != archive
    os.utime(jars / "spark.jar", (1, 1))
    assert class_archive(java, jars, ["-Xa"]) not in (upgraded, archive)


@pytest.mark.parametrize("mode", [0o770, 0o702])
def test_a_directory_that_others_can_write_to_is_not_used(
    archive: ClassArchive, java: Java, jars: Path, mode: int
) -> None:
    archive.path.parent.chmod(mode)
    assert class_archive(java, jars, ["-Xa"]) is None


def test_a_file_that_others_could_have_written_is_not_used(archive: ClassArchive, tmp_path: Path) -> None:
    make(archive)
    archive.path.chmod(0o620)
    assert archive.options() == []
    archive.path.rename(tmp_path / "elsewhere")
    archive.path.symlink_to(tmp_path / "elsewhere")
    assert archive.options() == []


def test_files_of_other_users_are_not_used(
    archive: ClassArchive, java: Java, jars: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(archive)
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    assert archive.options() == []
    assert class_archive(java, jars, ["-Xa"]) is None
    monkeypatch.delenv(CACHE_DIRECTORY)
    assert class_archive(java, jars, ["-Xa"]) is None


def test_a_user_without_a_cache_directory_has_no_archive(
    java: Java, jars: Path, caches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    caches.write_text("a file")
    assert class_archive(java, jars, ["-Xa"]) is None
    monkeypatch.delenv(CACHE_DIRECTORY)
    monkeypatch.setenv("HOME", "/nonexistent/home")
    assert class_archive(java, jars, ["-Xa"]) is None


def test_a_read_only_directory_is_left_unchanged(archive: ClassArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # Root may write everywhere.
    assert not archive.is_wanted


def test_only_one_process_creates_the_archive(archive: ClassArchive) -> None:
    with archive.making() as path:
        assert path is not None
        with archive.making() as other:
            assert other is None
        path.write_text("classes")
    assert archive.path.read_text() == "classes"


def test_an_attempt_that_failed_leaves_nothing_and_is_not_repeated_at_once(archive: ClassArchive) -> None:
    with pytest.raises(ZeroDivisionError):
        make_half(archive)
    assert [file.suffix for file in archive.path.parent.iterdir()] == [".lock"]
    assert not archive.is_wanted
    yesterday = time.time() - 25 * 3600
    os.utime(archive.path.with_suffix(".lock"), (yesterday, yesterday))
    assert archive.is_wanted


def test_leftovers_of_a_killed_process_are_removed(archive: ClassArchive) -> None:
    left = archive.path.with_suffix(".unfinished")
    left.write_text("half of the cla")
    with archive.making():
        assert not left.exists()
    assert not archive.path.exists()


def test_unused_archives_are_removed(archive: ClassArchive) -> None:
    unused, used = (archive.path.with_name(f"spark-java17-{name}.jsa") for name in ("unused", "used"))
    last_month = time.time() - 31 * 24 * 3600
    for path in (unused, used):
        path.write_text("classes")
        path.chmod(0o600)
        os.utime(path, (last_month, last_month))
    assert ClassArchive(used, 17).options()
    make(archive)
    assert sorted(archive.path.parent.glob("*.jsa")) == sorted([archive.path, used])


def test_an_archive_is_verified_after_each_change_and_start_of_the_machine(
    archive: ClassArchive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = tmp_path / "boot_id"
    boot.write_text("1")
    monkeypatch.setattr(class_archive_module, "_BOOT", boot)
    make(archive)
    assert VERIFY in archive.options()
    archive.note_verified()
    assert archive.options() == [f"-XX:SharedArchiveFile={archive.path}"]
    archive.path.write_text("other classes")
    assert VERIFY in archive.options()
    archive.note_verified()
    assert VERIFY not in archive.options()
    boot.write_text("2")
    assert VERIFY in archive.options()
    boot.unlink()  # another system, which has no such number
    archive.note_verified()
    assert VERIFY in archive.options()


def make_half(archive: ClassArchive) -> None:
    with archive.making() as path:
        assert path is not None
        path.write_text("half of the cla")
        Path(f"{path}.config").write_text("of Java")
        print(1 / 0)


RUN = """
from pathlib import Path
from firesteel.entrypoint.spark_session import shared_gateway

gateway = shared_gateway({"spark.master": "local[1]"})
print(gateway.context().parallelize([1, 2, 3], 1).sum())
print(str(gateway.archive.path) in Path(f"/proc/{gateway._process.pid}/maps").read_text(), gateway.wants_archive)
"""


def run(caches: Path) -> list[str]:
    """Start Spark: the sum of three numbers, whether the JVM uses the archive, and whether one is to be made."""
    environment = {**os.environ, CACHE_DIRECTORY: str(caches)}
    done = subprocess.run(
        [sys.executable, "-c", RUN], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.spark
def test_spark_starts_with_the_archive_and_without_one_that_is_broken(caches: Path) -> None:
    training = [sys.executable, "-m", "firesteel.entrypoint.class_archive_training"]
    environment = {**os.environ, CACHE_DIRECTORY: str(caches)}
    both = [subprocess.Popen(training, env=environment) for _ in range(2)]
    assert [process.wait(300) for process in both] == [0, 0]
    (made,) = (caches / "firesteel").glob("*.jsa")
    assert sorted(path.suffix for path in made.parent.iterdir()) == [".jsa", ".lock"]
    for _ in range(2):  # The second one does not compute the checksums again.
        assert run(caches) == ["6", "True", "False"]
    assert made.with_suffix(".verified").exists()

    whole = made.read_bytes()
    middle = len(whole) // 2
    made.write_bytes(whole[:middle] + bytes(65536) + whole[middle + 65536 :])
    assert run(caches)[0] == "6"
    assert not made.exists()
    for broken in (whole[:middle], b"", b"no archive" * 1000)[: steps(1, 3)]:
        made.write_bytes(broken)
        assert run(caches) == ["6", "False", "False"]
        assert not made.exists()


CRASHING = """
import os, signal, sys
from pathlib import Path
from firesteel.spark.gateway import SparkGateway
from firesteel.spark.java import find_java
from firesteel.spark.java_command import archive_for

archive = archive_for(find_java())
archive.path.write_text("")
archive.path.chmod(0o600)
gateway = SparkGateway("local[1]", {})
os.kill(gateway._process.pid, signal.SIGSEGV)
print(gateway.context().parallelize([1, 2, 3], 1).sum(), archive.path.exists())
gateway.close()
"""


@pytest.mark.spark
def test_an_archive_that_the_jvm_crashes_with_is_removed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CRASHING], capture_output=True, text=True, timeout=120, cwd=tmp_path, check=False
    )
    assert done.stdout.split() == ["6", "False"], done.stderr
