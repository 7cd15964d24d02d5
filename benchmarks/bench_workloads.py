"""Records per second of the workloads W1 to W6, on firesteel, PyFlink and hand-written PySpark.

python benchmarks/bench_workloads.py [--case w1..w6] [--records N] [--runs K] [--pyflink-python PATH]
"""

from __future__ import annotations

from types import ModuleType

import harness
import pipelines
from workloads import NAMES, workload

BY_HAND = {
    False: "PySpark by hand, mapInArrow (one batch job, nothing is kept)",
    True: "PySpark by hand, mapInArrow behind repartition, and a dict (one batch job, nothing is kept)",
}


def datastream(module: ModuleType, engine: str) -> harness.Runs:
    return pipelines.runs_of(module.build, module.expected, engine)


def natural_join(module: ModuleType) -> harness.Runs:
    return pipelines.runs_of(module.build_join, module.expected, "firesteel")


def by_hand(module: ModuleType) -> harness.Runs:
    import baselines

    return baselines.batch_runs(module)


def with_state(module: ModuleType) -> harness.Runs:
    import baselines

    return baselines.streaming_runs(module)


def case(name: str) -> harness.Case:
    """Return the engines of a workload."""
    module = workload(name)
    engines = {"firesteel": harness.Engine("firesteel, STREAMING", lambda: datastream(module, "firesteel"))}
    if hasattr(module, "build_join"):
        engines["firesteel-join"] = harness.Engine("firesteel, STREAMING, with `join`", lambda: natural_join(module))
    exchange = module.ROW is not None
    engines["spark-batch"] = harness.Engine(BY_HAND[exchange], lambda: by_hand(module))
    if exchange:
        label = "PySpark by hand, transformWithState (streaming, RocksDB)"
        engines["spark-streaming"] = harness.Engine(label, lambda: with_state(module), slow=True)
    for mode in ("process", "thread"):
        engine = f"pyflink:{mode}"
        engines[engine] = harness.Engine(
            f"PyFlink, {mode} mode", lambda engine=engine: datastream(module, engine), slow=True
        )
    return harness.Case(module.TITLE, module.TEXT, engines)


TEXT = """\
All engines run the same Python functions; firesteel and PyFlink run the very same DataStream program. The results are
counted and dropped. Times are without the start of Java: firesteel's is the net run time of the job, PySpark's that
of the action on a warm session or of the micro-batch, PyFlink's that from the first record to the last result, in the
faster of its modes, with large bundles and a state cache larger than all state."""

if __name__ == "__main__":
    harness.main("Workloads", TEXT, {name: case(name) for name in NAMES})
