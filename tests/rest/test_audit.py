"""The audit log, and levels of loggers that are changed while a JobManager runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.common.options.security_options import REST_TOKEN_ADMIN, REST_TOKEN_VIEW
from firesteel.runtime.log_levels import levels_now, set_levels
from tests.rest.rest_cluster import AS_THIS_USER, Rest

ADMIN, VIEW = "admin" * 8, "view!" * 8


@pytest.fixture
def _levels() -> Iterator[None]:
    before = logging.getLogger().level
    yield
    set_levels({"root": before, "firesteel.coordinator": logging.NOTSET})


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_who_has_changed_something_is_logged(
    make_rest: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    rest = await make_rest(**{REST_TOKEN_ADMIN.key: ADMIN, REST_TOKEN_VIEW.key: VIEW})
    unknown = f"/jobs/{'0' * 32}"
    with caplog.at_level(logging.INFO, "firesteel.audit"):
        await rest.call("PATCH", unknown, headers=bearer(ADMIN))
        await rest.call("PATCH", unknown, headers=bearer(VIEW))
        await rest.call("PATCH", unknown, headers=AS_THIS_USER)
        await rest.call("PATCH", unknown)
        await rest.call("GET", "/overview", headers=bearer(VIEW))
    assert [record.getMessage() for record in caplog.records if record.name == "firesteel.audit"] == [
        f"PATCH {unknown} by the token of role admin at 127.0.0.1: 404",
        f"PATCH {unknown} by the token of role view at 127.0.0.1: 403",
        f"PATCH {unknown} by the user of this JobManager at 127.0.0.1: 404",
        f"PATCH {unknown} by a sender without a known token at 127.0.0.1: 401",
    ]


@pytest.mark.usefixtures("_levels")
async def test_levels_are_changed_while_a_jobmanager_runs(rest: Rest) -> None:
    wanted = {"firesteel.coordinator": "debug", "root": "ERROR"}
    status, answer = await rest.call("PUT", "/firesteel/log-levels", json=wanted)
    assert (status, answer["firesteel.coordinator"], answer["root"]) == (200, "DEBUG", "ERROR")
    assert await rest.get("/firesteel/log-levels") == levels_now()
    assert not logging.getLogger("firesteel.rest").isEnabledFor(logging.INFO)
    assert logging.getLogger("firesteel.coordinator.checkpoints").isEnabledFor(logging.DEBUG)


async def test_an_unknown_level_is_refused_and_changes_nothing(rest: Rest) -> None:
    before = levels_now()
    status, answer = await rest.call("PUT", "/firesteel/log-levels", json={"root": "DEBUG", "firesteel": "loud"})
    assert (status, "'loud' is no level; allowed: TRACE, DEBUG" in answer["errors"][0]) == (400, True)
    assert levels_now() == before
