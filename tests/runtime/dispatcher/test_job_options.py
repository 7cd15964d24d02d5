"""Values of options that can't be read are refused when a job is submitted."""

from __future__ import annotations

import pytest

from firesteel.common.options.option import InvalidOptionError
from firesteel.common.options.option_check import check_options
from firesteel.runtime.dispatcher.dispatcher_gateway import JobSubmissionError
from tests.runtime.helpers import job_graph
from tests.runtime.simulated import Cluster


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("execution.buffer-timeout.interval", "soon"),
        ("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELATION"),
        ("execution.checkpointing.interval", "10 sek"),
        ("execution.checkpointing.max-concurrent-checkpoints", "0"),
        ("execution.checkpointing.num-retained", "three"),
        ("execution.checkpointing.num-retained", "0"),
        ("execution.sorted-inputs.memory", "a lot"),
        ("execution.state-recovery.claim-mode", "CLAIMED"),
        ("cluster.evenly-spread-out-slots", "yes"),
        ("execution.state-recovery.from-local", "yes"),
        ("execution.state-recovery.ignore-unclaimed-state", "yes"),
        ("state.backend.local-recovery", "yes"),
        ("parallelism.default", "many"),
        ("pipeline.max-parallelism", "1.5"),
        ("pipeline.object-reuse", "on"),
        ("restart-strategy.type", "fixed"),
        ("state.backend.type", "memory"),
        ("task.cancellation.timeout", "never"),
    ],
)
def test_a_value_that_cannot_be_read_is_refused_by_name(option: str, value: str) -> None:
    with pytest.raises(InvalidOptionError, match=option):
        check_options({option: value})


def test_the_options_of_the_chosen_restart_strategy_are_read() -> None:
    with pytest.raises(InvalidOptionError, match=r"restart-strategy\.fixed-delay\.attempts"):
        check_options({"restart-strategy.type": "fixed-delay", "restart-strategy.fixed-delay.attempts": "some"})


def test_values_as_flink_writes_them_are_accepted() -> None:
    check_options(
        {
            "execution.checkpointing.externalized-checkpoint-retention": "retain_on_cancellation",
            "execution.checkpointing.interval": "10s",
            "execution.state-recovery.claim-mode": "claim",
            "parallelism.default": "-1",
            "pipeline.max-parallelism": "-1",
            "task.cancellation.timeout": "180000",
        }
    )


async def test_a_job_with_a_misspelt_value_is_refused_and_leaves_no_trace(cluster: Cluster) -> None:
    job = job_graph(
        ("a", 1, []), configuration={"execution.checkpointing.externalized-checkpoint-retention": "RETAINED"}
    )
    with pytest.raises(JobSubmissionError, match="'RETAINED' is unknown; allowed: RETAIN_ON_CANCELLATION"):
        await cluster.gateway.submit_job(job)
    assert await cluster.ha.job_graph_store.job_ids() == ()
    assert await cluster.gateway.list_jobs() == ()
