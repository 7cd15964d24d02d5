"""The Spark of a process, whose options a program tells after it has been started."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.entrypoint import spark_session
from firesteel.entrypoint.spark_session import shared_gateway, start_early


class Gateway:
    """A Spark that only notes what it was started with."""

    java = "Java"

    def __init__(self, master: str, settings: Mapping[str, str], temporary: str | None = None) -> None:
        self.settings = {**settings, "spark.master": master}
        self.is_replaced = False

    def begin(self) -> None:
        pass

    def setting(self, key: str) -> str | None:
        return self.settings.get(key)

    def replace(self) -> None:
        self.is_replaced = True


@pytest.fixture(autouse=True)
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "SparkGateway", Gateway)
    monkeypatch.setattr(spark_session, "_gateways", [])
    monkeypatch.setattr(spark_session, "_used", set())
    monkeypatch.setattr(spark_session, "_close_at_exit", lambda: None)


SMALL, LARGE = {"spark.driver.memory": "1g"}, {"spark.driver.memory": "4g"}


def test_one_that_was_started_early_is_replaced_if_the_program_has_other_options() -> None:
    start_early(SMALL)
    early = spark_session._gateways[0]
    found = shared_gateway(LARGE)
    assert early.is_replaced  # type: ignore[attr-defined]
    assert found.setting("spark.driver.memory") == "4g"


@pytest.mark.parametrize("configuration", [SMALL, {}, {"spark.master": "local[*]"}, {"parallelism.default": "3"}])
def test_one_that_has_the_options_or_is_asked_for_none_is_shared(configuration: dict[str, str]) -> None:
    start_early(SMALL)
    early = spark_session._gateways[0]
    assert shared_gateway(configuration) is early
    assert shared_gateway(SMALL) is early


def test_options_that_a_used_one_does_not_have_are_refused() -> None:
    first = shared_gateway(SMALL)
    with pytest.raises(InvalidOptionError, match="is '4g', but the Spark of this process was started with '1g'; set"):
        shared_gateway(LARGE)
    with pytest.raises(InvalidOptionError, match=r"'spark.ui.port' is '4050', .* started with none"):
        shared_gateway({"spark.ui.port": "4050"})
    assert shared_gateway(LARGE, is_strict=False) is first
