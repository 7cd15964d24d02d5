"""The manifests for Kubernetes are valid, fit together, and their commands start. No cluster is run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from click.testing import CliRunner

from firesteel.cli.jobmanager import _STOP_LIMIT_S
from firesteel.cli.main import cli
from firesteel.common.options.execution_options import TASK_CANCELLATION_TIMEOUT
from firesteel.common.options.known_options import doubt_about
from firesteel.common.options.option import InvalidOptionError
from firesteel.rest.access import Access
from firesteel.runtime.rpc import rpc_secret
from tests.spark.standalone_spark import _free_port
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

DEPLOY = Path(__file__).parents[2] / "deploy"
ENTRYPOINT = DEPLOY / "docker" / "entrypoint.sh"
MANIFESTS = sorted(path for path in (DEPLOY / "kubernetes").glob("*.yaml") if path.name != "kustomization.yaml")
VARIANTS = ["jobmanager.yaml", "jobmanager-ha.yaml"]


def documents(*names: str) -> Iterator[dict[str, Any]]:
    for path in MANIFESTS:
        if not names or path.name in names:
            yield from yaml.safe_load_all(path.read_text())


def one(kind: str, *names: str) -> dict[str, Any]:
    (found,) = (document for document in documents(*names) if document["kind"] == kind)
    return found


def options() -> dict[str, str]:
    found: dict[str, str] = yaml.safe_load(one("ConfigMap")["data"]["config.yaml"])
    return found


def container(variant: str) -> dict[str, Any]:
    found: dict[str, Any] = one("Deployment", variant)["spec"]["template"]["spec"]["containers"][0]
    return found


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_are_valid(path: Path) -> None:
    for document in documents(path.name):
        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)
    executor = yaml.safe_load(one("ConfigMap")["data"]["executor.yaml"])
    executor["spec"]["containers"][0]["image"] = "what Spark puts in"
    kubernetes_validate.validate(executor, kubernetes_validate.latest_version(), strict=True)


@pytest.mark.parametrize("variant", VARIANTS)
def test_manifests_fit_together(variant: str) -> None:
    names = {(document["kind"], document["metadata"]["name"]) for document in documents()}
    pod = one("Deployment", variant)["spec"]["template"]
    assert one("Service")["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert ("ServiceAccount", pod["spec"]["serviceAccountName"]) in names
    assert ("ServiceAccount", options()["kubernetes.taskmanager.service-account"]) in names
    assert options()["kubernetes.container.image.ref"] == container(variant)["image"]
    secrets = [
        entry["valueFrom"]["secretKeyRef"]
        for entry in container(variant)["env"]
        if "secretKeyRef" in entry["valueFrom"]
    ]
    assert {secret["key"] for secret in secrets} == set(one("Secret")["stringData"])
    listed = yaml.safe_load((DEPLOY / "kubernetes" / "kustomization.yaml").read_text())["resources"]
    assert set(listed) | set(VARIANTS) == {path.name for path in MANIFESTS}


@pytest.mark.parametrize("variant", VARIANTS)
def test_options_are_known(variant: str) -> None:
    given = [argument[2:].split("=")[0] for argument in container(variant)["args"] if argument.startswith("-D")]
    assert [doubt_about(option) for option in (*options(), *given)] == [None] * (len(options()) + len(given))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_pod_has_longer_than_a_stop_takes(variant: str) -> None:
    grace_s = one("Deployment", variant)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]
    assert grace_s > TASK_CANCELLATION_TIMEOUT.of(options()) + _STOP_LIMIT_S


def test_policies_and_budgets_select_the_pods_and_their_ports() -> None:
    executor = yaml.safe_load(one("ConfigMap")["data"]["executor.yaml"])
    pods = {pod["metadata"]["labels"]["app.kubernetes.io/component"]: pod for pod in (executor, _pod(VARIANTS[1]))}
    found = [document for document in documents() if document["kind"] in ("NetworkPolicy", "PodDisruptionBudget")]
    for document in found:
        spec = document["spec"]
        labels = (spec.get("podSelector") or spec["selector"])["matchLabels"]
        assert labels.items() <= pods[labels["app.kubernetes.io/component"]]["metadata"]["labels"].items()
    allowed = {
        port["port"]
        for document in found
        for rule in document["spec"].get("ingress", ())
        for port in rule.get("ports", ())
    }
    assert allowed == {port["name"] for port in container(VARIANTS[1])["ports"]}


def _pod(variant: str) -> dict[str, Any]:
    found: dict[str, Any] = one("Deployment", variant)["spec"]["template"]
    return found


def test_the_job_manager_of_the_deployment_starts(tmp_path: Path) -> None:
    """As the container does it, but with a local Spark, a directory for S3, and free ports."""
    made = CliRunner().invoke(cli, ["certificates", str(tmp_path / "tls")])
    assert made.exit_code == 0
    config = one("ConfigMap")["data"]["config.yaml"].replace("/etc/firesteel-tls", str(tmp_path / "tls"))
    (tmp_path / "config.yaml").write_text(config)
    port = _free_port()
    arguments = [
        argument.replace("$(POD_IP)", "127.0.0.1").replace("/etc/firesteel", str(tmp_path)).replace("8081", str(port))
        for argument in container("jobmanager.yaml")["args"]
        if not any(part in argument for part in ("$(POD_NAME", "6123", "7078", "7079"))
    ]
    here = ["-Dspark.master=local[2]", f"-Dexecution.checkpointing.dir={tmp_path}", "-Djobmanager.rpc.port=0"]
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "FIRESTEEL_RUN_DIR": str(tmp_path / "run"),
        "FIRESTEEL_RPC_SECRET": one("Secret")["stringData"]["rpc-secret"].replace("CHANGE-ME", "changed"),
        "FIRESTEEL_PROPERTIES": one("Secret")["stringData"]["properties"].replace("CHANGE-ME", "changed"),
    }
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([ENTRYPOINT, *arguments, *here], env=environment, stdout=log, stderr=log)

    def overview(token: str | None = None) -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{port}/overview")
        if token is not None:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    try:
        token = yaml.safe_load(environment["FIRESTEEL_PROPERTIES"])["security.rest.token.admin"]
        wait_for(lambda: isinstance(overview(token), dict) or process.poll() is not None)
        assert process.poll() is None, (tmp_path / "log").read_text()
        assert overview() == 401
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def test_the_values_of_the_manifest_are_refused() -> None:
    secret = one("Secret")["stringData"]
    with pytest.raises(InvalidOptionError, match="is a placeholder"):
        rpc_secret({}, {"FIRESTEEL_RPC_SECRET": secret["rpc-secret"]})
    with pytest.raises(InvalidOptionError, match="is a placeholder"):
        Access(yaml.safe_load(secret["properties"]), None)


@pytest.mark.spark
def test_the_entrypoint_starts_an_executor(tmp_path: Path) -> None:
    """It connects to the driver, and ends because there is none."""
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "SPARK_JAVA_OPT_0": "-Dspark.driver.port=1",
        "SPARK_JAVA_OPT_1": "-Dspark.app.name=name with spaces",
        "SPARK_EXECUTOR_MEMORY": "128m",
        "SPARK_DRIVER_URL": "spark://CoarseGrainedScheduler@127.0.0.1:1",
        "SPARK_EXECUTOR_ID": "1",
        "SPARK_EXECUTOR_CORES": "1",
        "SPARK_APPLICATION_ID": "spark-test",
        "SPARK_EXECUTOR_POD_IP": "127.0.0.1",
        "SPARK_RESOURCE_PROFILE_ID": "0",
        "SPARK_EXECUTOR_POD_NAME": "executor-1",
    }
    done = subprocess.run(
        [ENTRYPOINT, "executor"], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "KubernetesExecutorBackend" in said
    assert "/127.0.0.1:1" in said, said


def test_the_dockerfile_refers_to_existing_files() -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    copied = [line.split()[-2] for line in text.splitlines() if line.startswith("COPY") and "--from" not in line]
    assert all((DEPLOY.parent / path).exists() for path in copied)
    assert os.access(ENTRYPOINT, os.X_OK)
    extras = text.split("ARG EXTRAS=")[1].split()[0].split(",")
    project = (DEPLOY.parent / "pyproject.toml").read_text()
    assert [extra for extra in extras if f"\n{extra} = [" not in project] == []
    assert shutil.which("bash") is not None
