"""An S3 server (moto's) on a host of its own: `python -m tests.hosts.s3_server ADDRESS PORT FAULTS`.

FAULTS is a file that may be there, with JSON: `refused`, the share of requests that get 503, and `delay_s`, how long
each waits.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

_REFUSED = b"<Error><Code>ServiceUnavailable</Code><Message>Please try again</Message></Error>"


def main(address: str, port: str, faults: str) -> None:
    """Serve until killed."""
    inner = DomainDispatcherApplication(create_backend_app)

    def application(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        path = Path(faults)
        found = json.loads(path.read_text()) if path.exists() else {}
        time.sleep(found.get("delay_s", 0))
        if random.random() < found.get("refused", 0):
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start("503 Slow Down", [("Content-Type", "application/xml"), ("Content-Length", str(len(_REFUSED)))])
            return [_REFUSED]
        return inner(environ, start)  # type: ignore[no-any-return]

    make_server(address, int(port), application, threaded=True).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
