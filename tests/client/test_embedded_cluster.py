"""Programs started as `python job.py`, with the cluster in their own process."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading

import pytest

from firesteel.common import JobStatus
from firesteel.runtime.dispatcher.dispatcher_gateway import JobNotFoundError
from firesteel.table import EnvironmentSettings, TableEnvironment

PROGRAM = """
    from firesteel.common import Types
    from firesteel.datastream import StreamExecutionEnvironment

    class Doubled:
        def __init__(self, value):
            self.value = 2 * value

        def __eq__(self, other):
            return type(other) is Doubled and other.value == self.value

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)

    env.from_collection([1, 2, 3], type_info=Types.INT()).map(lambda n: n + 1, Types.INT()).print("plus one")
    client = env.execute_async("first")
    result = client.get_job_execution_result().result()
    status = client.get_job_status().result()
    print(status.name, result.get_net_runtime() > 0, result.get_job_id() == client.get_job_id())

    numbers = env.from_collection([1, 2, 3])
    with numbers.rebalance().map(Doubled).execute_and_collect() as found:
        assert sorted(d.value for d in found) == [2, 4, 6]
    assert list(numbers.map(Doubled).execute_and_collect(limit=1))[0] in [Doubled(1), Doubled(2), Doubled(3)]
    print("end")
"""


@pytest.mark.spark
def test_a_script_runs_its_jobs_in_a_cluster_of_its_own(tmp_path):
    path = tmp_path / "job.py"
    path.write_text(textwrap.dedent(PROGRAM))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    lines = done.stdout.splitlines()
    assert sorted(line.split("> ")[1] for line in lines[:3]) == ["2", "3", "4"]
    assert all(line.startswith("plus one:") for line in lines[:3])
    assert lines[3:] == ["FINISHED True True", "end"]


@pytest.mark.spark
def test_the_cluster_of_an_insert_statement_ends_with_the_job():
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.execute_sql("CREATE TABLE results (n INT) WITH ('connector' = 'blackhole')")
    before = _clusters()
    result = t_env.execute_sql("INSERT INTO results VALUES (1)")
    client = result.get_job_client()
    assert _clusters() == before + 1
    result.wait()
    assert _clusters() == before
    assert client.get_job_status().result() is JobStatus.FINISHED
    with pytest.raises(JobNotFoundError):
        client.cancel()


def _clusters():
    return sum(thread.name == "jobmanager" for thread in threading.enumerate())
