"""`python -m tests.simulation [--first N] [--seeds N] [--story] [--data-plane]`: run seeds, one after the other."""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time

from tests.simulation.data_plane.simulation import simulate as simulate_data_plane
from tests.simulation.simulation import simulate


def main() -> int:
    """Run the seeds; 1 if one of them failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1, help="how many; 0: until stopped")
    parser.add_argument("--story", action="store_true", help="tell what happened")
    parser.add_argument(
        "--data-plane", action="store_true", help="simulate the data plane instead of the control plane"
    )
    parser.add_argument("--stop", action="store_true", help="stop at the first failing seed")
    options = parser.parse_args()
    gc.freeze()  # Seeds collect garbage, and need not look at what was imported.
    sys.unraisablehook = lambda _: None  # `finally` blocks of processes that were killed
    failed, steps, start, seed = [], 0, time.perf_counter(), options.first
    while not options.seeds or seed < options.first + options.seeds:
        outcome = simulate_data_plane(seed) if options.data_plane else simulate(seed)
        steps += outcome.steps
        if options.story:
            print("\n".join(outcome.story))
        if outcome.violations:
            failed.append(seed)
            print(f"seed {seed}: {outcome.violations[0]}", file=sys.stderr, flush=True)
            if options.stop:
                break
        seed += 1
    seconds = time.perf_counter() - start
    print(json.dumps({"seeds": seed - options.first, "failed": failed, "steps": steps, "seconds": round(seconds, 1)}))
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
