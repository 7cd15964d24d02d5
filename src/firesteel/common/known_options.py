"""The options that there are: those of Flink, and a few that only firesteel has.

`flink_options.txt` has the names of Flink 2.3's options, also of those that firesteel has no use for: a `config.yaml`
of a Flink cluster is fine as it is.
"""

from __future__ import annotations

import difflib
from functools import cache
from pathlib import Path

from firesteel.common.deprecated_keys import deprecated_keys

OWN_OPTIONS = (
    "security.rest.allowed-hosts",
    "security.rest.submit-without-token",
    "security.rest.token.view",
    "security.rest.token.submit",
    "security.rest.token.admin",
    "security.rpc.secret-file",
    "security.ssl.enabled",
    "rest.server.max-concurrent-uploads",
    "env.log.format",
    "cluster.evenly-spread-out-slots",
    "jobmanager.scheduler.scheduling-strategy",
    "jobmanager.scheduler.slot-sharing-strategy",
    "resourcemanager.taskmanager-release.wait.result.consumed",
    "taskmanager.task-runner",
)
"""Those that Flink 2.3 has not, or not any more."""

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
"""What follows these is for others to say."""

_SIMILAR, _ALMOST_THE_SAME = 0.6, 0.9


@cache
def known_options() -> frozenset[str]:
    """The names of all options."""
    text = Path(__file__).with_name("flink_options.txt").read_text()
    return frozenset((*text.split(), *OWN_OPTIONS, *deprecated_keys()))


@cache
def _namespaces() -> frozenset[str]:
    return frozenset(option.split(".")[0] for option in known_options())


def doubt_about(option: str) -> str | None:
    """What to tell of an option that is not known; None if it is, or if it is the user's own.

    An option in a namespace that has options, or with a name almost like theirs, is taken for misspelt; others are
    the user's.

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
