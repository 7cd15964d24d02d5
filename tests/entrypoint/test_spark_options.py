"""How Flink's options of a cluster become Spark's settings, for each of Spark's cluster managers."""

from __future__ import annotations

import contextlib
import os

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.entrypoint.spark_options import check_master, has_executors, spark_master, spark_settings


@pytest.mark.parametrize(
    ("master", "expected"),
    [
        (None, False),
        ("local", False),
        ("local[*]", False),
        ("local-cluster[2,1,1024]", True),
        ("spark://host:7077", True),
        ("yarn", True),
        ("k8s://https://host:443", True),
    ],
)
def test_masters_with_executors_are_recognised(master: str | None, expected: bool) -> None:
    configuration = {} if master is None else {"spark.master": master}
    assert has_executors(configuration) is expected
    assert spark_master(configuration) == master if expected else spark_master(configuration).startswith("local[")


@pytest.mark.parametrize(
    ("master", "threads", "cores"),
    [("local", "local[16,4]", "1"), ("local[3]", "local[48,4]", "3"), ("local[ 2 , 7 ]", "local[32,7]", "2")],
)
def test_a_local_spark_has_more_threads_than_cores(master: str, threads: str, cores: str) -> None:
    assert spark_master({"spark.master": master}) == threads
    assert spark_settings({"spark.master": master})["spark.executor.cores"] == cores


@pytest.mark.parametrize(
    "master", ["local[0]", "local[x]", "local[]", "local[2,]", "locals", "foo", "yarn-client", "spark:/h"]
)
def test_a_master_that_spark_does_not_know_is_refused(master: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"option 'spark.master' is '.*; must be local\[N\]"):
        spark_master({"spark.master": master})


@pytest.mark.parametrize(
    ("master", "variable", "reason"),
    [
        ("yarn", "", "needs the environment variable HADOOP_CONF_DIR or YARN_CONF_DIR"),
        ("yarn", "YARN_CONF_DIR", ""),
        ("local-cluster[1,1,x]", "", r"must be local-cluster\[EXECUTORS,CORES,MEMORY\]"),
        ("local-cluster[2, 1, 1024]", "", ""),
        ("local[2]", "", ""),
        ("spark://host:7077", "", ""),
    ],
)
def test_masters_that_spark_cannot_start_with_are_refused(
    monkeypatch: pytest.MonkeyPatch, master: str, variable: str, reason: str
) -> None:
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    if variable:
        monkeypatch.setenv(variable, "/etc/hadoop")
    with pytest.raises(InvalidOptionError, match=reason) if reason else contextlib.nullcontext():
        check_master({"spark.master": master})


def test_a_local_spark_listens_on_loopback_and_has_its_own_settings() -> None:
    given = {"taskmanager.memory.process.size": "4g", "yarn.application.queue": "etl", "spark.ui.enabled": "true"}
    local = {
        "spark.executor.cores": f"{os.cpu_count()}",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.authenticate": "true",
    }
    assert spark_settings(given) == {**local, "spark.ui.enabled": "true"}
    assert spark_settings({"jobmanager.memory.heap.size": "2 gb"}) == {**local, "spark.driver.memory": "2048m"}


@pytest.mark.parametrize("master", ["yarn", "k8s://https://host:443", "local-cluster[2,1,1024]", "spark://host:7077"])
def test_executors_authenticate_and_encrypt(master: str) -> None:
    configuration = {"spark.master": master, "jobmanager.rpc.address": "driver.example.org"}
    if master.startswith("spark:"):
        with pytest.raises(InvalidOptionError, match=r"spark\.authenticate\.secret.*driver\.example\.org"):
            spark_settings(configuration)
        configuration["spark.authenticate.secret"] = "random secret" * 2
    settings = spark_settings(configuration)
    assert settings["spark.authenticate"] == settings["spark.network.crypto.enabled"] == "true"
    opened = spark_settings({**configuration, "spark.authenticate": "false"})
    assert opened["spark.authenticate"] == "false"
    assert "spark.network.crypto.enabled" not in opened


def test_a_standalone_cluster_without_a_secret_is_for_loopback_only() -> None:
    assert "spark.authenticate" not in spark_settings({"spark.master": "spark://127.0.0.1:7077"})
    for option in ("jobmanager.bind-host", "spark.driver.bindAddress", "spark.driver.host"):
        with pytest.raises(InvalidOptionError, match=r"0\.0\.0\.0"):
            spark_settings({"spark.master": "spark://127.0.0.1:7077", option: "0.0.0.0"})


