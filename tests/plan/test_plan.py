"""Plans as text and HTML."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import xml.etree.ElementTree
from itertools import product
from pathlib import Path

import pytest

from firesteel.plan import FORMATS, VIEWS, InvalidPlanError, load_plan_source, render

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden"
PROGRAM = """
    import sys
    from pyflink.common import Types, WatermarkStrategy
    from pyflink.datastream import StreamExecutionEnvironment
    from pyflink.datastream.connectors.number_seq import NumberSequenceSource

    print("the program's own output")
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(int(sys.argv[1]))
    source = NumberSequenceSource(1, 10)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()).map(lambda n: n)
    numbers.key_by(lambda n: n % 3).sum().name("sum").print()
    numbers.filter(lambda n: n > 3).name("large").set_parallelism(1).print()
    try:
        env.execute("branches")
    except Exception:
        print("unreachable: planning is no exception")
"""
JOB_TEXT = """\
Job graph 'branches' (STREAMING): 4 vertices, slot sharing groups default

cbc357cc  Source: numbers -> Map -> _stream_key_by_map_operator  x2
├─ HASH, PIPELINED_BOUNDED: the elements are redistributed (HASH)
│  7cf1b594  sum, Map -> Sink: Print to Std. Out  x2
└─ REBALANCE, PIPELINED_BOUNDED: the parallelism differs (2 and 1)
   d04a2ab6  large  x1
   │ REBALANCE, PIPELINED_BOUNDED: the parallelism differs (1 and 2)
   9cb64000  Map -> Sink: Print to Std. Out  x2"""


def firesteel(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "firesteel", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "branches.py"
    path.write_text(textwrap.dedent(PROGRAM))
    return path


def test_a_program_is_shown_without_being_run(program: Path) -> None:
    shown = firesteel("plan", "job", "--pyflink", program, 2)
    assert (shown.stdout.rstrip(), shown.returncode) == (JOB_TEXT, 0)
    assert shown.stderr == "the program's own output\n"


def test_operators_of_a_diamond_are_shown_once(program: Path) -> None:
    program.write_text(
        "from firesteel.datastream import StreamExecutionEnvironment\n"
        "env = StreamExecutionEnvironment.get_execution_environment()\n"
        "head = env.from_collection([1]).map(abs).name('head')\n"
        "head.filter(bool).name('left').union(head.filter(bool).name('right')).print()\n"
        "env.execute()\n"
    )
    lines = firesteel("plan", "stream", "-p", 1, program).stdout.splitlines()
    assert sum(line.endswith("Map  x1") for line in lines) == 1
    assert lines[-1].lstrip().startswith("(see ")


def test_every_view_has_every_format(tmp_path: Path, program: Path) -> None:
    graph = tmp_path / "graph.json"
    graph.write_text(firesteel("plan", "stream", "--format", "json", "--pyflink", program, 2).stdout)
    source = load_plan_source(graph)
    for view, format in product(VIEWS, FORMATS):
        _check_format(render(source, view, format), format)


def _check_format(text: str, format: str) -> None:
    if format == "json":
        assert json.loads(text)
    elif format == "svg":
        assert xml.etree.ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    elif format == "dot":
        assert text.startswith('digraph "branches" {')
        assert text.endswith("}")
    else:
        assert "branches" in text


@pytest.mark.parametrize("view", ["stream", "job"])
def test_graphs_from_json_equal_those_of_their_program(view: str, tmp_path: Path, program: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(firesteel("plan", view, "--format", "json", "--pyflink", program, 2).stdout)
    assert render(load_plan_source(path), "job") == JOB_TEXT


def test_the_plan_of_a_flink_job_shows_operators_vertices_and_slots() -> None:
    source = load_plan_source(GOLDEN / "GET_jobs_jobid_plan.json")
    assert render(source, "stream").startswith(
        "Stream graph 'finished-batchish' (STREAMING): 7 operators\n\n1  Source: seq  x1\n│ FORWARD, chained\n"
        "2  slow-map, Extract-Timestamp  x1\n"
    )
    assert "needs 1 slot, 2 available: fits" in render(source, "slots", "text", 1, 2)
    assert "Note: Flink's plan has no slot sharing groups" in render(source, "slots")


def test_the_details_of_a_flink_job_tell_names_and_groups() -> None:
    source = load_plan_source(GOLDEN / "GET_jobs_jobid.json")
    assert source.job_graph.vertices[0].name.startswith("Source: seq -> slow-map, Extract-Timestamp")
    assert "needs 2 slots, 6 available: fits" in render(source, "slots", "text", 3, 2)
    assert source.notes == ()


def test_wide_vertices_are_drawn_in_part(tmp_path: Path, program: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(firesteel("plan", "stream", "--format", "json", "--pyflink", program, 100).stdout)
    drawing = render(load_plan_source(path), "execution", "dot")
    assert "… 88 more" in drawing
    assert 'label="12/100"' in drawing
    assert 'label="13/100"' not in drawing


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not valid JSON"),
        ("[1]", "contains no object; expected a Python program"),
        ('{"a": 1}', "contains an object with a; expected"),
        ('{"plan": {"jid": "1", "name": "x", "nodes": [{"id": "v"}]}}', "a part of the graph is missing or wrong"),
    ],
)
def test_invalid_graphs_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text(text)
    with pytest.raises(InvalidPlanError, match=message):
        load_plan_source(path)


def test_errors_of_a_program_are_shown_in_its_own_lines(program: Path) -> None:
    program.write_text("answer = 1 / 0\n")
    failed = firesteel("plan", "job", program)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert f'File "{program}", line 1' in failed.stderr
    program.write_text("print('no job')\n")
    failed = firesteel("plan", "job", program)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert "ended without execute(): there is no job to draw" in failed.stderr


def test_a_vertex_with_more_subtasks_than_key_groups_is_refused(program: Path) -> None:
    failed = firesteel("plan", "execution", "--pyflink", "-D", "pipeline.max-parallelism=2", program, 3)
    assert failed.returncode == 1
    assert "has parallelism 3, which is more than its max parallelism 2" in failed.stderr


def test_planning_imports_neither_spark_nor_arrow(program: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from firesteel.plan import load_plan_source, render\n"
        f"render(load_plan_source(Path({str(program)!r}), ('2',), {{}}, True), 'slots', 'html')\n"
        "assert not {'pyspark', 'pyarrow', 'py4j', 'asyncio'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.skipif(
    shutil.which("chromium") is None and not os.environ.get("FIRESTEEL_REQUIRE_CHROMIUM"),
    reason="NO CHROMIUM, SO THE PAGE IS TESTED IN NO BROWSER; install it: apt-get install chromium",
)
def test_a_click_on_an_operator_marks_it_in_every_graph(tmp_path: Path, program: Path) -> None:
    page = tmp_path / "page.html"
    assert firesteel("plan", "stream", "--format", "html", "-o", page, "--pyflink", program, 2).returncode == 0
    click = (
        "<script>document.getElementById('op-2').querySelector('path')"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}));"
        "document.title = [...document.querySelectorAll('.node.marked')].map(one => one.id.slice(0, 12)).join(' ')"
        "+ '|' + document.getElementById('details').textContent;</script></body>"
    )
    page.write_text(page.read_text().replace("</body>", click))
    dumped = subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--dump-dom", page],
        capture_output=True,
        text=True,
        timeout=60,
    ).stdout
    title = dumped[dumped.index("<title>") : dumped.index("</title>")]
    marked, _, details = title.removeprefix("<title>").partition("|")
    kinds = sorted(one.split("-")[0] for one in marked.split())
    assert kinds == ["op", "slot", "slot", "subtask", "subtask", "vertex"]
    assert details.startswith("Map")
