"""A cluster on hosts that share nothing: S3, ZooKeeper, Spark's Master and Workers, two JobManagers, and a client."""

from __future__ import annotations

import json
import shutil
import sys
import urllib.request
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from firesteel.spark.java import find_java
from tests.hosts.network import HERE, Host, Network
from tests.runtime.highavailability.zookeeper_server import JAR, java_for_zookeeper
from tests.waiting import wait_for

STORE, ZOOKEEPER, MASTER, CLIENT = "store", "zookeeper", "master", "client"
JOB_MANAGERS = ("jobmanager1", "jobmanager2")
WORKERS = ("worker1", "worker2", "worker3")
TOKEN = "token of the test cluster"
SECRET = "secret of the test cluster"
BUCKET = "bucket"
_REGISTERED = "Successfully registered with master"
_WAIT_S = 120
_JAVA_PACKAGES = (
    "java.lang java.lang.invoke java.io java.net java.nio java.util java.util.concurrent sun.nio.ch sun.util.calendar"
)

PROGRAM = """
import sys
from firesteel.common import Duration, Encoder, Types, WatermarkStrategy
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSink, FileSource, RollingPolicy, StreamFormat

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(3)
lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), "s3://bucket/in")
files = lines.monitor_continuously(Duration.of_millis(200)).build()
aligned = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(500))
aligned = aligned.with_watermark_alignment("all", Duration.of_seconds(10))
words = env.from_source(files, aligned, "words", Types.STRING()).uid("words")
pairs = words.map(lambda word: (word, 1), Types.TUPLE([Types.STRING(), Types.INT()]))
counts = pairs.key_by(lambda pair: pair[0], Types.STRING()).reduce(lambda a, b: (a[0], a[1] + b[1])).uid("counts")
texts = counts.map(lambda pair: f"{pair[0]} {pair[1]}", Types.STRING())
sink = FileSink.for_row_format("s3://bucket/out", Encoder.simple_string_encoder())
texts.sink_to(sink.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build()).uid("out")
env.execute("words on hosts")
"""


