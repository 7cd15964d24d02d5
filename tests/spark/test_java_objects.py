from __future__ import annotations

import gc
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.java_collections import JavaList, JavaMap, JavaSet
from py4j.java_gateway import JavaObject

from firesteel.spark.java_objects import release_java_objects_at_once

pytestmark = pytest.mark.libraries


class Client:
    """A gateway without a JVM."""

    address, port = "127.0.0.1", 1
    converters: tuple[Any, ...] = ()
    gateway_property = SimpleNamespace(auto_field=False, enable_memory_management=True, pool=None)

    def __init__(self) -> None:
        self.released: list[str] = []
        self.is_connected = True

    def garbage_collect_object(self, target_id: str) -> None:
        self.released.append(target_id)


@pytest.fixture
def without_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("without_collections")
@pytest.mark.parametrize("kind", [JavaObject, JavaList, JavaMap, JavaSet])
def test_java_object_goes_with_its_last_reference(kind: Any) -> None:
    release_java_objects_at_once()
    client = Client()
    java_object = kind("o1", client)
    method = java_object.stream
    del java_object
    assert client.released == [], "its method still needs it"
    assert method.name == "stream"
    del method
    assert client.released == ["o1"]


def test_collections_keep_their_methods() -> None:
    release_java_objects_at_once()
    client = Client()
    assert JavaList("o1", client).java_remove.name == "remove"
    assert JavaMap("o1", client)._get.name == "get"
    assert [JavaSet("o1", client).__getattribute__(name).name for name in ("_add", "_clear", "_remove")] == [
        "add",
        "clear",
        "remove",
    ]
