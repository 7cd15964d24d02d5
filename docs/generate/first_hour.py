"""Pictures of the page "First hour": terminals and pages of the dashboard as they are today.

`make pictures` draws them: it runs each command in a pseudo terminal, and a session cluster whose pages Chromium shows.
"""

from __future__ import annotations

import asyncio
import base64
import re
import shlex
import signal
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

from docs.generate.hooks import ROOT
from tests.cli.session import JobManager, firesteel
from tests.cli.terminal import Terminal
from tests.rest.browser import Browser

IMAGES = ROOT / "docs" / "images"
COLUMNS, LINES = 96, 22
COMMANDS = {
    "hour_run.svg": "firesteel run -p 2 fraud_alert.py",
    "hour_error.svg": "firesteel run -q broken.py",
    "hour_plan.svg": "firesteel plan job -p 2 fraud_alert.py",
    "hour_check.svg": "firesteel check pyflink_clicks.py",
}
"""Picture -> the command that it shows, run among the examples."""

BROKEN = """from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment


def parse(line):
    word, count = line.split(",")
    return word, int(count)


env = StreamExecutionEnvironment.get_execution_environment()
lines = env.from_collection(["to,2", "be,two"], Types.STRING())
lines.map(parse, Types.TUPLE([Types.STRING(), Types.INT()])).print()
env.execute("broken")
"""
TABLE = (
    "CREATE TABLE clicks (page INT, ms INT) WITH ('connector' = 'datagen', 'rows-per-second' = '500', "
    "'fields.page.min' = '1', 'fields.page.max' = '12', 'fields.ms.min' = '1', 'fields.ms.max' = '900');"
)
QUERY = "SELECT page, COUNT(*) AS clicks, AVG(ms) AS mean_ms, MAX(ms) AS most_ms FROM clicks GROUP BY page;"
RUNNING = f"{TABLE} CREATE TABLE pages (page INT, clicks BIGINT) WITH ('connector' = 'blackhole');"
RUNNING += " SET 'pipeline.name' = 'clicks by page'; INSERT INTO pages SELECT page, COUNT(*) FROM clicks GROUP BY page;"
_MOVES = re.compile(r"(\x1b\[(?:H|2K|1A|\?\d+[hl])|\x1b\[\d*J|[\r\n])")
_FONT = re.compile(r"@font-face \{.*?\}", re.DOTALL)
_PAGE_PIXELS, _PHONE_PIXELS = 1100, 400


def command_of(text: str) -> list[str]:
    """Return the command line that runs a command of firesteel in this environment."""
    return [sys.executable, "-m", *shlex.split(text)]


def last_screen(printed: str) -> str:
    """Return what a terminal shows in the end, of output that erases lines as rich does, and writes them anew."""
    lines, row = [""], 0
    for part in _MOVES.split(printed):
        if part == "\x1b[H":
            lines, row = [""], 0
        elif part == "\x1b[1A":
            row -= 1
        elif part == "\x1b[2K":
            lines[row] = ""
        elif part == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif not _MOVES.fullmatch(part):
            lines[row] += part
    return "\n".join(lines).rstrip()


def svg_of(name: str, title: str, screen: str) -> str:
    """Return the picture of a terminal, without fonts from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi(screen), soft_wrap=False)
    return _FONT.sub("", console.export_svg(title=title, unique_id=name.removesuffix(".svg")))


def picture_of(name: str, directory: Path) -> str:
    """Return the picture of a command that ends by itself, run in this directory."""
    terminal = Terminal(["env", "-C", str(directory), *command_of(COMMANDS[name])], LINES, COLUMNS)
    terminal.close()
    screen = last_screen(terminal.printed).replace(str(directory), "~/examples")
    return svg_of(name, COMMANDS[name], f"$ {COMMANDS[name]}\n{screen}")


def draw_query(directory: Path) -> None:
    """Draw a query in the result mode `table`."""
    command = "firesteel sql --result-mode table"
    terminal = Terminal(command_of(command), LINES, COLUMNS, XDG_STATE_HOME=str(directory))
    terminal.wait_for("firesteel SQL>")
    terminal.type(f"{TABLE}\r")
    terminal.wait_for("succeeded.")
    terminal.type(f"{QUERY}\r")
    terminal.wait_for(" 12 rows running")
    terminal.type("22\x1b[B")
    terminal.wait_for("clicks ▼")
    terminal.wait_for("clicks ▼")
    (IMAGES / "hour_sql.svg").write_text(svg_of("hour_sql.svg", command, last_screen(whole_frames(terminal.printed))))
    terminal.type("q")
    terminal.wait_for("changes")
    terminal.type("QUIT;\r")
    terminal.close()


def whole_frames(printed: str) -> str:
    """Return the output without its last frame, which may not have arrived as a whole."""
    return printed.rpartition("\x1b[H")[0]


async def draw_dashboard(directory: Path) -> None:
    """Draw the page of a running job, for a wide window and for a telephone at night."""
    manager = JobManager(directory, **{"taskmanager.numberOfTaskSlots": "2"})
    browser = Browser(directory / "profile")
    try:
        address = manager.address
        firesteel("sql", "-m", address, "-D", "parallelism.default=2", "-e", RUNNING)
        await browser.start()
        job = "document.querySelector('a[href^=\"#/jobs/\"]')"
        await browser.open(f"http://{address}/", _PAGE_PIXELS)
        await browser.wait_for(f"{job} !== null")
        page = await browser.run(f"{job}.href")
        await asyncio.sleep(40)  # so that the charts have a few points
        for name, width, is_dark in (("hour_job.webp", _PAGE_PIXELS, False), ("hour_phone.webp", _PHONE_PIXELS, True)):
            await browser.open(page, width, is_dark)
            await browser.wait_for("document.querySelectorAll('.charts svg').length > 2")
            clip = {"x": 0, "y": 0, "width": width, "height": 900, "scale": 1}
            found = await browser.send("Page.captureScreenshot", format="webp", quality=90, clip=clip)
            (IMAGES / name).write_bytes(base64.b64decode(found["data"]))
    finally:
        await browser.stop()
        manager.end(signal.SIGTERM)


def main() -> None:
    """Draw all pictures."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        firesteel("examples", str(directory / "examples"))
        (directory / "examples" / "broken.py").write_text(BROKEN)
        for picture in COMMANDS:
            (IMAGES / picture).write_text(picture_of(picture, directory / "examples"))
        draw_query(directory)
        asyncio.run(draw_dashboard(directory))


if __name__ == "__main__":
    main()
