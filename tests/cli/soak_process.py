"""`firesteel`, with a count of the Python objects in its process: `soak_process.py <file> <arguments of firesteel>`.

Each line of the file is a JSON object: the numbers of objects by type, of the most frequent types.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from collections import Counter

PAUSE_S = 60
_TYPES = 40


def count(path: str) -> None:
    """Write the counts without end."""
    while True:
        counts = Counter(type(found).__qualname__ for found in gc.get_objects())
        with open(path, "a") as file:
            print(json.dumps({"all": counts.total(), **dict(counts.most_common(_TYPES))}), file=file)
        time.sleep(PAUSE_S)


if __name__ == "__main__":
    path = sys.argv.pop(1)
    threading.Thread(target=count, args=(path,), daemon=True).start()
    from firesteel.cli import main
    from firesteel.common.parent_process import die_with_parent

    die_with_parent()
    main()
