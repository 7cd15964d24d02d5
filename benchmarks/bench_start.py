"""Wall time from the command to its exit, nothing warm: word count over ten lines, on firesteel and on bare PySpark.

python benchmarks/bench_start.py [--runs K]
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import harness

EXAMPLE = Path(__file__).parent.parent / "examples" / "word_count.py"
LINES = ["to be or not to be that is the question"] * 10
PROGRAMS = ["firesteel, STREAMING", "PySpark by hand, streaming", "firesteel, BATCH", "PySpark by hand, batch"]

TEXT = """\
Wall time from the command to its exit, nothing warm: words of ten lines are split by a Python function and
counted, and the counts printed. firesteel runs `examples/word_count.py`. PySpark runs `mapInArrow` and
`groupBy().count()`, as a batch job and as a Structured Streaming query with `availableNow`."""


def count_words_with_spark(directory: str, streaming: bool) -> None:
    """The same by hand."""
    import re

    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    session = (
        SparkSession.builder.master(f"local[{os.cpu_count()}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.shuffle.partitions", str(os.cpu_count()))
        .getOrCreate()
    )

    def words(batches):
        import pyarrow as pa

        for batch in batches:
            found = [word for line in batch["value"].to_pylist() for word in re.findall(r"[a-z]+", line.lower())]
            yield pa.RecordBatch.from_pydict({"word": pa.array(found, pa.string())})

    def show(frame, batch_id=0):
        for row in frame.collect():
            print((row["word"], row["count"]))

    reader = session.readStream if streaming else session.read
    counts = reader.schema("value string").text(directory).mapInArrow(words, "word string").groupBy("word").count()
    if streaming:
        query = counts.writeStream.outputMode("update").foreachBatch(show).trigger(availableNow=True).start()
        query.awaitTermination()
    else:
        show(counts)
    session.stop()


def command_of(program: str, directory: str) -> list[str]:
    if program.startswith("firesteel"):
        mode = program.rpartition(" ")[2]
        options = ["--quiet", "--runtime-mode", mode, str(EXAMPLE), "--input", directory]
        return [sys.executable, "-m", "firesteel", "run", *options]
    return [sys.executable, __file__, "--spark", program.rpartition(" ")[2], "--input", directory]


def wall_time(program: str, directory: str) -> float:
    begin = time.perf_counter()
    done = subprocess.run(command_of(program, directory), capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode != 0 or "question" not in done.stdout:
        raise SystemExit(f"{program} failed:\n{done.stdout[-1000:]}\n{done.stderr[-3000:]}")
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=TEXT)
    parser.add_argument("--runs", type=int, default=3, help="their median counts [3]")
    parser.add_argument("--spark", choices=["streaming", "batch"], help=argparse.SUPPRESS)
    parser.add_argument("--input", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.spark:
        count_words_with_spark(options.input, options.spark == "streaming")
        return
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "lines.txt").write_text("\n".join([*LINES, ""]))
        measured: dict[str, list[float]] = {program: [] for program in PROGRAMS}
        for _ in range(options.runs):
            for program in PROGRAMS:
                measured[program].append(wall_time(program, directory))
    harness.write_report("Start", report(measured, options.runs))


def report(measured: dict[str, list[float]], runs: int) -> str:
    medians = [statistics.median(measured[program]) for program in PROGRAMS]
    lines = [
        "# Start",
        "",
        TEXT,
        "",
        f"{harness.environment_line()}. {harness.versions_line()}. Median of {runs} run(s).",
        "",
        "| program | seconds | times PySpark's |",
        "|---|--:|--:|",
    ]
    for index, program in enumerate(PROGRAMS):
        base = medians[index | 1]  # PySpark's program stands behind firesteel's
        lines.append(f"| {program} | {medians[index]:.1f} | {medians[index] / base:.2f} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
