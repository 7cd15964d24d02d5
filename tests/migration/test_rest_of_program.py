"""Whether something follows in a program that is stopped at a line."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from firesteel.migration.rest_of_program import has_rest


class _StoppedError(Exception):
    pass


def stop() -> None:
    raise _StoppedError


ENDS = {
    "last statement": "stop()",
    "endless loop": "while True:\n    stop()\n    print()\nprint('never')",
    "loop in a loop": "while 1:\n    for _ in range(3):\n        stop()\n        break\nprint('never')",
    "last of a function": "def main():\n    stop()\n\nif True:\n    main()",
    "endless loop of a function": "def main():\n    while True:\n        print()\n        stop()\n\nmain()\nprint()",
    "function in an endless loop": "def step():\n    stop()\n    print()\n\nwhile True:\n    step()",
    "handler": "try:\n    int('x')\nexcept ValueError:\n    stop()",
    "with": "with open(__file__) as file:\n    stop()",
}
GOES_ON = {
    "next statement": "stop()\nprint()",
    "loop over a list": "for _ in [1]:\n    stop()\n    print()",
    "loop with a break": "while True:\n    stop()\n    break\nprint()",
    "loop that returns": "def main():\n    while True:\n        stop()\n        return\n\nmain()\nprint()",
    "condition": "n = 1\nwhile n:\n    stop()\nprint()",
    "caller": "def main():\n    stop()\n\nmain()\nprint()",
    "finally": "try:\n    stop()\nfinally:\n    print()\nprint()",
}


@pytest.mark.parametrize("program", [*ENDS, *GOES_ON])
def test_what_follows_a_line(program: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent((ENDS | GOES_ON)[program]))
    with pytest.raises(_StoppedError) as stopped:
        exec(compile(path.read_text(), str(path), "exec"), {"stop": stop, "__file__": str(path)})
    assert has_rest(stopped.value.__traceback__, str(tmp_path)) is (program in GOES_ON)


def test_a_program_that_cannot_be_read_may_go_on() -> None:
    assert has_rest(None, "/")
