"""The dashboard's pages, and its endpoints beyond Flink's API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firesteel.rest.routes import Call, Route, Text

_DIRECTORY = Path(__file__).parent / "dashboard"
_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def _file(name: str) -> Any:
    path = _DIRECTORY / name

    async def answer(call: Call) -> Any:
        return Text(path.read_text(), _TYPES[path.suffix])

    return answer


async def _slots(call: Call) -> Any:
    """Return the subtasks of a job by TaskManager and slot."""
    job = await call.cluster.job(call.path["jobid"])
    places: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for vertex in job.graph.get("vertices", ()):
        for index, subtask in enumerate(vertex["subtasks"]):
            if subtask["task_manager"] is not None and subtask["slot"] is not None:
                named = {"name": vertex["name"], "subtask": index, "parallelism": vertex["parallelism"]}
                slot = places.setdefault(subtask["task_manager"], {}).setdefault(subtask["slot"], [])
                slot.append(named | {"vertex": vertex["id"], "status": subtask["state"]})
    return {
        "taskmanagers": [
            {"id": task_manager, "slots": [{"id": slot, "subtasks": subtasks} for slot, subtasks in slots.items()]}
            for task_manager, slots in places.items()
        ]
    }


ROUTES = (
    Route("GET", "/", _file("index.html"), produces="text/html"),
    Route("GET", "/dashboard/style.css", _file("style.css"), produces="text/css"),
    Route("GET", "/dashboard/app.js", _file("app.js"), produces="text/javascript"),
    Route("GET", "/firesteel/jobs/{jobid}/slots", _slots),
)
