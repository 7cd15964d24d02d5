"""What is said of a Spark that does not start."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.spark.java_command import spark_arguments
from firesteel.spark.java_options import JAVA_VARIABLES
from firesteel.spark.missing_executors import missing_executors


def test_the_output_of_an_executor_that_ended_tells_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_WORKER_DIR", str(tmp_path))
    assert "spark.executor.extraJavaOptions" in missing_executors(1, 0, "app-1")
    for number, text in ((2, "INFO it starts"), (10, "INFO it starts")):
        (tmp_path / "app-1" / str(number)).mkdir(parents=True)
        (tmp_path / "app-1" / str(number) / "stderr").write_text(text)
    # As many as are awaited may all be starting.
    assert "the first one ended" not in missing_executors(2, 0, "app-1")
    (tmp_path / "app-1" / "2" / "stderr").write_text(
        "Unrecognized VM option 'NoSuch'\nError: Could not create the Java Virtual Machine."
    )
    text = missing_executors(1, 0, "app-1")
    assert text.startswith(
        "Spark has not started 1 of 1 requested executors yet; the first one ended with: Unrecognized"
    )


def test_java_refuses_options_of_users_that_it_does_not_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in JAVA_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    spark_arguments({}, str(tmp_path), with_submit=True)
    assert "IgnoreUnrecognized" not in (tmp_path / "java.options").read_text()
    spark_arguments({"spark.driver.extraJavaOptions": "-XX:+NoSuch"}, str(tmp_path), with_submit=True)
    options = (tmp_path / "java.options").read_text()
    assert options.index("-XX:-IgnoreUnrecognizedVMOptions") < options.index("-XX:+NoSuch")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+NoSuch")
    spark_arguments({}, str(tmp_path), with_submit=True)
    assert "-XX:-IgnoreUnrecognizedVMOptions" in (tmp_path / "java.options").read_text()
