"""Failures for Flink's clients: class, text, and a Java-serialized `SerializedThrowable`.

The bytes follow version 2 of Java's Object Serialization Stream Protocol: constant class descriptors, then the fields
of `Throwable` and of `SerializedThrowable`.
"""

from __future__ import annotations

import base64
import struct

from firesteel.runtime.failure import TaskFailure

_DESCRIPTORS = (
    b"\xac\xed\x00\x05sr\x00)org.apache.flink.util.SerializedThrowablee\x16\x9d\xf5\x1f\xa7\x13\xf3\x02\x00\x03"
    b"L\x00\x19fullStringifiedStackTracet\x00\x12Ljava/lang/String;"
    b"L\x00\x16originalErrorClassNameq\x00~\x00\x01[\x00\x13serializedExceptiont\x00\x02[B"
    b"xr\x00\x13java.lang.Exception\xd0\xfd\x1f>\x1a;\x1c\xc4\x02\x00\x00"
    b"xr\x00\x13java.lang.Throwable\xd5\xc65'9w\xb8\xcb\x03\x00\x04"
    b"L\x00\x05causet\x00\x15Ljava/lang/Throwable;L\x00\rdetailMessageq\x00~\x00\x01"
    b"[\x00\nstackTracet\x00\x1e[Ljava/lang/StackTraceElement;"
    b"L\x00\x14suppressedExceptionst\x00\x10Ljava/util/List;xp"
)
_NO_STACK_TRACE = b'ur\x00\x1e[Ljava.lang.StackTraceElement;\x02F*<<\xfd"9\x02\x00\x00xp\x00\x00\x00\x00'
_NO_SUPPRESSED = b"sr\x00\x1fjava.util.Collections$EmptyListz\xb8\x17\xb4<\xa7\x9e\xde\x02\x00\x00xp"
_NULL, _STRING, _LONG_STRING, _END_OF_THROWABLE = b"p", b"t", b"|", b"x"
_LONGEST_STRING = 0xFFFF


def failure_cause(failure: TaskFailure | BaseException) -> dict[str, str]:
    """Return the `failure-cause` of a response: `class`, `stack-trace` and `serialized-throwable` (base64)."""
    if isinstance(failure, TaskFailure):
        name, text = failure.message.split(":")[0], f"{failure}\n{failure.user_traceback or failure.details}".rstrip()
    else:
        name, text = type(failure).__name__, f"{type(failure).__name__}: {failure}"
    serialized = base64.b64encode(serialized_throwable(name, text)).decode()
    return {"class": name, "stack-trace": text, "serialized-throwable": serialized}


def serialized_throwable(class_name: str, text: str) -> bytes:
    """Return a serialized `org.apache.flink.util.SerializedThrowable` of an exception.

    Args:
        class_name: Class of the exception.
        text: Its stack trace.
    """
    first_line = text.split("\n", 1)[0]
    throwable = _NULL + _string(first_line) + _NO_STACK_TRACE + _NO_SUPPRESSED + _END_OF_THROWABLE
    return _DESCRIPTORS + throwable + _string(text) + _string(class_name) + _NULL


def _string(text: str) -> bytes:
    """Return a string in Java's modified UTF-8: surrogates are encoded individually, and there is no byte 0."""
    units = text.encode("utf-16-be", "surrogatepass")
    data = b"".join(
        chr(unit).encode("utf-8", "surrogatepass") if unit else b"\xc0\x80"
        for unit in struct.unpack(f">{len(units) // 2}H", units)
    )
    if len(data) <= _LONGEST_STRING:
        return _STRING + struct.pack(">H", len(data)) + data
    return _LONG_STRING + struct.pack(">Q", len(data)) + data
