"""Which options of a cluster reach its jobs."""

from __future__ import annotations

import pytest

from firesteel.common.options.cluster_options import INHERITED, RECORDED, options_of_job, recorded_options
from firesteel.common.options.execution_options import TASK_CANCELLATION_TIMEOUT
from firesteel.common.options.file_options import (
    FS_DEFAULT_SCHEME,
    S3_PREFIXES,
    S3_UPLOAD_MAX_CONCURRENT,
    S3_UPLOAD_MIN_PART_SIZE,
)

FOR_FILES = [
    *(f"{prefix}secret-key" for prefix in S3_PREFIXES),
    "fs.azure.account.key.account.dfs.core.windows.net",
    FS_DEFAULT_SCHEME.key,
    S3_UPLOAD_MIN_PART_SIZE.key,
    S3_UPLOAD_MAX_CONCURRENT.key,
    "io.tmp.dirs",
    TASK_CANCELLATION_TIMEOUT.key,
]
OF_THE_CLUSTER = [
    "rest.port",
    "security.rest.token.admin",
    "security.ssl.internal.key-password",
    "high-availability.zookeeper.client.authorization",
    "jobmanager.rpc.address",
    "pipeline.name",
]


@pytest.mark.parametrize("key", FOR_FILES)
def test_access_to_files_is_inherited_and_not_recorded(key: str):
    assert options_of_job({}, {key: "cluster"}) == {key: "cluster"}
    assert options_of_job({key: "job"}, {key: "cluster"}) == {key: "job"}
    assert recorded_options({key: "cluster"}) == {}


@pytest.mark.parametrize("key", ["execution.checkpointing.interval", "state.backend.type"])
def test_options_of_state_are_inherited_and_recorded(key: str):
    assert options_of_job({}, {key: "cluster"}) == recorded_options({key: "cluster"}) == {key: "cluster"}


@pytest.mark.parametrize("key", OF_THE_CLUSTER)
def test_other_options_stay_in_the_cluster(key: str):
    assert options_of_job({}, {key: "cluster"}) == recorded_options({key: "cluster"}) == {}


def test_no_option_is_both_recorded_and_inherited():
    assert not any(one.startswith(RECORDED) for one in INHERITED)
