"""The REST reference, written from the table of routes that the server answers from."""

from __future__ import annotations

from typing import Any

from firesteel.rest.openapi import openapi_document
from firesteel.rest.server import ROUTES

__all__ = ["rest_reference"]

_METHODS = ("get", "post", "put", "patch", "delete")


def rest_reference() -> str:
    """Return a section of Markdown per group of endpoints, one table each."""
    roles = {(route.path, route.method.lower()): route.role for route in ROUTES}
    groups: dict[str, list[str]] = {}
    for path, operations in openapi_document(ROUTES)["paths"].items():
        for method in _METHODS:
            if method in operations:
                row = _row(path, method, operations[method], roles[path, method])
                groups.setdefault(operations[method]["tags"][0], []).append(row)
    return "\n".join(_section(tag, rows) for tag, rows in sorted(groups.items()))


def _section(tag: str, rows: list[str]) -> str:
    head = "| method | path | role | parameters | answer |\n|---|---|---|---|---|\n"
    return f"### `/{'' if tag == 'dashboard' else tag}`\n\n{head}" + "\n".join(sorted(rows)) + "\n"


def _row(path: str, method: str, operation: dict[str, Any], role: str) -> str:
    query = [_field(one["name"], one["schema"]) for one in operation["parameters"] if one["in"] == "query"]
    path_text = f"<code>{path.replace('/', '/<wbr>')}</code>"
    parameters = "<br>".join([*query, *_body(operation)])
    cells = (method.upper(), path_text, role, parameters, _answer(operation))
    return f"| {' | '.join(cells)} |"


def _field(name: str, schema: dict[str, Any]) -> str:
    kind = schema["type"] if isinstance(schema["type"], str) else schema["type"][0]
    choices = [str(one) for one in schema.get("enum", ()) if one is not None]
    return f"`{name}`: {' or '.join(choices) if choices else kind}"


def _body(operation: dict[str, Any]) -> list[str]:
    lines = []
    for content_type, content in operation.get("requestBody", {}).get("content", {}).items():
        fields = [_field(name, schema) for name, schema in content["schema"]["properties"].items()]
        lines += [f"body, {content_type.split('/')[1]}:", *fields]
    return lines


def _answer(operation: dict[str, Any]) -> str:
    status, response = next((code, one) for code, one in operation["responses"].items() if code != "default")
    content_type = next(iter(response["content"]))
    return status if content_type == "application/json" else f"{status}, {content_type}"
