"""What `firesteel diff` says of two programs."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from firesteel.cli.main import cli
from tests.cli.session import firesteel_in_background
from tests.processes import command_line
from tests.waiting import wait_for

PROGRAM = """
from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment
import helper

env = StreamExecutionEnvironment.get_execution_environment()
numbers = env.from_collection([1, 2], Types.LONG()).uid("numbers")
keyed = numbers.map(lambda n: n, Types.LONG()).name(helper.NAME).uid({uid!r}).set_parallelism({parallelism})
keyed.print()
env.execute()
"""


def program(directory: Path, name: str, uid: str, parallelism: int) -> str:
    """Write a program, and beside it a module whose name that of the other has, too."""
    directory.mkdir()
    (directory / "helper.py").write_text(f"NAME = {name!r}\n")
    (directory / "job.py").write_text(PROGRAM.format(uid=uid, parallelism=parallelism))
    return str(directory / "job.py")


def test_operators_are_the_same_changed_added_and_removed(tmp_path: Path) -> None:
    old, new = program(tmp_path / "old", "first", "map", 1), program(tmp_path / "new", "second", "map", 2)
    text = CliRunner().invoke(cli, ["diff", "-p", "1", old, new]).output
    assert "=  Source: Collection Source  numbers  same" in text
    assert "~  second                     map      name first -> second, parallelism 1 -> 2" in text
    assert "no uid: its id comes from its place in the graph" in text
    third = program(tmp_path / "third", "first", "another", 1)
    found = json.loads(CliRunner().invoke(cli, ["diff", "-p", "1", "--output", "json", old, third]).output)
    changes = {one["uid"]: one["change"] for one in found if one["uid"]}
    assert changes == {"numbers": "same", "another": "added", "map": "removed"}


def test_removed_operators_are_in_the_order_of_the_old_program_whatever_it_prints(tmp_path: Path) -> None:
    """A process of the program prints past Python's standard output."""
    names = [f"m{number}" for number in range(8)]
    maps = "".join(f".map(lambda n: n).uid({name!r}).disable_chaining()" for name in names)
    head = "from firesteel.datastream import StreamExecutionEnvironment\nimport os\nos.system('echo printed')\n"
    head += "numbers = StreamExecutionEnvironment.get_execution_environment().from_collection([1]).uid('numbers')\n"
    (tmp_path / "old.py").write_text(f"{head}numbers{maps}.print()\nnumbers.get_execution_environment().execute()\n")
    (tmp_path / "new.py").write_text(f"{head}numbers.print()\nnumbers.get_execution_environment().execute()\n")
    command = ["diff", "--output", "json", str(tmp_path / "old.py"), str(tmp_path / "new.py")]
    found = json.loads(CliRunner().invoke(cli, command).output)
    assert [one["uid"] for one in found if one["uid"] and one["change"] == "removed"] == names


def test_a_program_without_a_plan_is_named_with_its_error(tmp_path: Path) -> None:
    old = program(tmp_path / "old", "first", "map", 1)
    (tmp_path / "broken.py").write_text("unknown\n")
    failed = CliRunner().invoke(cli, ["diff", old, str(tmp_path / "broken.py")])
    assert failed.exit_code == 1
    assert "broken.py: " in failed.output
    assert "NameError: name 'unknown' is not defined" in failed.output


def test_a_program_that_waits_ends_with_a_killed_command(tmp_path: Path) -> None:
    noted = tmp_path / "process"
    waiting = tmp_path / "waiting.py"
    waiting.write_text(
        "import os, pathlib, threading\n"
        f"pathlib.Path({str(noted)!r} + '.part').write_text(str(os.getpid()))\n"
        f"os.rename({str(noted)!r} + '.part', {str(noted)!r})\n"
        "threading.Event().wait()\n"
    )
    command = firesteel_in_background("diff", str(waiting), str(waiting))
    wait_for(noted.exists)
    assert "waiting.py" in command_line(int(noted.read_text()))
    command.kill()
    command.communicate(timeout=30)
    wait_for(lambda: not command_line(int(noted.read_text())))
