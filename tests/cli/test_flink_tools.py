"""Flink's own command line and dashboard, unmodified, on a cluster of ours: `make flink-tools`."""

from __future__ import annotations

import asyncio
import json
import mimetypes
import os
import re
import subprocess
import urllib.request
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from tests.cli.session import JobManager, Tail, firesteel
from tests.rest.browser import Browser
from tests.spark.standalone_spark import _free_port
from tests.waiting import wait_for

FLINK_HOME = Path(os.environ.get("FLINK_HOME", ""))

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif("FLINK_HOME" not in os.environ, reason="no Flink: `make flink-tools` gets it, and runs this"),
]

TABS = ("overview", "exceptions", "dataskew", "timeline", "checkpoints", "configuration")
VERTEX_TABS = (
    "detail",
    "subtasks",
    "taskmanagers",
    "watermarks",
    "accumulators",
    "backpressure",
    "metrics",
    "flamegraph",
)
JOB_MANAGER_TABS = ("metrics", "config", "logs", "log", "thread-dump", "profiler")
TASK_MANAGER_TABS = ("metrics", "logs", "log-list", "thread-dump", "profiler")
PAGES = ("overview", "job/running", "job/completed", "application/running", "application/completed", "task-manager")
NOTICES = "[...document.querySelectorAll('.ant-notification-notice')].map(notice => notice.innerText).join('; ')"


def submitted(cluster: JobManager, tail: Tail, *options: str) -> str:
    said = firesteel("run", "-d", "-m", cluster.address, *options, *tail.arguments).stdout
    return said.split("JobID ")[1].split()[0]


