"""What becomes of the state of a savepoint if a program starts from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.functions import KeyedProcessFunction
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.state_processor import OperatorIdentifier, SavepointWriter
from firesteel.state_processor.program_fit import ProgramFit, program_fit


class Keep(KeyedProcessFunction):
    def process_element(self, value: object, ctx: object) -> None: ...


@pytest.fixture
def savepoint(tmp_path: Path) -> str:
    """A savepoint with a state of `counter`, whose keys are texts."""
    writer = SavepointWriter.new_savepoint(max_parallelism=8)
    count = ValueStateDescriptor("count", Types.LONG())
    writer.with_keyed_state(OperatorIdentifier.for_uid("counter"), count, [("a", 1)], key_type=Types.STRING())
    return writer.write(str(tmp_path / "savepoint"))


def fit(savepoint: str, uid: str | None, key_type: object = None, parallelism: int = 1, most: int = 0) -> ProgramFit:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    words = env.from_collection(["a"], Types.STRING()).uid("words")
    kept = words.key_by(lambda word: word, key_type or Types.STRING()).process(Keep(), Types.STRING())
    if uid is not None:
        kept.uid(uid)
    if most:
        kept.set_max_parallelism(most)
    kept.print().uid("out")
    return program_fit(savepoint, env.get_stream_graph().get_job_graph())


def fits(found: ProgramFit) -> dict[str, str]:
    return {one.uid: one.fit for one in found.operators if one.uid}


def test_an_operator_with_the_same_uid_goes_on_with_its_state(savepoint: str) -> None:
    found = fit(savepoint, "counter")
    assert fits(found) == {"words": "new", "counter": "fits", "out": "new"}
    assert [one.reason for one in found.operators if one.uid == "counter"] == ["count"]
    assert found.problems(allow_non_restored=False) == []


def test_state_without_operator_is_a_problem_unless_it_may_be_left_behind(savepoint: str) -> None:
    found = fit(savepoint, "another")
    assert "its state belongs to no operator of the program" in found.problems(allow_non_restored=False)[0]
    assert found.problems(allow_non_restored=True) == []


def test_an_operator_without_uid_is_told_of(savepoint: str) -> None:
    assert "it has no uid" in fit(savepoint, None).text()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"key_type": Types.LONG()}, "restored as type String, but the program asks for type Long"),
        ({"parallelism": 9}, "max parallelism 8 is lower than the requested parallelism 9"),
        ({"most": 16}, "written with max parallelism 8, the new program sets 16"),
    ],
)
def test_what_a_job_would_refuse_at_its_start_is_refused_before(
    savepoint: str, change: dict[str, object], problem: str
) -> None:
    found = fit(savepoint, "counter", **change)  # type: ignore[arg-type]
    assert problem in found.problems(allow_non_restored=True)[0]
    assert fits(found)["counter"] == "refused"
