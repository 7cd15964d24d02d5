"""`python -m tests.simulation [--first N] [--seeds N] [--story] [--plane P]`: run seeds, one after the other."""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable

from tests.simulation.checkpoints.simulation import simulate as simulate_checkpoints
from tests.simulation.control_plane.simulation import simulate as simulate_control_plane
from tests.simulation.core.seed import Seed
from tests.simulation.data_plane.simulation import simulate as simulate_data_plane
from tests.simulation.state.simulation import simulate as simulate_state

PLANES: dict[str, Callable[[int], Seed]] = {
    "control_plane": simulate_control_plane,
    "checkpoints": simulate_checkpoints,
    "data_plane": simulate_data_plane,
    "state": simulate_state,
}


def main() -> int:
    """Run the seeds; 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1, help="how many; 0: until stopped")
    parser.add_argument("--story", action="store_true", help="tell what happened")
    parser.add_argument("--plane", choices=sorted(PLANES), default="control_plane", help="what to simulate")
    parser.add_argument("--stop", action="store_true", help="stop at the first failing seed")
    options = parser.parse_args()
    gc.freeze()  # Seeds collect garbage, and need not look at what was imported.
    sys.unraisablehook = lambda _: None  # `finally` blocks of processes that were killed
    failed, steps, start, number = [], 0, time.perf_counter(), options.first
    while not options.seeds or number < options.first + options.seeds:
        seed = PLANES[options.plane](number)
        steps += seed.steps
        if options.story:
            print("\n".join(seed.story))
        if seed.violations:
            failed.append(number)
            print(f"seed {number}: {seed.violations[0]}", file=sys.stderr, flush=True)
            if options.stop:
                break
        number += 1
    seconds = time.perf_counter() - start
    print(json.dumps({"seeds": number - options.first, "failed": failed, "steps": steps, "seconds": round(seconds, 1)}))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
