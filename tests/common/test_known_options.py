from __future__ import annotations

import re
from pathlib import Path

import pytest

from firesteel.common.options import known_options
from firesteel.common.options.known_options import OWN_OPTIONS, doubt_about

SOURCE = Path(known_options.__file__).parents[2]
NAMESPACES = {option.split(".")[0] for option in known_options.known_options()}
NO_OPTIONS = {
    "jobmanager.log",
    "jobmanager.out",
    "cluster.registration",
    "high-availability.zookeeper",
    "cleanup-strategy.exponential-delay",
    "client.id",
    "client.id.prefix",
    "client.secret",
}
"""Files, beginnings of names, and properties of Kafka's clients."""


@pytest.mark.parametrize(
    ("option", "nearest"),
    [
        ("execution.checkpointing.intervall", "execution.checkpointing.interval"),
        ("taskmanager.numberOfTaskSlot", "taskmanager.numberOfTaskSlots"),
        ("paralelism.default", "parallelism.default"),
        ("rest.prot", "rest.port"),
    ],
)
def test_a_warning_suggests_the_nearest_option(option: str, nearest: str) -> None:
    assert doubt_about(option) == f"there is no option {option!r}; did you mean {nearest!r}?"


@pytest.mark.parametrize("option", ["parallelism.default", "spark.ui.enabled", "my.own", "team", *OWN_OPTIONS])
def test_known_and_user_defined_options_cause_no_warning(option: str) -> None:
    assert doubt_about(option) is None


def test_options_without_a_near_match_are_reported_without_a_suggestion() -> None:
    assert doubt_about("rest.qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq") == (
        "there is no option 'rest.qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq'"
    )


def test_every_option_that_the_sources_name_is_known() -> None:
    example = re.compile(r"^ *>>> .*", re.MULTILINE)  # may name an option that does not exist
    named = {
        name
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0]
        not in ("connectors", "table")  # their options have namespaces of their own
        for name in re.findall(r'"([a-z-]+(?:\.[a-zA-Z-]+)+)"', example.sub("", path.read_text()))
        if name.split(".")[0] in NAMESPACES
    }
    assert len(named) > 150
    assert sorted(option for option in named - NO_OPTIONS if doubt_about(option) is not None) == []
