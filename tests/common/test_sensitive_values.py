"""Secrets are hidden wherever options are shown, also those inside values."""

from __future__ import annotations

import json

import pytest

from firesteel.common.options.sensitive_values import masked, masked_argument

SECRET = "Tr0ub4dor"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("security.ssl.key-password", SECRET),
        ("s3.secret-key", SECRET),
        ("db.passwd", SECRET),
        ("pipeline.global-job-parameters", json.dumps({"db.password": SECRET, "user": "sa"})),
        ("pipeline.global-job-parameters", json.dumps({"db": {"list": [{"api_key": SECRET}]}})),
        ("pipeline.global-job-parameters", json.dumps({"db": json.dumps({"password": f'{SECRET} "quoted"'})})),
        ("pipeline.global-job-parameters", json.dumps({"url": f"jdbc:postgresql://sa:{SECRET}@db/x"})),
        ("pipeline.global-job-parameters", f"db.password:{SECRET},user:sa"),
        ("pipeline.global-job-parameters", f"{{db.password: {SECRET}, user: sa}}"),
        ("pipeline.global-job-parameters", f"'db.password': '{SECRET} and more'"),
        ("env.java.opts", f"-Xmx1g -Ddb.password={SECRET} -Dx=y"),
        ("connection", f"jdbc:mysql://db/x?user=sa&password={SECRET}&ssl=true"),
        ("connection", f"url=jdbc:mysql://db/x?password={SECRET}"),
        ("spark.executor.extraJavaOptions", f"-Djavax.net.ssl.keyStorePassword={SECRET}"),
    ],
)
def test_secrets_in_values_are_hidden(key: str, value: str) -> None:
    shown = masked({key: value})[key]
    assert SECRET not in shown
    assert "******" in shown
    assert SECRET not in masked_argument(f"-D{key}={value}")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("pipeline.name", "my job: it counts, always"),
        ("pipeline.global-job-parameters", '{"user": "sa", "rate": 0.5}'),
        ("jobmanager.rpc.address", "http://host:8081/path"),
        ("pipeline.jars", "file:///a.jar;file:///b.jar"),
    ],
)
def test_other_values_are_shown(key: str, value: str) -> None:
    assert masked({key: value}) == {key: value}