def test_the_verbs_of_flinks_command_line(tmp_path: Path, jobmanagers: Callable[..., JobManager]) -> None:
    tail, cluster = Tail(tmp_path), jobmanagers()
    savepoints = str(tmp_path / "savepoints")
    token = cluster.token_file.read_text().split()[0]  # Requests that name a path need it.
    headers = f"Authorization:Bearer {token}"
    environment = {**os.environ, "FLINK_LOG_DIR": str(tmp_path), "FLINK_REST_CLIENT_HEADERS": headers}

    def flink(verb: str, *arguments: str, code: int = 0) -> str:
        command = [str(FLINK_HOME / "bin" / "flink"), verb, "-m", cluster.address, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def path_in(said: str) -> str:
        return re.findall(rf"{re.escape(savepoints)}/savepoint-\w+-\w+", said)[0]

    tail.write("1", "a", "b")
    job_id = submitted(cluster, tail)
    wait_for(lambda: tail.lines().total() == 2)
    assert f"{job_id} : tail (RUNNING)" in flink("list")
    first = path_in(flink("savepoint", job_id, savepoints))
    assert f"for job {job_id} completed" in flink("checkpoint", job_id)
    assert f"for job {job_id} completed" in flink("checkpoint", "--full", job_id)
    flink("savepoint", "-d", first)
    assert not Path(first).exists()
    assert "there is no _metadata file in it" in flink("savepoint", "-d", first, code=1)
    second = path_in(flink("stop", "-p", savepoints, job_id))
    assert f"{job_id} : tail (FINISHED)" in flink("list", "-a")
    job_id = submitted(cluster, tail, "-s", second)
    wait_for(lambda: f"{job_id} : tail (RUNNING)" in flink("list", "-r"))
    assert (Path(path_in(flink("cancel", "-s", savepoints, job_id))) / "_metadata").exists()
    wait_for(lambda: f"{job_id} : tail (CANCELED)" in flink("list", "-a"))
    job_id = submitted(cluster, tail)
    wait_for(lambda: f"{job_id} : tail (RUNNING)" in flink("list", "-r"))
    flink("cancel", job_id)
    assert f"Job {'0' * 32} not found" in flink("cancel", "0" * 32, code=1)


class FlinkDashboard:
    """Serves the dashboard's files out of Flink's jar; all else is answered by the cluster."""

    def __init__(self, address: str) -> None:
        (jar,) = (FLINK_HOME / "lib").glob("flink-dist-*.jar")
        self._files = zipfile.ZipFile(jar)
        self._names = set(self._files.namelist())
        self._address = address
        self.failed: list[str] = []

    async def start(self) -> str:
        self._session = aiohttp.ClientSession()
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _answer(self, request: web.Request) -> web.Response:
        name = "web" + (request.path if request.path != "/" else "/index.html")
        if name in self._names:
            return web.Response(body=self._files.read(name), content_type=mimetypes.guess_type(name)[0])
        url = f"http://{self._address}{request.raw_path}"
        # As reverse proxies do: what the browser says of the page that asks goes along, with the name of this server.
        data = await request.read()
        async with self._session.request(request.method, url, data=data, headers=request.headers) as answer:
            if answer.status >= 400:
                self.failed.append(f"{request.method} {request.raw_path}: {answer.status}")
            return web.Response(body=await answer.read(), status=answer.status, content_type=answer.content_type)

    async def get(self, path: str) -> Any:
        async with self._session.get(f"http://{self._address}{path}") as answer:
            return await answer.json()

    async def stop(self) -> None:
        await self._runner.cleanup()
        await self._session.close()


async def test_flinks_dashboard(tmp_path: Path, jobmanagers: Callable[..., JobManager]) -> None:
    flame_graphs = {"rest.flamegraph.enabled": "true", "rest.flamegraph.num-samples": "10"}
    tail, cluster = Tail(tmp_path), jobmanagers(**flame_graphs)
    tail.write("1", "a", "b")
    job_id = submitted(cluster, tail)
    wait_for(lambda: tail.lines().total() == 2)
    dashboard, browser = FlinkDashboard(cluster.address), Browser(tmp_path / "browser")
    address = await dashboard.start()
    await browser.start()
    vertex = (await dashboard.get(f"/jobs/{job_id}"))["vertices"][-1]["id"]
    (task_manager,) = [one["id"] for one in (await dashboard.get("/taskmanagers"))["taskmanagers"]]
    await browser.open(f"{address}/#/overview")
    await browser.wait_for("document.body.innerText.includes('SingleJobApplication(tail)')")
    job = f"job/running/{job_id}"
    pages = [
        *PAGES,
        *(f"{job}/{tab}" for tab in TABS),
        *(f"{job}/overview/{vertex}/{tab}" for tab in VERTEX_TABS),
        *(f"job-manager/{tab}" for tab in JOB_MANAGER_TABS),
        *(f"task-manager/{task_manager}/{tab}" for tab in TASK_MANAGER_TABS),
        f"application/running/{job_id}/overview",
        f"application/running/{job_id}/exceptions",
    ]
    for page in pages:
        await browser.run(f"location.hash = {json.dumps(f'#/{page}')}")
        await asyncio.sleep(1)
        assert await browser.run("location.hash") == f"#/{page}"
        assert (await browser.run(NOTICES), dashboard.failed, browser.errors) == ("", [], []), page
    await browser.run(f"location.hash = '#/{job}/overview/{vertex}/flamegraph'")
    await browser.wait_for("!!document.querySelector('svg.d3-flame-graph .frame')")
    await browser.run(f"location.hash = '#/{job}/checkpoints'")
    await browser.wait_for("document.querySelectorAll('.ant-table-row-expand-icon').length > 1")
    await browser.run("[...document.querySelectorAll('.ant-table-row-expand-icon')].at(-1).click()")
    await browser.wait_for("document.body.innerText.includes('Unaligned Checkpoint')")
    await browser.run("[...document.querySelectorAll('a')].find(a => a.innerText.trim() == 'Cancel Job').click()")
    await browser.wait_for("!!document.querySelector('.ant-popover .ant-btn-primary, .ant-modal .ant-btn-primary')")
    await browser.run("document.querySelector('.ant-popover .ant-btn-primary, .ant-modal .ant-btn-primary').click()")
    async with asyncio.timeout(30):
        while (await dashboard.get(f"/jobs/{job_id}/status"))["status"] != "CANCELED":  # noqa: ASYNC110
            await asyncio.sleep(0.2)
    assert (dashboard.failed, browser.errors) == ([], [])
    await browser.stop()
    await dashboard.stop()


def test_flinks_history_server_reads_archives(tmp_path: Path, jobmanagers: Callable[..., JobManager]) -> None:
    archives, conf, web = tmp_path / "archives", tmp_path / "conf", tmp_path / "web"
    tail, cluster = Tail(tmp_path), jobmanagers(**{"jobmanager.archive.fs.dir": str(archives)})
    job_id, port = submitted(cluster, tail), _free_port()
    firesteel("cancel", "-m", cluster.address, job_id)
    wait_for(lambda: (archives / job_id).exists())
    conf.mkdir()
    web.mkdir()
    (conf / "config.yaml").write_text(
        f"historyserver.archive.fs.dir: {archives.as_uri()}\nhistoryserver.archive.fs.refresh-interval: 1000\n"
        f"historyserver.web.port: {port}\nhistoryserver.web.tmpdir: {web}\n"
    )
    main = "org.apache.flink.runtime.webmonitor.history.HistoryServer"
    command = ["java", "-Xmx256m", "-cp", f"{FLINK_HOME}/lib/*", main, "--configDir", str(conf)]

    def answer(path: str) -> Any:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as found:
                return json.load(found)
        except OSError:
            return None

    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            wait_for(lambda: (answer("/jobs/overview") or {}).get("jobs"))
            assert [job["jid"] for job in answer("/jobs/overview")["jobs"]] == [job_id]
            assert answer(f"/jobs/{job_id}")["state"] == "CANCELED"
        finally:
            server.kill()
