"""Access control: pages of other sites, other users of the machine, callers with tokens."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import aiohttp
import cloudpickle
import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.rest import endpoint
from firesteel.rest.access import Access
from firesteel.rest.endpoint import BROWSER_RULES
from tests.rest.rest_cluster import AS_THIS_USER, Rest
from tests.runtime.helpers import job_graph, settle

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def status(rest: Rest, method: str, path: str, headers: Mapping[str, str], data: Any = None) -> int:
    """Of the answer to a caller that is not known."""
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, rest.server.address + path, headers=headers, data=data) as answer,
    ):
        await answer.read()
        return answer.status


def upload() -> aiohttp.FormData:
    form = aiohttp.FormData()
    form.add_field("request", json.dumps({"executionPlanFileName": "plan"}), content_type="application/json")
    form.add_field("file_0", cloudpickle.dumps(job_graph(("a", 1, []))), filename="plan")
    return form


async def running(rest: Rest) -> str:
    job_id = await rest.cluster.submit(job_graph(("a", 1, [])))
    await settle()
    return str(job_id)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost:1", 200),
        ("127.0.0.1", 200),
        ("[::1]:8081", 200),
        ("192.0.2.1", 200),
        ("ours.example.org", 200),
        ("evil.example.org:8081", 403),
        ("127.0.0.1.example.org", 403),
        ("localhost.example.org", 403),
        ("", 403),
    ],
)
async def test_only_allowed_host_names_are_accepted(make_rest: Callable[..., Any], host: str, expected: int) -> None:
    rest = await make_rest(**{"security.rest.allowed-hosts": "ours.example.org"})
    assert await status(rest, "GET", "/overview", {"Host": host}) == expected


async def test_a_page_of_another_site_is_refused(rest: Rest) -> None:
    job_id, own = await running(rest), rest.server.address
    for origin, expected in ((own, 202), ("http://127.0.0.1:1", 403), ("https://evil.example.org", 403), ("null", 403)):
        asked = await status(rest, "POST", f"/jobs/{job_id}/checkpoints", {"Origin": origin, **JSON}, b"{}")
        assert (origin, asked) == (origin, expected)


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (JSON, 202),
        ({"Content-Type": "application/json; charset=UTF-8"}, 202),
        ({**FORM, "X-Requested-With": "curl"}, 202),
        (FORM, 403),
        ({"Content-Type": "text/plain"}, 403),
        ({"Content-Type": "multipart/form-data; boundary=b"}, 403),
        ({"Content-Type": "multipart/form-data; boundary=b", "X-Requested-With": "curl"}, 415),
    ],
)
async def test_requests_that_a_form_can_send_change_nothing(rest: Rest, headers: dict[str, str], expected: int) -> None:
    job_id = await running(rest)
    assert await status(rest, "POST", f"/jobs/{job_id}/checkpoints", headers, b"{}") == expected


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 403),
        ({"Referer": "https://evil.example.org/"}, 403),
        ({"Sec-Fetch-Site": "cross-site", "Referer": "OWN"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 202),
        ({"Referer": "OWN"}, 202),
        ({"X-Requested-With": "curl"}, 202),
        (AS_THIS_USER, 202),
    ],
)
async def test_a_link_on_a_page_cancels_no_job(rest: Rest, headers: dict[str, str], expected: int) -> None:
    job_id = await running(rest)
    sent = {name: value.replace("OWN", f"{rest.server.address}/#/overview") for name, value in headers.items()}
    assert await status(rest, "GET", f"/jobs/{job_id}/yarn-cancel", sent) == expected
    assert (await rest.get(f"/jobs/{job_id}/status"))["status"] == ("RUNNING" if expected == 403 else "CANCELED")


async def test_to_submit_a_job_needs_the_token_of_a_file_of_this_user(rest: Rest) -> None:
    wrong = {"Authorization": "Bearer " + "x" * 40}
    for headers in ({}, wrong, {"X-Requested-With": "curl"}, {"Authorization": "Bearer "}):
        assert await status(rest, "POST", "/jobs", headers, upload()) == 401
    assert await status(rest, "POST", "/jobs", AS_THIS_USER, upload()) == 202
    assert [job["id"] for job in (await rest.get("/jobs"))["jobs"]] == [job_graph(("a", 1, [])).job_id]


async def test_an_option_allows_all_clients_to_submit_but_no_foreign_page(make_rest: Callable[..., Any]) -> None:
    rest = await make_rest(**{"security.rest.submit-without-token": "true"})
    assert await status(rest, "POST", "/jobs", {}, upload()) == 403
    assert await status(rest, "POST", "/jobs", {"Origin": "https://evil.example.org"}, upload()) == 403
    assert await status(rest, "POST", "/jobs", {"X-Requested-With": "curl"}, upload()) == 202


async def test_submitting_and_cancelling_can_be_switched_off(make_rest: Callable[..., Any]) -> None:
    rest = await make_rest(**{"web.submit.enable": "false", "web.cancel.enable": "false"})
    job_id = await running(rest)
    assert (await rest.get("/config"))["features"]["web-cancel"] is False
    assert await status(rest, "POST", "/jobs", AS_THIS_USER, upload()) == 403
    page = {"Origin": rest.server.address}
    assert await status(rest, "PATCH", f"/jobs/{job_id}?mode=cancel", page) == 403
    assert await status(rest, "GET", f"/jobs/{job_id}/yarn-cancel", {"Sec-Fetch-Site": "same-origin"}) == 403
    assert await status(rest, "POST", f"/applications/{job_id}/cancel", page) == 403
    # The command line is no page.
    assert await status(rest, "PATCH", f"/jobs/{job_id}?mode=cancel", {}) == 202


@pytest.mark.parametrize("token", ["", " ", "short", "x" * 15])
@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1"])
@pytest.mark.parametrize("role", ["view", "submit", "admin"])
def test_tokens_that_can_be_guessed_are_refused(token: str, address: str, role: str) -> None:
    option = f"security.rest.token.{role}"
    with pytest.raises(InvalidOptionError, match=f"{option}' has {len(token)} bytes; the minimum is 16"):
        Access({option: token, "rest.bind-address": address}, None)


async def test_a_header_may_hold_any_bytes(make_rest: Callable[..., Any]) -> None:
    rest = await make_rest(**{"security.rest.token.admin": "übermäßige" * 2})
    assert await status(rest, "GET", "/overview", {"Authorization": "Bearer é"}) == 401
    assert await status(rest, "GET", "/overview", {"Authorization": "Bearer \udcff"}) == 401
    assert await status(rest, "GET", "/overview", {"Authorization": f"bearer {'übermäßige' * 2}"}) == 200


@pytest.mark.parametrize("option", ["web.submit.enable", "web.cancel.enable", "security.rest.submit-without-token"])
def test_switches_are_true_or_false(option: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"{option}': 'off' is not a boolean; allowed: true, false"):
        Access({option: "off"}, None)


@pytest.mark.parametrize("path", ["/", "/dashboard/app.js", "/overview", "/nothing", "/jobs/x", "/jobmanager/log"])
async def test_each_answer_has_rules_for_browsers(rest: Rest, path: str) -> None:
    async with rest.session.get(rest.server.address + path) as answer:
        found = {name: answer.headers.get(name) for name in BROWSER_RULES}
    assert found == BROWSER_RULES
    assert "frame-ancestors 'none'" in BROWSER_RULES["Content-Security-Policy"]


def test_the_dashboard_keeps_its_own_rules() -> None:
    directory = Path(endpoint.__file__).parent / "dashboard"
    page, script = ((directory / name).read_text() for name in ("index.html", "app.js"))
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=|javascript:|https?://", page)
    assert not re.search(r"innerHTML|eval\(|new Function|\bstyle:", script)
