"""Records what PyFlink's coders make of each value as each type. It runs with PyFlink's Python.

Each case has a process of its own, as some end with a segmentation fault.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[2]))

from pyflink.fn_execution.coders import from_type_info  # noqa: E402

from tests.flink_recordings.coders.matrix import TYPES, VALUES  # noqa: E402


def main() -> None:
    found = {kind: {name: _decoded(TYPES[kind], value) for name, value in VALUES.items()} for kind in TYPES}
    (HERE / "recorded.json").write_text(json.dumps(found, indent=0))


def _decoded(kind: Any, value: Any) -> str | None:
    """Return the representation of a value after it was written and read; None for an error."""
    reader, writer = os.pipe()
    if not os.fork():
        try:
            coder = from_type_info(kind).get_impl()
            os.write(writer, repr(coder.decode(coder.encode(value))).encode())
        finally:  # also after an error
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        text = file.read().decode()
    os.wait()
    return text or None


if __name__ == "__main__":
    main()
