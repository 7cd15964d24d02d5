"""The dashboard in a real browser: its pages show the cluster without console errors, and cancel a job."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from firesteel.runtime.executiongraph.batch_times import BatchTimes
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.data_plane import SubtaskProgress
from tests.rest.browser import Browser
from tests.rest.rest_cluster import Rest
from tests.runtime.helpers import an_id, job_graph, settle

SCREENSHOTS = Path(os.environ.get("FIRESTEEL_SCREENSHOTS", "/nowhere"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("chromium") is None and not os.environ.get("FIRESTEEL_REQUIRE_CHROMIUM"),
        reason="NO CHROMIUM, SO THE DASHBOARD IS TESTED IN NO BROWSER; install it: apt-get install chromium",
    ),
]


def _keep(name: str, screenshot: bytes) -> None:
    if SCREENSHOTS.is_dir():
        (SCREENSHOTS / name).write_bytes(screenshot)


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[Browser]:
    browser = Browser(tmp_path / "profile")
    await browser.start()
    yield browser
    await browser.stop()
    assert browser.errors == []


async def a_running_job(rest: Rest) -> str:
    inputs = [("source", "ALL_TO_ALL", "PIPELINED_BOUNDED")]
    job = job_graph(("source", 2, []), ("count", 2, inputs), name="<i>odd</i> job")
    job.insertion_order = [vertex.id for vertex in reversed(job.vertices)]
    await rest.cluster.submit(job)
    metrics = {"currentInputWatermark": 77, "numBytesIn": 2048, "accumulateBusyTimeMs": 1500}
    progress = [SubtaskProgress(an_id("count"), index, 1500, 20, False, metrics) for index in range(2)]
    rest.cluster.query.listener.subtasks_progressed(progress)
    await settle()
    return job.job_id


@pytest.mark.parametrize(("width", "dark"), [(1600, False), (400, True)])
async def test_a_job_is_shown_with_graph_slots_and_history(
    rest: Rest, browser: Browser, width: int, dark: bool
) -> None:
    job_id = await a_running_job(rest)
    rest.cluster.data_plane.printed[job_id] = "1> (<b>é</b>,1)\n" * 300
    for progress in range(1, 40):
        behind = {"Source__source.pendingRecords": 40 - progress}
        records = [SubtaskProgress(an_id("source"), 0, 0, progress * progress * 100, False, behind)]
        rest.cluster.query.listener.subtasks_progressed(records)
        rest.cluster.query.listener.batch_ended(BatchTimes(1, {"read": 0.01, "operators": progress / 100}))
        await settle()
        await rest.view.samples.take()
    await browser.open(f"{rest.server.address}/#/jobs/{job_id}", width, dark)
    await browser.wait_for("document.querySelector('.graph svg') !== null")
    charts = "[...document.querySelectorAll('.charts section')].filter(one => one.querySelector('svg'))"
    assert await browser.run(f"{charts}.map(one => one.querySelector('h3').innerText)") == [
        "Records read",
        "Records behind",
        "Batch: read",
        "Batch: operators",
        "Memory of the JobManager",
    ], "charts are those of figures that were above zero"
    text = await browser.run("document.body.innerText")
    assert "<i>odd</i> job RUNNING" in text
    assert "3,000 in, 40 out" in text
    assert "watermark 77" in text
    assert "busy 3.0 s" in text
    assert "4.0 KB" in text
    assert "count (2/2)" in text
    assert "1> (<b>é</b>,1)" in text
    assert (await browser.run("document.getElementById('stdout').innerText.split('\\n').length")) <= 201
    assert (await browser.run("document.querySelectorAll('.slot').length")) == 2
    assert await browser.run("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than its window"
    _keep(f"job-{width}.png", await browser.screenshot())


@pytest.mark.parametrize("width", [1600, 400])
async def test_a_name_that_is_cut_is_shown_under_the_mouse_while_the_page_is_drawn_anew(
    rest: Rest, browser: Browser, width: int
) -> None:
    name = "Source: readings -> Slowly passing on what comes from a sensor, with <b>a long name</b>"
    job = job_graph((name, 2, []), name="job")
    job.insertion_order = [vertex.id for vertex in job.vertices]
    await rest.cluster.submit(job)
    await settle()
    await browser.open(f"{rest.server.address}/#/jobs/{job.job_id}", width)
    await browser.wait_for("document.querySelector('.graph rect') !== null")
    assert "…" in await browser.run("document.querySelector('.graph text').textContent")
    place = await browser.run(
        "(({x, y}) => [x + 20, y + 20])(document.querySelector('.graph rect').getBoundingClientRect())"
    )
    tip = "(tip => !tip.hidden && tip.textContent)(document.getElementById('tip'))"
    await browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])
    await browser.wait_for(tip)
    await browser.run("refresh()")
    assert await browser.run(tip) == name
    box = await browser.run("document.getElementById('tip').getBoundingClientRect().toJSON()")
    assert box["left"] >= 0
    assert box["right"] <= width
    _keep(f"tip-{width}.png", await browser.screenshot())
    await browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
    await browser.wait_for("document.getElementById('tip').hidden")


async def test_a_job_that_restarts_says_so_under_its_title(rest: Rest, browser: Browser) -> None:
    job = job_graph(("source", 1, []), name="job")
    job.configuration["restart-strategy.type"] = "fixed-delay"
    await rest.cluster.submit(job)
    cause = TaskFailure("ValueError: bad", operator_name="Map", in_hand="record 7", user_location="job.py:7 in parse")
    await rest.cluster.fail_query(cause)
    rest.cluster.clock.advance(2)
    await settle()
    await rest.view.samples.take()
    await browser.open(f"{rest.server.address}/#/jobs/{job.job_id}")
    await browser.wait_for("document.getElementById('failure') !== null")
    text = await browser.run("document.getElementById('failure').innerText")
    assert text.startswith("Restarted once; the last failure, ")
    assert text.endswith(": operator 'Map' failed: ValueError: bad")


async def test_the_timeline_of_a_job_that_restarted_begins_with_its_present_attempts(
    rest: Rest, browser: Browser
) -> None:
    job = job_graph(("source", 1, []), ("count", 1, [("source", "ALL_TO_ALL", "PIPELINED_BOUNDED")]), name="job")
    job.configuration["restart-strategy.type"] = "exponential-delay"
    await rest.cluster.submit(job)
    for _ in range(30):
        await rest.cluster.advance(1)
    await rest.cluster.fail_query(TaskFailure("ValueError: bad", operator_name="Map"))
    for _ in range(30):
        await rest.cluster.advance(1)
    await browser.open(f"{rest.server.address}/#/jobs/{job.job_id}")
    await browser.wait_for("document.querySelector('.timeline') !== null")
    bars = "[...document.querySelectorAll('.timeline span')]"
    assert await browser.run(f"{bars}.map(bar => bar.className)") == ["RUNNING", "RUNNING"]
    shown = await browser.run("[...document.querySelectorAll('.timeline')].map(one => one.ariaLabel)")
    assert [text.split(",")[0] for text in shown] == ["source: RUNNING", "count: RUNNING"]
    vertices = (await rest.get(f"/jobs/{job.job_id}"))["vertices"]
    assert min(vertex["start-time"] for vertex in vertices) > rest.cluster.clock.now_ms() - 31_000


async def test_a_job_is_rescaled_by_the_buttons_of_a_vertex(rest: Rest, browser: Browser) -> None:
    job_id = await a_running_job(rest)
    await browser.open(f"{rest.server.address}/#/jobs/{job_id}")
    button = f"document.getElementById('rescale-1-{an_id('count')}')"
    await browser.wait_for(f"{button} !== null")
    await browser.run(f"{button}.click()")
    await browser.wait_for("document.body.textContent.includes('UPDATE_REQUIREMENT')")
    details = await rest.cluster.gateway.request_job_details(job_id)
    assert [vertex.parallelism for vertex in details.vertices] == [2, 1]
    _keep("rescaled.png", await browser.screenshot())


async def test_a_job_is_cancelled_by_its_button(rest: Rest, browser: Browser) -> None:
    job_id = await a_running_job(rest)
    await browser.open(f"{rest.server.address}/#/jobs/{job_id}")
    await browser.wait_for("document.getElementById('cancel') !== null")
    await browser.run("document.getElementById('cancel').click()")
    await settle()
    await browser.wait_for("document.getElementById('cancel') === null")
    assert await rest.cluster.gateway.request_job_status(job_id) is JobStatus.CANCELED


async def test_all_pages_are_reached_from_the_first_one(rest: Rest, browser: Browser) -> None:
    await a_running_job(rest)
    await rest.cluster.fail_query(TaskFailure("ValueError: bad", operator_name="Map", subtask_index=0, parallelism=2))
    await browser.open(rest.server.address)
    await browser.wait_for("document.body.innerText.includes('TaskManagers')")
    for link, shown in (("TaskManagers", "tm"), ("JobManager", "Options"), ("Jobs", "Ended")):
        await browser.run(f"[...document.querySelectorAll('nav a')].find(a => a.textContent === '{link}').click()")
        await browser.wait_for(f"document.querySelector('main').innerText.includes('{shown}')")
    await browser.run("document.querySelector('main a').click()")
    await browser.wait_for("document.querySelector('main').innerText.includes(\"operator 'Map' (subtask 1/2) failed\")")


async def test_the_dashboard_is_usable_with_the_keyboard_alone(rest: Rest, browser: Browser) -> None:
    await a_running_job(rest)
    await browser.open(rest.server.address)
    await browser.wait_for("document.querySelector('main a') !== null")
    for _ in range(6):  # skip link, home, three pages, the job
        await browser.send("Input.dispatchKeyEvent", type="keyDown", key="Tab", code="Tab", windowsVirtualKeyCode=9)
    await browser.send(
        "Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r"
    )
    await browser.wait_for("location.hash.startsWith('#/jobs/')")
