from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SOURCE = Path(__file__).parent.parent.parent / "src"


def _run(program: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": str(SOURCE), "PATH": ""}
    command = [sys.executable, "-c", "from firesteel.compat import alias_pyflink; alias_pyflink()\n" + program]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.mark.parametrize(
    "program",
    [
        "import pyflink.datastream.window as a, firesteel.datastream.window as b; assert a is b",
        "import pyflink.datastream.connectors.file_system as f; assert f.FileSink",
        "from pyflink.common import Row as a; from firesteel.common import Row as b; assert a is b",
        "from pyflink.datastream import functions as a; assert a.MapFunction.__module__.startswith('firesteel.')",
        "import pyflink.common, firesteel.common; assert firesteel.common.__spec__.name == 'firesteel.common'",
        "from pyflink.metrics import MetricGroup",
        "import pyflink, firesteel; assert pyflink.__file__ == firesteel.__file__",
        "import pyflink; from pyflink.version import __version__ as v; assert v == pyflink.__version__ == '2.3.0'",
        "alias_pyflink(); import pyflink.common.typeinfo",
        "from pyflink.util.exceptions import JavaException, TableException; from firesteel.table.errors import "
        "TableException as own; assert TableException is own and issubclass(own, JavaException)",
        "from pyflink.shell import *; from pyflink.table.expressions import col; numbers = s_env.from_collection([1], "
        "Types.INT()); assert st_env.from_data_stream(numbers, col('n')).get_schema().get_field_names() == ['n']",
        "import pickle; from pyflink.common import Row; assert b'pyflink' not in pickle.dumps(Row(1))",
    ],
)
def test_pyflink_is_another_name_of_firesteel(program):
    done = _run(program)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["pyflink.tables", "pyflink.datastream.connectors.nothing"])
def test_names_that_pyflink_lacks_are_rejected_by_name(module):
    done = _run(f"import {module}")
    assert f"No module named '{module}' in firesteel and PyFlink 2.3" in done.stderr


def test_the_alias_precedes_an_installed_pyflink_or_is_not_installed():
    program = "import sys, types; sys.modules['pyflink'] = types.ModuleType('pyflink')\n"
    environment = {"PYTHONPATH": str(SOURCE), "PATH": ""}
    command = [sys.executable, "-c", program + "from firesteel.compat import alias_pyflink; alias_pyflink()"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert "PyFlink is imported already" in done.stderr


def test_unpickling_a_job_installs_the_alias_before_its_functions(tmp_path):
    (tmp_path / "users_module.py").write_text(
        "from pyflink.common import Row\n"
        "def first(value):\n    from pyflink.common.typeinfo import Types\n    return Row(value)\n"
    )
    job = tmp_path / "job"
    writes = f"""
        import cloudpickle, sys
        sys.path.insert(0, {str(tmp_path)!r})
        from pyflink.datastream import StreamExecutionEnvironment
        from users_module import first
        env = StreamExecutionEnvironment.get_execution_environment()
        env.from_collection([1]).map(first).print()
        open({str(job)!r}, "wb").write(cloudpickle.dumps(env.get_stream_graph().get_job_graph()))
    """
    done = _run(textwrap.dedent(writes))
    assert done.returncode == 0, done.stderr
    reads = f"import pickle; print(pickle.load(open({str(job)!r}, 'rb')).vertices[0].name)"
    command = [sys.executable, "-c", reads]
    environment = {"PYTHONPATH": f"{SOURCE}{os.pathsep}{tmp_path}", "PATH": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert "Collection Source" in done.stdout, done.stderr
