"""The content of a request: a JSON object, and the files of an upload (Flink: `runtime.rest.FileUploadHandler`)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import BodyPartReader, web
from aiohttp.http_exceptions import HttpProcessingError

from firesteel.common.options.rest_options import REST_SERVER_MAX_CONCURRENT_UPLOADS, REST_SERVER_MAX_CONTENT_LENGTH
from firesteel.common.trust.message_proof import content_digest, form_digest
from firesteel.rest.proofs import check_content
from firesteel.rest.rest_errors import RestError

_MAX_JSON_BYTES = 1 << 20
_CHUNK_TIMEOUT_S = 30.0
_RETRY_AFTER_S = 1

Content = tuple[dict[str, Any], dict[str, bytes]]
"""A JSON object, and files by name."""


class RequestContent:
    """Reads the content of requests within limits: uploads may be large and slow, and are kept in memory.

    Args:
        configuration: Contains `rest.server.max-content-length` and `rest.server.max-concurrent-uploads`.

    Raises:
        InvalidOptionError: an option is invalid.
    """

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._max_bytes = REST_SERVER_MAX_CONTENT_LENGTH.of(configuration)
        self._at_once = REST_SERVER_MAX_CONCURRENT_UPLOADS.of(configuration)
        self._uploads = 0

    async def read(self, request: web.Request, takes_files: bool) -> Content:
        """Return the content of a request; Flink's clients send `{}` with a GET.

        Raises:
            RestError: the content is invalid (400), not what the sender has signed (401), too slow (408), too large
                (413) or of an unsupported type (415), or there are too many uploads (429).
        """
        encoding = request.headers.get("Content-Encoding", "identity")
        if encoding.lower() != "identity":
            # A few bytes can expand to gigabytes, and decompression would block the loop.
            raise RestError(415, f"the content is encoded with {encoding!r:.40}; allowed: identity")
        if not request.can_read_body:
            check_content(request, content_digest(b""))
            return {}, {}
        if not request.content_type.startswith("multipart/"):
            data = await self._beginning(request)
            check_content(request, content_digest(data))
            return _parsed(data), {}
        if not takes_files:
            raise RestError(415, f"{request.path} does not accept files: send application/json")
        self._check_size(request.content_length or 0)
        # Refused instead of queued: content is kept in memory, and a connection that waits takes a place of others.
        if self._uploads >= self._at_once:
            limit = REST_SERVER_MAX_CONCURRENT_UPLOADS
            message = f"{self._uploads} uploads are running, more are not allowed ({limit}); try again"
            raise RestError(429, message, retry_after_s=_RETRY_AFTER_S)
        self._uploads += 1
        try:
            return await self._parts(request)
        except TimeoutError:
            raise _too_slow() from None
        except (HttpProcessingError, ConnectionError, ValueError, LookupError, RuntimeError) as error:
            raise RestError(400, f"Bad request, cannot read the parts of the request: {error}") from None
        finally:
            self._uploads -= 1

    async def _beginning(self, request: web.Request) -> bytes:
        """Return the whole body, or more of it than the limit for JSON."""
        data = b""
        try:
            while len(data) <= _MAX_JSON_BYTES and (more := await _in_time(request.content.read(_MAX_JSON_BYTES + 1))):
                data += more
        except TimeoutError:
            raise _too_slow() from None
        return data

    async def _parts(self, request: web.Request) -> Content:
        body: dict[str, Any] = {}
        files: dict[str, bytes] = {}
        signed: list[tuple[str, str, str]] = []
        parts = await request.multipart()
        size = 0
        while (part := await _in_time(parts.next())) is not None:
            if not isinstance(part, BodyPartReader):
                raise ValueError("a part has parts of its own")
            data, digest = await self._part(part, size)
            size += len(data)
            signed.append((part.name or "", part.filename or "", digest))
            if part.name == "request":
                body = _parsed(data)
            else:
                # Use only the last component of a path as the name.
                files[(part.filename or part.name or "").replace("\\", "/").rsplit("/", 1)[-1]] = data
        check_content(request, form_digest(signed))
        return body, files

    async def _part(self, part: BodyPartReader, before: int) -> tuple[bytes, str]:
        """Return a whole part and its digest; it is read in chunks so that other requests are served in between."""
        chunks, size = [], before
        digest = hashlib.sha256()
        while chunk := await _in_time(part.read_chunk()):
            size += len(chunk)
            self._check_size(size)
            digest.update(chunk)
            chunks.append(chunk)
        return b"".join(chunks), digest.hexdigest()

    def _check_size(self, size: int) -> None:
        if size > self._max_bytes:
            raise RestError(
                413, f"the request is longer than {self._max_bytes} bytes ({REST_SERVER_MAX_CONTENT_LENGTH})"
            )


def _too_slow() -> RestError:
    return RestError(408, f"no more data of the request arrived for {_CHUNK_TIMEOUT_S:g} s")


async def _in_time(read: Any) -> Any:
    """Return what is read, with a timeout, so that a silent client does not block uploads of others."""
    async with asyncio.timeout(_CHUNK_TIMEOUT_S):
        return await read


def _parsed(data: bytes) -> dict[str, Any]:
    if len(data) > _MAX_JSON_BYTES:
        raise RestError(413, f"the request is longer than {_MAX_JSON_BYTES} bytes")
    if not data.strip():
        return {}
    try:
        body = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RestError(400, f"Request did not match expected format: not valid JSON: {error}") from None
    if not isinstance(body, dict):
        raise RestError(400, f"Request did not match expected format: expected an object, found {body!r:.80}")
    return body
