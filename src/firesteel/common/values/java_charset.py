"""Encoding and decoding of text as in Java: malformed bytes and unmappable characters are replaced."""

from __future__ import annotations

import codecs
from collections.abc import Callable

AS_JAVA = "firesteel-java"
"""The error handler that replaces malformed bytes as Java's decoders do."""

_REPLACEMENT = "\ufffd"


def _replace_as_java(error: UnicodeError) -> tuple[str, int]:
    """Replace malformed bytes by one U+FFFD and skip as many bytes as Java's decoders do.

    Java treats an encoded surrogate as one malformed character. In UTF-16 it drops the two bytes after a high surrogate
    together with it. Python replaces individual bytes and code units.
    """
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data, start, end = error.object, error.start, error.end
    if error.encoding == "utf-8" and data[start] == 0xED and data[start + 1 : start + 2] >= b"\xa0":
        end = start + 1
        while end < min(start + 3, len(data)) and data[end] & 0xC0 == 0x80:
            end += 1
    elif error.encoding.startswith("utf-16") and len(data) >= start + 4:
        high = data[start + 1] if error.encoding.endswith("le") else data[start]
        end = start + 4 if 0xD8 <= high <= 0xDB else end
    return _REPLACEMENT, max(end, start + 1)


codecs.register_error(AS_JAVA, _replace_as_java)

BYTE_ORDER_MARKS = {
    "utf-16": ((codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF16_LE, "utf-16-le"), (b"", "utf-16-be")),
    "utf-32": ((codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF32_LE, "utf-32-le"), (b"", "utf-32-be")),
    "utf-32-be": ((codecs.BOM_UTF32_BE, "utf-32-be"),),
    "utf-32-le": ((codecs.BOM_UTF32_LE, "utf-32-le"),),
}
"""The byte order marks that Java skips, with the byte order that each one indicates; big endian without one."""


def java_decoder(charset: str) -> Callable[[bytes], str]:
    r"""Return the function that decodes as `new String(bytes, charset)` does.

    Raises:
        LookupError: the charset is unknown.

    Example:
        >>> java_decoder("UTF-8")(b"a\xff")
        'a\ufffd'
    """
    name = codecs.lookup(charset).name
    marks = BYTE_ORDER_MARKS.get(name)
    if marks is None:
        return lambda data: data.decode(name, AS_JAVA)

    def decode(data: bytes) -> str:
        mark, order = next(((m, o) for m, o in marks if data.startswith(m)), (b"", name))
        return data[len(mark) :].decode(order, AS_JAVA)

    return decode


def java_encoder(charset: str) -> Callable[[str], bytes]:
    r"""Return the function that encodes as `String.getBytes(charset)` does.

    Raises:
        LookupError: the charset is unknown.

    Example:
        >>> java_encoder("UTF-16")("a")
        b'\xfe\xff\x00a'
    """
    name = codecs.lookup(charset).name
    if name == "utf-16":
        return lambda text: codecs.BOM_UTF16_BE + text.encode("utf-16-be", "replace")
    return lambda text: text.encode("utf-32-be" if name == "utf-32" else name, "replace")
