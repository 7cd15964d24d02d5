from __future__ import annotations

import pytest

from firesteel.common.options.declared import declared_options
from firesteel.common.options.known_options import doubt_about, misspelt_option


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


@pytest.mark.parametrize("option", ["parallelism.default", "spark.ui.enabled", "my.own", "team", *declared_options()])
def test_known_and_user_defined_options_cause_no_warning(option: str) -> None:
    assert doubt_about(option) is None


def test_options_without_a_near_match_are_reported_without_a_suggestion() -> None:
    assert doubt_about("rest.qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq") == (
        "there is no option 'rest.qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq'"
    )


@pytest.mark.parametrize(
    ("option", "meant"),
    [
        ("execution.checkpointing.intervall", "execution.checkpointing.interval"),
        ("execution.checkpointing.tolerable_failed-checkpoint", "execution.checkpointing.tolerable-failed-checkpoints"),
        ("taskmanager.numberOfTaskSlot", "taskmanager.numberOfTaskSlots"),
        ("paralelism.default", "parallelism.default"),
        ("rest.prot", "rest.port"),
        ("rest.bind-adress", "rest.bind-address"),
        ("table.exec.state.tll", "table.exec.state.ttl"),
        ("rest.port", None),
        ("spark.ui.enable", None),
        ("my.own", None),
        # Options of older versions of Flink.
        ("jobmanager.heap.size", None),
        ("state.backend.async", None),
        ("high-availability.zookeeper.path.latch", None),
        ("high-availability.zookeeper.path.checkpoints", None),
        ("pipeline.default-kryo-serializers", None),
        ("taskmanager.network.numberOfBuffers", None),
    ],
)
def test_a_slip_of_one_or_two_letters_is_told_from_another_name(option: str, meant: str | None) -> None:
    assert misspelt_option(option) == meant