def test_executors_have_a_core_per_slot_and_reach_the_driver() -> None:
    settings = spark_settings(
        {
            "spark.master": "spark://host:7077",
            "taskmanager.numberOfTaskSlots": "4",
            "taskmanager.memory.process.size": "8 gb",
            "jobmanager.rpc.address": "driver.example.org",
            "jobmanager.bind-host": "0.0.0.0",
            "python.executable": "/opt/python/bin/python",
            "containerized.taskmanager.env.MODEL": "large",
            "spark.executor.memory": "3g",
            "spark.authenticate.secret": "random secret" * 2,
        }
    )
    expected = {
        "spark.executor.cores": "4",
        "spark.executor.memory": "3g",  # Spark's own options win
        "spark.executor.memoryOverhead": "6144m",
        "spark.driver.host": "driver.example.org",
        "spark.driver.bindAddress": "0.0.0.0",
        "spark.pyspark.python": "/opt/python/bin/python",
        "spark.executorEnv.MODEL": "large",
        "spark.dynamicAllocation.minExecutors": "0",
    }
    assert expected.items() <= settings.items()
    assert "spark.executorEnv.PYTHONPATH" in settings
    assert not [name for name in settings if not name.startswith("spark.")]


def test_yarn() -> None:
    settings = spark_settings(
        {
            "spark.master": "yarn",
            "yarn.application.name": "sessions",
            "yarn.application.queue": "etl",
            "yarn.tags": "team-a,streaming",
            "yarn.taskmanager.node-label": "ssd",
            "yarn.ship-files": "/data/words.txt;/data/model.bin",
            "security.kerberos.login.keytab": "/etc/flink.keytab",
            "security.kerberos.login.principal": "flink@EXAMPLE.ORG",
        }
    )
    expected = {
        "spark.app.name": "sessions",
        "spark.yarn.queue": "etl",
        "spark.yarn.tags": "team-a,streaming",
        "spark.yarn.executor.nodeLabelExpression": "ssd",
        "spark.yarn.dist.files": "/data/words.txt,/data/model.bin",
        "spark.kerberos.keytab": "/etc/flink.keytab",
        "spark.kerberos.principal": "flink@EXAMPLE.ORG",
    }
    assert expected.items() <= settings.items()


def test_kubernetes() -> None:
    settings = spark_settings(
        {
            "spark.master": "k8s://https://kubernetes.default.svc",
            "kubernetes.cluster-id": "clicks",
            "kubernetes.namespace": "streaming",
            "kubernetes.container.image.ref": "example/firesteel:1",
            "kubernetes.container.image.pull-secrets": "one;two",
            "kubernetes.service-account": "default-account",
            "kubernetes.taskmanager.service-account": "workers",
            "kubernetes.taskmanager.cpu.amount": "2.5",
            "kubernetes.taskmanager.labels": "team:a, tier:gold",
            "kubernetes.taskmanager.annotations": "scrape:true",
            "kubernetes.taskmanager.node-selector": "disk:ssd",
            "kubernetes.pod-template-file.taskmanager": "/etc/pod.yaml",
        }
    )
    expected = {
        "spark.app.name": "clicks",
        "spark.kubernetes.executor.podNamePrefix": "clicks",
        "spark.kubernetes.namespace": "streaming",
        "spark.kubernetes.container.image": "example/firesteel:1",
        "spark.kubernetes.container.image.pullSecrets": "one,two",
        "spark.kubernetes.authenticate.executor.serviceAccountName": "workers",
        "spark.kubernetes.executor.request.cores": "2.5",
        "spark.kubernetes.executor.label.team": "a",
        "spark.kubernetes.executor.label.tier": "gold",
        "spark.kubernetes.executor.annotation.scrape": "true",
        "spark.kubernetes.executor.node.selector.disk": "ssd",
        "spark.kubernetes.executor.podTemplateFile": "/etc/pod.yaml",
    }
    assert expected.items() <= settings.items()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("taskmanager.memory.process.size", "900 mb", "is '900 mb'; the minimum is '1 gb'"),
        ("taskmanager.memory.process.size", "much", "a memory size must be an integer"),
        ("kubernetes.taskmanager.labels", "team=a", "'team=a' is not of the form key:value"),
    ],
)
def test_unreadable_values_are_rejected_by_name(option: str, value: str, message: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"option '{option}'.*{message}"):
        spark_settings({"spark.master": "yarn", option: value})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ("10000ms", "5000ms", "45000ms")),
        ({"heartbeat.timeout": "4 s"}, ("1000ms", "400ms", "3600ms")),
        ({"heartbeat.timeout": "1 h", "heartbeat.interval": "10 min"}, ("60000ms", "360000ms", "3240000ms")),
    ],
)
def test_spark_looks_for_halted_executors_within_the_heartbeat_timeout(
    options: dict[str, str], expected: tuple[str, str, str]
) -> None:
    settings = spark_settings({"spark.master": "yarn", **options})
    names = ("executor.heartbeatInterval", "network.timeoutInterval", "storage.blockManagerHeartbeatTimeoutMs")
    assert tuple(settings[f"spark.{name}"] for name in names) == expected


def test_a_placeholder_is_no_secret() -> None:
    with pytest.raises(InvalidOptionError, match=r"option 'spark\.authenticate\.secret' is a placeholder"):
        spark_settings({"spark.master": "spark://master:7077", "spark.authenticate.secret": "..."})
