"""A headless Chromium, driven over its debugging protocol."""

from __future__ import annotations

import asyncio
import base64
import itertools
from pathlib import Path
from typing import Any

import aiohttp


class Browser:
    """One page of a headless Chromium; `errors` contains its console errors."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self.errors: list[str] = []

    async def start(self) -> None:
        arguments = ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0")
        self._process = await asyncio.create_subprocess_exec(
            "chromium",
            *arguments,
            f"--user-data-dir={self._directory}",
            "about:blank",
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        ports = self._directory / "DevToolsActivePort"
        async with asyncio.timeout(30):
            while not ports.exists() or not ports.read_text():  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        port = ports.read_text().splitlines()[0]
        self._session = aiohttp.ClientSession()
        async with self._session.get(f"http://127.0.0.1:{port}/json") as answer:
            (page,) = [entry for entry in await answer.json() if entry["type"] == "page"]
        self._socket = await self._session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0)
        self._reader = asyncio.ensure_future(self._read())
        for domain in ("Page", "Runtime", "Log"):
            await self.send(f"{domain}.enable")

    async def _read(self) -> None:
        async for message in self._socket:
            event = message.json()
            if event.get("id") in self._answers:
                self._answers.pop(event["id"]).set_result(event)
            elif event.get("method") == "Runtime.exceptionThrown":
                self.errors.append(str(event["params"]["exceptionDetails"]))
            elif event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] == "error":
                self.errors.append(event["params"]["entry"]["text"])
            elif event.get("method") == "Page.javascriptDialogOpening":
                self._accepting = asyncio.ensure_future(self.send("Page.handleJavaScriptDialog", accept=True))

    async def send(self, method: str, **parameters: Any) -> Any:
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json({"id": number, "method": method, "params": parameters})
        answer = await asyncio.wait_for(self._answers[number] if number in self._answers else asyncio.sleep(0), 30)
        return answer.get("result", {})

    async def run(self, expression: str) -> Any:
        """The value of a JavaScript expression."""
        answer = await self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return answer["result"].get("value")

    async def open(self, address: str, width: int = 1600, dark: bool = False) -> None:
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
        await self.send("Emulation.setDeviceMetricsOverride", **size)
        scheme = "dark" if dark else "light"
        await self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        await self.send("Page.navigate", url=address)

    async def wait_for(self, expression: str) -> Any:
        for _ in range(200):
            found = await self.run(expression)
            if found:
                return found
            await asyncio.sleep(0.05)
        text = await self.run("document.body.innerText")
        raise AssertionError(f"{expression} did not come true; the page says: {text}")

    async def screenshot(self) -> bytes:
        answer = await self.send("Page.captureScreenshot", captureBeyondViewport=True)
        return base64.b64decode(answer["data"])

    async def stop(self) -> None:
        self._reader.cancel()
        await self._socket.close()
        await self._session.close()
        self._process.kill()
        await self._process.wait()
