"""Options of users for the JVMs of Spark, compared with what Java says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.spark.java import find_java
from firesteel.spark.java_command import CLASS_PATH, java_command
from firesteel.spark.java_options import DRIVER_OPTIONS, EXECUTOR_OPTIONS, JAVA_VARIABLES, check_java_options

REFUSED = {
    "-XX:+NoSuch": "Unrecognized VM option 'NoSuch'",
    "-XX:MaxDirectMemorySize=1x": "Improperly specified VM option 'MaxDirectMemorySize=1x'",
    "-Xms1q": "Invalid initial heap size: -Xms1q",
    "-Xnosuch": "Unrecognized option: -Xnosuch",
    "-XX:+UseG1GC -XX:+UseSerialGC": "Multiple garbage collectors selected",
    "-Da='b": "No closing quotation",
}
TAKEN = [
    "-XX:+UseG1GC -XX:MaxGCPauseMillis=100 -Xss4m",
    "-XX:+IgnoreUnrecognizedVMOptions -XX:+OnlyElsewhere",
    # Only the host that they are for can tell.
    "-javaagent:/opt/there.jar -XX:Flags=/etc/there -XX:SharedArchiveFile=/opt/there.jsa",
    "-agentlib:jdwp=transport=dt_socket,server=y,suspend=y",
]


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in JAVA_VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("options", REFUSED)
@pytest.mark.parametrize("option", [DRIVER_OPTIONS[-1], EXECUTOR_OPTIONS[-1]])
def test_what_java_refuses_is_refused_in_its_words(option: str, options: str) -> None:
    with pytest.raises(InvalidOptionError) as refused:
        check_java_options(find_java(), {option: options})
    assert f"option {option!r}" in str(refused.value)
    assert REFUSED[options] in str(refused.value)
    has_way_out = "-XX:+IgnoreUnrecognizedVMOptions" in str(refused.value)
    assert has_way_out is (option in EXECUTOR_OPTIONS and "Unrecognized" in REFUSED[options])


@pytest.mark.parametrize("options", TAKEN)
def test_what_java_takes_or_only_another_host_can_tell_is_taken(options: str) -> None:
    check_java_options(find_java(), dict.fromkeys((*DRIVER_OPTIONS, *EXECUTOR_OPTIONS), options))


def test_an_invalid_size_of_the_heap_is_refused() -> None:
    check_java_options(find_java(), {"spark.driver.memory": "300m"})
    with pytest.raises(InvalidOptionError, match=r"'spark.driver.memory' is '1x', which .*: Invalid maximum heap size"):
        check_java_options(find_java(), {"spark.driver.memory": "1x"})


def test_an_environment_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+NoSuch")
    with pytest.raises(InvalidOptionError, match=r"variable 'JAVA_TOOL_OPTIONS' .*: Unrecognized VM option 'NoSuch'"):
        check_java_options(find_java(), {})


def test_a_collector_of_the_user_replaces_ours(tmp_path: Path) -> None:
    def collectors(settings: dict[str, str]) -> list[str]:
        command = java_command(find_java(), str(tmp_path), str(tmp_path), settings)
        return [option for option in command if "Use" in option and "GC" in option]

    assert collectors({}) == ["-XX:+UseSerialGC"]
    assert [collectors({key: "-XX:+UseG1GC"}) for key in DRIVER_OPTIONS] == [[], []]


def test_classes_of_the_user_come_first(tmp_path: Path) -> None:
    command = java_command(find_java(), str(tmp_path), str(tmp_path), {CLASS_PATH: "/opt/a.jar"})
    assert command[command.index("-cp") + 1].startswith("/opt/a.jar:")