class HostCluster:
    """Starts everything; the job of `PROGRAM` counts words from S3 to S3.

    Leaders are elected by ZooKeeper or, with `elects_in_store`, in S3.
    """

    def __init__(self, network: Network, elects_in_store: bool = False) -> None:
        self._elects_in_store = elects_in_store
        network.add(STORE, ZOOKEEPER, MASTER, *JOB_MANAGERS, *WORKERS, CLIENT)
        self.hosts = network.hosts
        self.s3 = {
            "s3.endpoint": f"http://{self.hosts[STORE].address}:9000",
            "s3.access-key": "somebody",
            "s3.secret-key": "whatever",
            "s3.endpoint.region": "us-east-1",
            "s3.path.style.access": "true",
        }
        self._certificates: dict[str, str] = {}
        self._written: Counter[str] = Counter()
        self.start_store()
        self.start_zookeeper()
        self.start_master()
        for name in WORKERS:
            self.start_worker(name)
        # The Master places executors on the Workers that it knows.
        wait_for(lambda: all(_REGISTERED in (self.hosts[name].files / "log").read_text() for name in WORKERS))
        self._fs.call_s3("create_bucket", Bucket=BUCKET)
        for name in JOB_MANAGERS:
            self.start_job_manager(name)
        # Clients address each of them; the one that does not lead redirects.
        wait_for(lambda: all(self.get("/overview", name) for name in JOB_MANAGERS))

    # --- processes ---------------------------------------------------------------------------------------------

    def start_store(self) -> None:
        """Start the S3 server, which keeps everything in memory."""
        host = self.hosts[STORE]
        host.start(
            [sys.executable, "-m", "tests.hosts.s3_server", host.address, "9000", f"{HERE}/faults.json"], log="log"
        )
        wait_for(lambda: _answers(f"{self.s3['s3.endpoint']}/"))

    def disturb_store(self, **faults: float) -> None:
        """Let S3 refuse a share of the requests (`refused`), or take its time (`delay_s`); without any: let it be."""
        (self.hosts[STORE].files / ".faults").write_text(json.dumps(faults))
        (self.hosts[STORE].files / ".faults").rename(self.hosts[STORE].files / "faults.json")

    def start_zookeeper(self) -> None:
        """Start ZooKeeper; its data outlives its process."""
        host = self.hosts[ZOOKEEPER]
        (host.files / "zoo.cfg").write_text(
            f"dataDir={HERE}/data\nclientPort=2181\nclientPortAddress={host.address}\ntickTime=100\n"
            "minSessionTimeout=200\nmaxClientCnxns=0\nadmin.enableServer=false\n"
        )
        main = ["org.apache.zookeeper.server.ZooKeeperServerMain", f"{HERE}/zoo.cfg"]
        host.start([java_for_zookeeper(), "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", str(JAR), *main], log="log")

    def start_master(self) -> None:
        """Start Spark's Master, which knows its Workers again by their own word."""
        host = self.hosts[MASTER]
        self._start_spark(host, "master.Master", "--host", host.address, "--port", "7077", "--webui-port", "0")

    def start_worker(self, name: str) -> None:
        """Start one of Spark's Workers.

        It has room for executors of two applications: the Master does not notice that the host of a driver is gone, and
        keeps its cores.
        """
        host = self.hosts[name]
        resources = ["--host", host.address, "--cores", "2", "--memory", "2g", "--webui-port", "0"]
        self._start_spark(host, "worker.Worker", *resources, "--work-dir", f"{HERE}/work", self._spark)

    @property
    def _spark(self) -> str:
        return f"spark://{self.hosts[MASTER].address}:7077"

    def _start_spark(self, host: Host, main: str, *arguments: str) -> None:
        spec = find_spec("pyspark")
        assert spec is not None
        assert spec.submodule_search_locations is not None
        home, java = spec.submodule_search_locations[0], find_java().executable
        command = [java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", f"{home}/jars/*"]
        command += [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _JAVA_PACKAGES.split()]
        command += [
            "-Dspark.authenticate=true",
            f"-Dspark.authenticate.secret={SECRET}",
            "-Dspark.worker.timeout=10",
            f"-Djava.io.tmpdir={HERE}",
        ]
        environment = {
            "SPARK_HOME": home,
            "SPARK_SCALA_VERSION": "2.13",
            "SPARK_LOCAL_IP": host.address,
            "JAVA_HOME": str(Path(java).resolve().parent.parent),
            "PYSPARK_PYTHON": sys.executable,
        }
        host.start([*command, f"org.apache.spark.deploy.{main}", *arguments], environment, log="log")

    def _election(self) -> dict[str, str]:
        if self._elects_in_store:
            return {
                "high-availability.type": "filesystem",
                "high-availability.object-store.lease-duration": "3 s",
                "high-availability.object-store.retry-period": "500 ms",
            }
        return {
            "high-availability.type": "zookeeper",
            "high-availability.zookeeper.quorum": f"{self.hosts[ZOOKEEPER].address}:2181",
            "high-availability.zookeeper.client.session-timeout": "2 s",
        }

    def start_job_manager(self, name: str) -> None:
        """Start a JobManager."""
        host = self.hosts[name]
        options = {
            **self.s3,
            **self._tls(host),
            "rest.port": "8081",
            "security.rest.token.admin": TOKEN,
            "jobmanager.rpc.address": host.address,
            "jobmanager.rpc.port": "6123",
            **self._election(),
            "high-availability.storageDir": f"s3://{BUCKET}/ha",
            "execution.checkpointing.dir": f"s3://{BUCKET}/checkpoints",
            "execution.checkpointing.interval": "1 s",
            "restart-strategy.type": "fixed-delay",
            "restart-strategy.fixed-delay.delay": "200 ms",
            "restart-strategy.fixed-delay.attempts": "10000",
            "heartbeat.interval": "1 s",
            "heartbeat.timeout": "5 s",
            "spark.master": self._spark,
            "spark.authenticate.secret": SECRET,
            "spark.executor.memory": "512m",
            "taskmanager.numberOfTaskSlots": "1",
        }
        command = [sys.executable, "-m", "firesteel", "jobmanager", "start", "--host", host.address]
        command += [part for key, value in options.items() for part in ("-D", f"{key}={value}")]
        environment = {"FIRESTEEL_RUN_DIR": f"{HERE}/run", "FIRESTEEL_RPC_SECRET": SECRET}
        host.start(command, environment, log="log")

    def _tls(self, host: Host) -> dict[str, str]:
        """Put the cluster's certificates on all hosts, once, and return the options that name them."""
        if not self._certificates:
            made = self.run("firesteel", "certificates", f"{HERE}/certificates")
            printed = dict(line.split(": ") for line in made.splitlines() if line.startswith("security.ssl.internal."))
            self._certificates = {**printed, "security.ssl.internal.enabled": "true"}
            for other in self.hosts.values():
                if other.name != CLIENT:
                    shutil.copytree(self.hosts[CLIENT].files / "certificates", other.files / "certificates")
        return self._certificates

    # --- what a client does ------------------------------------------------------------------------------------

    def run(self, *command: str) -> str:
        """Run a command on the client's host and return its output."""
        command = (sys.executable, "-m", *command) if command[0] == "firesteel" else command
        process = self.hosts[CLIENT].start(command, {"FIRESTEEL_REST_TOKEN": TOKEN})
        out, error = process.communicate(timeout=_WAIT_S)
        assert process.returncode == 0, error.decode()
        return out.decode()

    def submit(self) -> str:
        """Submit the job and return its id."""
        (self.hosts[CLIENT].files / "words.py").write_text(PROGRAM)
        options = [part for key, value in self.s3.items() for part in ("-D", f"{key}={value}")]
        printed = self.run(
            "firesteel", "run", "-d", "-m", f"{self.hosts[JOB_MANAGERS[0]].address}:8081", *options, f"{HERE}/words.py"
        )
        return printed.split("JobID ")[1].split()[0]

    def leader(self) -> Host:
        """Return the host of the JobManager that runs the job."""
        running = [self.hosts[name] for name in JOB_MANAGERS if self.hosts[name].processes("jobmanager", "start")]
        logs = {host.name: (host.files / "log").read_text() for host in running}
        return max(running, key=lambda host: logs[host.name].rfind("switched to RUNNING"))

    def get(self, path: str, *names: str) -> Any:
        """Return the answer of a JobManager, or None if none answers."""
        for name in names or JOB_MANAGERS:
            request = urllib.request.Request(f"http://{self.hosts[name].address}:8081{path}")
            request.add_header("Authorization", f"Bearer {TOKEN}")
            try:
                with urllib.request.urlopen(request, timeout=5) as answer:
                    return json.load(answer)
            except OSError:
                continue
        return None

    @property
    def _fs(self) -> Any:
        from fsspec import get_filesystem_class

        from firesteel.common.files.file_system_options import fsspec_options

        return get_filesystem_class("s3")(**fsspec_options("s3", "", self.s3))

    def write(self, name: str, *words: str) -> None:
        """Put a file with words before the job."""
        self._fs.pipe_file(f"s3://{BUCKET}/in/{name}", "".join(f"{word}\n" for word in words).encode())
        self._written.update(words)

    def found(self) -> list[str]:
        """Return all lines that are committed."""
        fs = self._fs
        fs.invalidate_cache()
        names = [name for name in fs.find(f"{BUCKET}/out/") if "/out/" in name and "/." not in name]
        return [line for name in names for line in fs.cat_file(name).decode().splitlines()]

    def expected(self) -> list[str]:
        """Return the lines that there should be, each once."""
        return sorted(f"{word} {number}" for word, count in self._written.items() for number in range(1, count + 1))

    def is_exact(self) -> bool:
        """Whether all is committed.

        Raises:
            AssertionError: something is there that should not be, or twice.
        """
        found = Counter(self.found())
        doubled = [line for line, count in found.items() if count > 1]
        assert doubled == [], doubled
        assert set(found) <= set(self.expected())
        return len(found) == len(self.expected())


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False
