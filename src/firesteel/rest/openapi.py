"""The OpenAPI document of the API, generated from the table of routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from firesteel.rest.cluster_handlers import FLINK_VERSION
from firesteel.rest.routes import Call, Route

_ID = {"type": "string", "pattern": "^[0-9a-fA-F]{32}$"}
_NUMBER = {"type": "integer", "minimum": 0}
_PATH_SCHEMAS: dict[str, object] = {
    **dict.fromkeys(("jobid", "vertexid", "applicationid", "triggerid"), _ID),
    **dict.fromkeys(("subtaskindex", "attempt", "checkpointid"), _NUMBER),
}
"""Schemas of path parameters; other parameters are any text."""

_SECURITY = "bearer"
_ERRORS = {
    "description": "What was asked, what was found, what is allowed.",
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {"errors": {"type": "array", "items": {"type": "string"}}},
                "required": ["errors"],
            }
        }
    },
}


def openapi_route(routes: Iterable[Route]) -> Route:
    """Return the endpoint that serves the document of routes."""
    document = openapi_document(routes)

    async def answer(call: Call) -> Any:
        return document

    return Route("GET", "/openapi.json", answer)


def openapi_document(routes: Iterable[Route]) -> dict[str, object]:
    """Return the OpenAPI 3.1 document of routes."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    description = "Flink's REST API, as firesteel serves it. Everything is also under /v1."
    return {
        "openapi": "3.1.0",
        "info": {"title": "firesteel", "version": FLINK_VERSION, "description": description},
        "paths": paths,
        "components": {
            "securitySchemes": {_SECURITY: {"type": "http", "scheme": "bearer"}},
            "responses": {"Errors": _ERRORS},
        },
    }


def _operation(route: Route) -> dict[str, object]:
    names = re.findall(r"\{(\w+)\}", route.path)
    words = re.findall(r"\w+", route.path.replace("-", "_")) or ["dashboard"]
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": _PATH_SCHEMAS.get(name, {"type": "string"})}
        for name in names
    ]
    parameters += [{"name": name, "in": "query", "schema": schema} for name, schema in route.query.items()]
    operation: dict[str, Any] = {
        "operationId": "_".join([route.method.lower(), *words]),
        "tags": [words[0]],
        "description": f"Needs the role {route.role!r} where tokens are configured.",
        "security": [{}, {_SECURITY: []}],
        "parameters": parameters,
        "responses": {
            str(route.status): {"description": "The answer.", "content": {route.produces: {"schema": _answer(route)}}},
            "default": {"$ref": "#/components/responses/Errors"},
        },
    }
    if route.body:
        operation["requestBody"] = {"content": {route.consumes: {"schema": _body(route)}}}
    return operation


def _answer(route: Route) -> dict[str, Any]:
    return {"type": ["object", "array"]} if route.produces == "application/json" else {"type": "string"}


def _body(route: Route) -> dict[str, object]:
    """Return the schema of the body; fields are nullable, because clients send null for omitted ones."""
    properties = {
        name: {**schema, "type": [schema["type"], "null"]}
        | ({"enum": [*schema["enum"], None]} if "enum" in schema else {})
        for name, schema in route.body.items()
    }
    return {"type": "object", "properties": properties}
