"""What processes of a cluster send one another, as a digest: `python -m tests.runtime.rpc.messages` records it anew.

A process of the former release reads the messages of this one in a rolling upgrade. If a call, an argument or a field
of a message changes, decide whether it still can: a field that is added at the end, or a call that the former release
never makes, does no harm. Otherwise raise `PROTOCOL_VERSION`. Then record the digest.
"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import inspect
import json
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firesteel.runtime.dispatcher.dispatcher_gateway import DispatcherGateway
from firesteel.runtime.highavailability.leader_directory import LeaderDirectoryGateway
from firesteel.runtime.jobmaster.job_master_gateway import JobMasterGateway
from firesteel.runtime.resourcemanager.resource_manager_gateway import ResourceManagerGateway
from firesteel.runtime.rpc.channel import PROTOCOL_VERSION
from firesteel.runtime.rpc.rpc_service import RpcCall
from firesteel.runtime.taskexecutor.task_executor_gateway import TaskExecutorGateway

RECORD = Path(__file__).with_name("messages.json")
GATEWAYS = (DispatcherGateway, JobMasterGateway, LeaderDirectoryGateway, ResourceManagerGateway, TaskExecutorGateway)


def described() -> dict[str, list[str]]:
    """Return the calls of all gateways, and the fields of all classes that they name."""
    found: dict[str, list[str]] = {}
    waiting: list[type] = [RpcCall]
    for gateway in GATEWAYS:
        calls = [(name, call) for name, call in vars(gateway).items() if inspect.isfunction(call) and name[0] != "_"]
        found[gateway.__name__] = [f"{name}{inspect.signature(call)}" for name, call in calls]
        for _, call in calls:
            waiting += classes_in(*typing.get_type_hints(call).values())
    while waiting:
        one = waiting.pop()
        if one.__qualname__ not in found:
            found[one.__qualname__] = fields_of(one)
            if dataclasses.is_dataclass(one):
                waiting += classes_in(*hints_of(one).values())
    return dict(sorted(found.items()))


def hints_of(one: type) -> dict[str, Any]:
    """Return the types of the fields of a class; of one whose types are imported for checkers only, none."""
    try:
        return typing.get_type_hints(one)
    except NameError:
        return {}


def fields_of(one: type) -> list[str]:
    """Return the fields of a dataclass, or the members of an enumeration."""
    if issubclass(one, enum.Enum):
        return [member.name for member in one]
    return [f"{field.name}: {field.type}" for field in dataclasses.fields(one)] if dataclasses.is_dataclass(one) else []


def classes_in(*types: Any) -> Iterator[type]:
    """Yield firesteel's own classes in types."""
    for one in types:
        if inspect.isclass(one) and one.__module__.startswith("firesteel."):
            yield one
        yield from classes_in(*typing.get_args(one))


def digest() -> str:
    """Return what changes with the messages."""
    return hashlib.sha256(json.dumps(described()).encode()).hexdigest()


def recorded() -> dict[str, str]:
    """Return the recorded digest of each version of the protocol."""
    found: dict[str, str] = json.loads(RECORD.read_text())
    return found


if __name__ == "__main__":
    versions = recorded() if RECORD.exists() else {}
    RECORD.write_text(json.dumps(versions | {str(PROTOCOL_VERSION): digest()}, indent=2) + "\n")
