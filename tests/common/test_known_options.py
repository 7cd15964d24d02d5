from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from firesteel.common import known_options
from firesteel.common.known_options import OWN_OPTIONS, doubt_about

SOURCE = Path(known_options.__file__).parents[1]
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
def test_a_misspelt_option_is_told_with_the_nearest_one(option: str, nearest: str) -> None:
    assert doubt_about(option) == f"there is no option {option!r}; did you mean {nearest!r}?"


@pytest.mark.parametrize("option", ["parallelism.default", "spark.ui.enabled", "my.own", "team", *OWN_OPTIONS])
def test_what_is_known_or_the_users_own_is_fine(option: str) -> None:
    assert doubt_about(option) is None


def test_what_is_like_nothing_is_told_without_a_guess() -> None:
    assert doubt_about("rest.qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq") == (
        "there is no option 'rest.qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq'"
    )


def test_every_option_that_the_sources_name_is_known() -> None:
    named = {
        node.value
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] != "table"  # a table's options have namespaces of their own
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if re.fullmatch(r"[a-z-]+(\.[a-zA-Z-]+)+", node.value) and node.value.split(".")[0] in NAMESPACES
    }
    assert len(named) > 50
    assert sorted(option for option in named - NO_OPTIONS if doubt_about(option) is not None) == []
