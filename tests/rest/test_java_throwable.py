from __future__ import annotations

import base64
import struct

from firesteel.rest.java_throwable import failure_cause, serialized_throwable
from firesteel.runtime.failure import TaskFailure
from tests.flink_recordings.recordings import recorded_answer


def test_the_classes_are_described_as_flink_describes_them() -> None:
    cause = recorded_answer("GET_savepoint_disposal_triggerid")["body"]["operation"]["failure-cause"]
    recorded = base64.b64decode(cause["serialized-throwable"])
    ours = serialized_throwable("X", "X: y")
    end_of_classes = recorded.index(b"xps") + 2
    assert ours[:end_of_classes] == recorded[:end_of_classes]


def test_texts_are_in_javas_utf_8() -> None:
    data = serialized_throwable("E", "a\0ä😀")
    expected = b"a\xc0\x80\xc3\xa4\xed\xa0\xbd\xed\xb8\x80"
    assert b"t" + struct.pack(">H", len(expected)) + expected in data


def test_long_texts_are_long_strings() -> None:
    text = "x" * 70_000
    assert b"|" + struct.pack(">Q", 70_000) + text.encode() in serialized_throwable("E", text)


def test_an_error_message_begins_with_the_users_operator() -> None:
    cause = failure_cause(TaskFailure("ValueError: bad", operator_name="Map", user_traceback="Traceback"))
    assert cause["class"] == "ValueError"
    assert cause["stack-trace"] == "operator 'Map' failed: ValueError: bad\nTraceback"
