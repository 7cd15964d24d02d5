"""Modules that are imported before slot processes are forked."""

import subprocess
import sys
from importlib.util import find_spec

import cloudpickle

from firesteel.columns.kernels.groups.aggregate import GroupAggregateFactory
from firesteel.common import Types
from firesteel.common.configuration import Configuration
from firesteel.common.trust import pickling
from firesteel.datastream import ProcessFunction, StreamExecutionEnvironment
from firesteel.functions.output_tag import OutputTag
from firesteel.spark.batch_run import PRELOADED
from firesteel.task.preloading import IMPORTED_LATE, modules_of


def test_modules_of_the_plan_are_found_and_those_of_user_code_are_not() -> None:
    plan = GroupAggregateFactory((0,), (), (), (), retracts=False)
    found = modules_of(cloudpickle.dumps([plan, Types.STRING(), subprocess.Popen]))
    assert {"firesteel.columns.kernels.groups.aggregate", "firesteel.common.type_classes.basic_types"} <= found
    assert "subprocess" not in found


def test_names_of_any_length_are_found() -> None:
    """The byte before a name is its length, so that it is a digit for those of 48 to 57 letters."""
    names = ["firesteel." + "x" * length for length in range(1, 200)]
    assert set(names) <= modules_of(cloudpickle.dumps(names))


def test_what_slots_import_late_is_imported_before() -> None:
    plan = GroupAggregateFactory((0,), (), (), (), retracts=False)
    found = modules_of(cloudpickle.dumps(plan))
    late = {name for names in IMPORTED_LATE.values() for name in names}
    assert "firesteel.operators.column_runner" in found
    assert "firesteel.connectors.files.splits" not in found
    assert [module for module in late if find_spec(module) is None] == []


def test_what_cannot_be_imported_is_left_out() -> None:
    """In a fresh process, as this one has imported everything."""
    program = """
import sys
from firesteel.task.preloading import import_modules
assert "pyarrow" not in sys.modules
assert import_modules(["firesteel.nothing", "firesteel.columns.kernels.groups.aggregate"])
assert "pyarrow" in sys.modules
assert "pandas" in sys.modules
assert not import_modules(["firesteel.columns.kernels.groups.aggregate"])
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_workers_of_batch_jobs_preload_modules_that_exist() -> None:
    """Failures of imports are ignored, as the job meets them again."""
    assert [module for module in PRELOADED if find_spec(module) is None] == []


class Same(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


def test_jobs_do_not_carry_the_api_to_their_slots() -> None:
    """A slot that imports `firesteel.datastream` imports all of the API, in 20 ms."""
    env = StreamExecutionEnvironment(Configuration())
    pairs = env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.INT()]))
    late = OutputTag("late", Types.INT())
    pairs.print()
    pairs.map(str).print()
    pairs.map(lambda pair: pair, Types.ROW([Types.STRING(), Types.INT()])).print()
    pairs.process(Same()).get_side_output(late).print()
    for combine in ("sum", "min", "max", "min_by", "max_by"):
        getattr(pairs.key_by(lambda pair: pair[0]), combine)(1).print()
    found = modules_of(pickling.dumps(env.get_stream_graph().get_job_graph()))
    assert [module for module in found if module.startswith("firesteel.datastream")] == []
