"""Events per second of the Nexmark queries q0 to q8, on firesteel and PyFlink.

python benchmarks/bench_nexmark.py [--case q0 q1 ...] [--records N] [--runs K] [--pyflink-python PATH]
"""

from __future__ import annotations

from functools import cache

import harness
import pipelines
from nexmark import model
from nexmark.queries import QUERIES
from nexmark.streams import events


def runs(query: str, engine: str) -> harness.Runs:
    @cache
    def expected(records: int) -> int:
        return len(model.QUERIES[query](model.Site(records)))

    return pipelines.runs_of(lambda positions: QUERIES[query](events(positions)), expected, engine)


def case(query: str) -> harness.Case:
    engines = {"firesteel": harness.Engine("firesteel, STREAMING", lambda: runs(query, "firesteel"))}
    for mode in ("process", "thread"):
        engine = f"pyflink:{mode}"
        label = f"PyFlink, {mode} mode"
        engines[engine] = harness.Engine(label, lambda engine=engine: runs(query, engine), slow=True)
    name, _, text = (QUERIES[query].__doc__ or "").partition(": ")
    return harness.Case(f"{query}: {name.lower()}", text, engines)


TEXT = """\
Nexmark: of 50 events one is a new person, three are new auctions and 46 are bids; 1,000 events per second of event
time, windows of ten seconds. Events are made within the job by a Python function. firesteel and PyFlink run the very
same DataStream program; the results are counted and dropped. firesteel's time is the net run time of the job,
PyFlink's that from the first event to the last result, in the faster of its modes, with large bundles and a state
cache larger than all state."""

if __name__ == "__main__":
    harness.main("Nexmark", TEXT, {query: case(query) for query in QUERIES})
