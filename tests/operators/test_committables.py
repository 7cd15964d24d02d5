"""Large output of sinks is passed in files, and is the same as if it were passed inline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.operators.sinks import committables, sinks
from firesteel.operators.sinks.committables import (
    CollectedElements,
    OutputBuffer,
    OutputFile,
    OutputFileError,
    PrintedLines,
    carry_out,
    remove_files,
)
from firesteel.testing import Fault, run_local


class Driver:
    def __init__(self) -> None:
        self.got: list[Any] = []

    def print(self, text: str) -> None:
        self.got.append(text)

    def collect(self, collect_id: str, elements: list[Any]) -> None:
        self.got.append((collect_id, elements))


def test_large_output_is_written_to_a_file_that_is_removed_when_it_was_shown(tmp_path: Path) -> None:
    buffer, driver = OutputBuffer(str(tmp_path / "output")), Driver()
    expected: list[Any] = []
    for number in range(10):
        buffer.add(PrintedLines(f"{number}\n"), 100_000)
        buffer.add(CollectedElements("id", [number]), 1)
        expected += [f"{number}\n", ("id", [number])]
    taken = buffer.take()
    assert type(taken[0]) is OutputFile
    assert sum(type(part) is not OutputFile for part in taken) < 7
    carry_out(taken, driver)
    assert driver.got == expected
    carry_out(taken, driver)
    assert driver.got == expected * 2, "until nobody can ask for it any more"
    remove_files(taken)
    assert list((tmp_path / "output").iterdir()) == []
    assert buffer.take() == ()


def test_small_output_stays_in_memory(tmp_path: Path) -> None:
    buffer = OutputBuffer(str(tmp_path))
    buffer.add(PrintedLines("a\n"), 2)
    assert buffer.take() == (PrintedLines("a\n"),)
    assert list(tmp_path.iterdir()) == []


def test_attempts_write_separate_files_and_failed_ones_remove_theirs(tmp_path: Path) -> None:
    tries = [OutputBuffer(str(tmp_path)) for _ in range(2)]
    for buffer in tries:
        buffer.add(PrintedLines("a\n"), 1_000_000)
    assert len(list(tmp_path.iterdir())) == 2
    tries[0].close()
    driver = Driver()
    (taken,) = tries[1].take()
    carry_out([taken], driver)
    assert isinstance(taken, OutputFile)
    assert (driver.got, list(map(str, tmp_path.iterdir()))) == (["a\n"], [taken.path])


def test_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OutputFileError, match=r"output file '.*gone' of 7 bytes is missing"):
        OutputFile(str(tmp_path / "gone"), 7).hand_to(Driver())


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def test_all_lines_and_elements_come_in_the_same_order(
    mode: RuntimeExecutionMode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(limit: int) -> tuple[list[str], list[Any]]:
        for module in (committables, sinks):
            monkeypatch.setattr(module, "OUTPUT_BYTES", limit)
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_runtime_mode(mode)
        env.set_parallelism(2)
        source = NumberSequenceSource(1, 5_000)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
        numbers.print("all")
        numbers.map(lambda n: (n, "x"), Types.TUPLE([Types.LONG(), Types.STRING()])).collect_async()
        result = run_local(env, checkpoint=tmp_path / f"{mode}{limit}", batch_elements=1000, faults=[Fault(0, 0, 0, 1)])
        return result.lines, result.elements

    opened: list[Any] = []
    write = OutputBuffer._write

    def note(buffer: OutputBuffer) -> None:
        opened.append(buffer)
        write(buffer)

    monkeypatch.setattr(OutputBuffer, "_write", note)
    expected = run(1 << 40)
    assert not opened
    assert run(1_000) == expected
    assert opened
    assert len(expected[0]) == len(expected[1]) == 5_000
    left = list(tmp_path.glob("*/versions-*/shown/*"))
    assert bool(left) == (mode is RuntimeExecutionMode.BATCH), "a failed try's files go with the next checkpoint"
