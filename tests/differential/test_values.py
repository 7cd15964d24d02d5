"""Programs that change values after emitting them give the results of Flink's semantics in each execution mode."""

from __future__ import annotations

import random
from typing import Any

import pytest

from firesteel.common import WatermarkStrategy
from firesteel.common.configuration import Configuration
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.operators.chain import fusion
from firesteel.testing import run_local
from tests.differential.programs import ODD_KEYS, SHAPES, STEPS, Run, Splits
from tests.seeds import seeds

pytestmark = pytest.mark.slow

SEEDS = seeds(20, 60)


def chosen_steps(generator: random.Random, run: Run) -> list[str]:
    """Up to five steps that have what they need: an order of the elements of a key, numbers that are times.

    The source has one subtask: what follows it without a key deals its elements out to all subtasks.
    """
    names: list[str] = []
    ordered = numbered = True
    dealt_out = run.parallelism > 1
    for _ in range(generator.randint(1, 5)):
        fitting = [
            name
            for name, step in STEPS.items()
            if (ordered or not step.needs_order)
            and ((numbered and not dealt_out) or name not in ("tumbling", "sliding"))
        ]
        names.append(generator.choice(fitting))
        step = STEPS[names[-1]]
        ordered &= step.keeps_order and (step.is_keyed or not dealt_out)
        numbered &= step.keeps_numbers
        dealt_out &= not step.is_keyed
    return names


def text_of(element: Any) -> str:
    return repr((element[0], element[1], element[2]))


def expected(elements: list[Any], names: list[str], run: Run) -> list[str]:
    for name in names:
        elements = STEPS[name].model(elements, run)
    return sorted(map(text_of, elements))


def found(elements: list[Any], names: list[str], run: Run, configuration: dict[str, str], generator: Any) -> list[str]:
    settings = Configuration()
    for key, value in configuration.items():
        settings.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(settings)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH if run.is_batch else RuntimeExecutionMode.STREAMING)
    env.set_parallelism(run.parallelism)
    if generator.random() < 0.5:
        stream: Any = env.from_source(Splits(elements), WatermarkStrategy.no_watermarks(), "splits").set_parallelism(1)
    else:
        stream = env.from_collection(elements)
    for name in names:
        stream = STEPS[name].build(stream)
    stream.map(text_of).collect_async()
    batch = None if run.is_batch else generator.choice([None, 7, 30])
    replayed = () if run.is_batch else generator.choice([(), range(1, 20, 2)])
    result = run_local(env, default_parallelism=run.parallelism, batch_elements=batch, replayed=replayed)
    return sorted(result.elements)


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_results_are_those_of_the_model(seed: int, fused: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = random.Random(seed)
    if fused:
        monkeypatch.setattr(fusion, "_TRIED_BUFFERS", 0)
    else:
        monkeypatch.setattr(fusion, "fuse", lambda operators: None)
    run = Run(generator.choice([1, 2]), generator.random() < 0.4)
    names = chosen_steps(generator, run)
    # So little memory that entries on disk are dropped and read again.
    configuration = {"state.backend.type": generator.choice(["hashmap", "rocksdb"])}
    configuration["state.backend.rocksdb.memory.fixed-per-slot"] = "2kb"
    if generator.random() < 0.5:
        configuration["execution.sorted-inputs.memory"] = "4 kb"
    shape = generator.choice(SHAPES)
    indexes = generator.sample(range(len(ODD_KEYS)), 8)
    elements = [shape(generator.choice(indexes), number) for number in range(60)]
    described = (names, run, configuration)
    wanted = expected(elements, names, run)
    assert (described, found(elements, names, run, configuration, generator)) == (described, wanted)
