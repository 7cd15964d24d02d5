"""Options of restarts and scheduling."""

from __future__ import annotations

from firesteel.common.options.kinds import (
    choice,
    duration,
    integer_from,
    number_above,
    number_between,
    positive_duration,
)
from firesteel.common.options.option import Option

RESTART_TYPE = Option(
    "restart-strategy.type",
    choice(
        "none",
        "off",
        "disable",
        "fixed-delay",
        "fixeddelay",
        "failure-rate",
        "failurerate",
        "exponential-delay",
        "exponentialdelay",
    ),
    None,
    "`none`, `fixed-delay`, `failure-rate` or `exponential-delay`. Default: `exponential-delay` with a "
    "checkpointing interval, else `none`",
    shown="see effect",
)
RESTART_FIXED_DELAY_ATTEMPTS = Option(
    "restart-strategy.fixed-delay.attempts",
    integer_from(0),
    "1",
    "Restarts before the job fails",
)
RESTART_FIXED_DELAY_DELAY = Option("restart-strategy.fixed-delay.delay", duration, "1 s", "Delay before each restart")
RESTART_FAILURE_RATE_MAX_FAILURES_PER_INTERVAL = Option(
    "restart-strategy.failure-rate.max-failures-per-interval",
    integer_from(0),
    "1",
    "Failures per interval before the job fails",
)
RESTART_FAILURE_RATE_INTERVAL = Option(
    "restart-strategy.failure-rate.failure-rate-interval",
    duration,
    "1 min",
    "Length of that interval",
)
RESTART_FAILURE_RATE_DELAY = Option("restart-strategy.failure-rate.delay", duration, "1 s", "Delay before each restart")
RESTART_EXPONENTIAL_DELAY_INITIAL_BACKOFF = Option(
    "restart-strategy.exponential-delay.initial-backoff",
    positive_duration,
    "1 s",
    "First delay",
)
RESTART_EXPONENTIAL_DELAY_MAX_BACKOFF = Option(
    "restart-strategy.exponential-delay.max-backoff",
    positive_duration,
    "1 min",
    "Longest delay",
)
RESTART_EXPONENTIAL_DELAY_BACKOFF_MULTIPLIER = Option(
    "restart-strategy.exponential-delay.backoff-multiplier",
    number_above(1),
    "1.5",
    "Factor between consecutive delays",
)
RESTART_EXPONENTIAL_DELAY_RESET_BACKOFF_THRESHOLD = Option(
    "restart-strategy.exponential-delay.reset-backoff-threshold",
    positive_duration,
    "1 h",
    "Time without failure after which the delay starts over",
)
RESTART_EXPONENTIAL_DELAY_JITTER_FACTOR = Option(
    "restart-strategy.exponential-delay.jitter-factor",
    number_between(0, 1),
    "0.1",
    "Largest random deviation, as a fraction of the delay",
)
RESTART_EXPONENTIAL_DELAY_ATTEMPTS_BEFORE_RESET_BACKOFF = Option(
    "restart-strategy.exponential-delay.attempts-before-reset-backoff",
    integer_from(1),
    "2147483647",
    "Restarts before the job fails",
    shown="unlimited",
)
FAILOVER_STRATEGY = Option(
    "jobmanager.execution.failover-strategy",
    choice("region", "full"),
    "region",
    "`region`: restart the failed regions and the regions that depend on them. `full`: restart everything",
)
SCHEDULING_STRATEGY = Option(
    "jobmanager.scheduler.scheduling-strategy",
    choice("pipelined-region", "eager", "lazy-from-sources"),
    "pipelined-region",
    "`pipelined-region`, `eager` or `lazy-from-sources`",
)
SLOT_SHARING_STRATEGY = Option(
    "jobmanager.scheduler.slot-sharing-strategy",
    choice("local-input-preferred", "location-preferred", "numbered"),
    "local-input-preferred",
    "`local-input-preferred`, `location-preferred` or `numbered`. On Spark always `numbered`",
)
SCHEDULER = Option(
    "jobmanager.scheduler",
    choice("Default", "Adaptive", "AdaptiveBatch"),
    None,
    "`Adaptive` lets a STREAMING job run with fewer slots than it wants, and with more when they come. "
    "`AdaptiveBatch` derives the parallelism of BATCH operators that set none from the slots",
    shown="`AdaptiveBatch` for BATCH jobs",
)
