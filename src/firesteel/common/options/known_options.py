"""All known options: those of Flink and those that only firesteel has.

`flink_options.txt` contains the options of Flink 2.3, including those without an effect in firesteel, so that the
`config.yaml` of a Flink cluster is accepted.
"""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path

from firesteel.common.options.deprecated_keys import deprecated_keys

OWN_OPTIONS = (
    "security.rest.allowed-hosts",
    "security.rest.submit-without-token",
    "security.rest.token.view",
    "security.rest.token.submit",
    "security.rest.token.admin",
    "security.rpc.secret-file",
    "execution.state-recovery.allow-unverified-state",
    "security.ssl.enabled",
    "rest.server.max-concurrent-uploads",
    "env.log.format",
    "cluster.evenly-spread-out-slots",
    "jobmanager.scheduler.scheduling-strategy",
    "jobmanager.scheduler.slot-sharing-strategy",
    "resourcemanager.taskmanager-release.wait.result.consumed",
    "taskmanager.task-runner",
)
"""Options that Flink 2.3 does not have, or no longer has."""

FREE_PREFIXES = (
    "spark.",
    "fs.",
    "s3.",
    "env.",
    "metrics.reporter.",
    "external-resource.",
    "kubernetes.",
    "yarn.",
    "high-availability.zookeeper.client.authorization.",
)
"""Prefixes after which any option is accepted."""

_SIMILAR, _ALMOST_THE_SAME = 0.6, 0.9


@cache
def known_options() -> frozenset[str]:
    """Return the names of all options."""
    text = Path(__file__).with_name("flink_options.txt").read_text()
    return frozenset((*text.split(), *OWN_OPTIONS, *deprecated_keys()))


@cache
def _namespaces() -> frozenset[str]:
    return frozenset(option.split(".")[0] for option in known_options())


def doubt_about(option: str) -> str | None:
    """Return a message about an unknown option, or None if it is known or the user's own.

    An unknown option is considered misspelt if its namespace has options, or if its name is very similar to an option.
    Others are considered the user's own.

    Example:
        >>> doubt_about("execution.checkpointing.intervall")
        "there is no option 'execution.checkpointing.intervall'; did you mean 'execution.checkpointing.interval'?"
        >>> doubt_about("my-team.limit")
    """
    if option in known_options() or option.startswith(FREE_PREFIXES):
        return None
    is_ours = option.split(".")[0] in _namespaces()
    cutoff = _SIMILAR if is_ours else _ALMOST_THE_SAME
    nearest = difflib.get_close_matches(option, sorted(known_options()), n=1, cutoff=cutoff)
    if not nearest and not is_ours:
        return None
    return f"there is no option {option!r}" + (f"; did you mean {nearest[0]!r}?" if nearest else "")
