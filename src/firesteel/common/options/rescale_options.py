"""Options of jobs that change their parallelism while they run."""

from __future__ import annotations

from firesteel.common.options.kinds import duration, integer_from
from firesteel.common.options.option import Option

RESCALE_COOLDOWN = Option(
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling",
    duration,
    "30 s",
    "Time after a change of the parallelism before the next one",
)
RESCALE_STABILIZATION = Option(
    "jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout",
    duration,
    "1 min",
    "Time that a running job waits for all wanted slots before it makes do with fewer",
)
SUBMISSION_STABILIZATION = Option(
    "jobmanager.adaptive-scheduler.submission.resource-stabilization-timeout",
    duration,
    "10 s",
    "Time that a job which does not run (`jobmanager.scheduler: Adaptive`) waits for all wanted slots before it makes "
    "do with fewer",
)
SUBMISSION_WAIT = Option(
    "jobmanager.adaptive-scheduler.submission.resource-wait-timeout",
    duration,
    "5 min",
    "Time that such a job waits for the slots that it needs at least, before it fails",
)
RESCALE_HISTORY_SIZE = Option(
    "web.adaptive-scheduler.rescale-history.size",
    integer_from(0),
    "5",
    "Changes of the parallelism that the REST API remembers per job",
)
