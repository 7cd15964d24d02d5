"""A change of the messages between processes is noticed, as a rolling upgrade depends on it."""

from __future__ import annotations

from firesteel.runtime.rpc.channel import PROTOCOL_VERSION
from tests.runtime.rpc import messages


def test_the_messages_are_those_of_the_version_of_the_protocol() -> None:
    advice = f"messages between processes have changed. {messages.__doc__}"
    assert messages.recorded()[str(PROTOCOL_VERSION)] == messages.digest(), advice


def test_messages_are_found_through_those_that_name_them() -> None:
    found = messages.described()
    assert "resource_profile: ResourceProfile" in found["TaskSlotRequest"]
    assert any(call.startswith("submit_task(") for call in found["TaskExecutorGateway"])
    assert "CANCELING" in found["ExecutionState"]
