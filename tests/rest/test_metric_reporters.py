"""Metrics are sent to a real PushGateway and by UDP, and wrong reporters are refused by name."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.rest.metric_reporters import reporters_of
from tests.rest.rest_cluster import Rest
from tests.rest.test_prometheus_scrape import _free_port
from tests.rest.test_server import running

pytestmark = pytest.mark.slow

PUSH = "org.apache.flink.metrics.prometheus.PrometheusPushGatewayReporterFactory"
STATSD = "org.apache.flink.metrics.statsd.StatsDReporterFactory"


def reporter(name: str, factory: str, **options: str) -> dict[str, str]:
    given = {"factory.class": factory, "interval": "50 ms", **options}
    return {f"metrics.reporter.{name}.{key}": value for key, value in given.items()}


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncIterator[str]:
    if shutil.which("prometheus-pushgateway") is None and not os.environ.get("FIRESTEEL_REQUIRE_PROMETHEUS"):
        pytest.skip("NO PUSHGATEWAY; install it: apt-get install prometheus-pushgateway")
    address = f"127.0.0.1:{_free_port()}"
    process = await asyncio.create_subprocess_exec(
        "prometheus-pushgateway", f"--web.listen-address={address}", "--log.level=error"
    )
    async with asyncio.timeout(20):
        while not await _text(f"http://{address}/metrics"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    yield f"http://{address}"
    process.terminate()
    await process.wait()


async def _text(url: str) -> str:
    async with aiohttp.ClientSession() as session:
        try:
            async with session.get(url) as answer:
                return await answer.text()
        except OSError:
            return ""


async def test_metrics_are_pushed_and_taken_back_at_the_end(make_rest: Callable[..., Any], gateway: str) -> None:
    options = reporter("push", PUSH, hostUrl=gateway, jobName="cluster", groupingKey="place=here")
    rest: Rest = await make_rest(**options)
    job_id = await running(rest)
    async with asyncio.timeout(20):
        while f'job_id="{job_id}"' not in (text := await _text(f"{gateway}/metrics")):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    [line] = [one for one in text.splitlines() if one.startswith("flink_jobmanager_numRegisteredTaskManagers{")]
    assert 'place="here"' in line
    assert 'job="cluster' in line
    await rest.server.stop()
    assert "flink_jobmanager" not in await _text(f"{gateway}/metrics")


async def test_gauges_are_sent_to_statsd(make_rest: Callable[..., Any]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as statsd:
        statsd.bind(("127.0.0.1", 0))
        statsd.setblocking(False)
        port = str(statsd.getsockname()[1])
        rest: Rest = await make_rest(**reporter("stsd", STATSD, host="127.0.0.1", port=port))
        job_id = await running(rest)
        found = ""
        async with asyncio.timeout(20):
            while f"flink_jobmanager_job_numRestarts.{job_id}.job:0|g" not in found:
                found += (await asyncio.get_running_loop().sock_recv(statsd, 1 << 16)).decode()
    assert "flink_jobmanager_numRegisteredTaskManagers:1|g\n" in found


async def test_a_gateway_that_is_away_holds_up_nothing(
    make_rest: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    rest: Rest = await make_rest(**reporter("push", PUSH, hostUrl=f"http://127.0.0.1:{_free_port()}"))
    async with asyncio.timeout(20):
        while "metrics could not be reported by 'push'" not in caplog.text:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    assert (await rest.get("/overview"))["taskmanagers"] == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            reporter("a", "com.example.Own"),
            r"reporter\.a\.factory\.class' is 'com\.example\.Own'; allowed: org\.apache",
        ),
        ({"metrics.reporter.a.interval": "1 s"}, r"reporter\.a\.factory\.class' is ''"),
        ({"metrics.reporters": "b"}, r"reporter\.b\.factory\.class' is ''"),
        (reporter("a", PUSH.replace("PushGateway", "")), "scrape /metrics of the JobManager's REST API"),
        (reporter("a", PUSH), r"hostUrl' is 'http://:', expected such as http://gateway:9091"),
        (reporter("a", PUSH, hostUrl="http://g:1", randomJobNameSuffix="false"), "jobName' is empty"),
        (reporter("a", PUSH, hostUrl="http://g:1", deleteOnShutdown="maybe"), "is 'maybe', expected true or false"),
        (reporter("a", STATSD, host="h"), "are 'h' and '', expected both"),
        (reporter("a", STATSD, host="h", port="70000"), "are 'h' and '70000', expected both"),
        (reporter("a", STATSD, host="h", port="1", scope="x"), r"reporter\.a\.scope' is not known; allowed: factory"),
        (reporter("a", STATSD, host="h", port="1", interval="often"), r"reporter\.a\.interval'"),
    ],
)
def test_wrong_reporters_are_refused_by_name(options: dict[str, str], problem: str) -> None:
    with pytest.raises(InvalidOptionError, match=problem):
        reporters_of(options)


def test_only_named_reporters_run() -> None:
    both = reporter("a", STATSD, host="h", port="1") | reporter("b", STATSD, host="h", port="1")
    assert [one.name for one in reporters_of(both)] == ["a", "b"]
    assert [one.name for one in reporters_of(both | {"metrics.reporters": "b"})] == ["b"]
