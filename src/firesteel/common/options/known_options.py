"""All known options: those of Flink and those that only firesteel has.

`flink_options.txt` and `flink_table_options.txt` contain the options of Flink 2.3, including those without an effect
in firesteel: `option_classes` says which they are. Those of tables include the ones of the planner that Flink's
documentation leaves out, such as `table.exec.emit.early-fire.enabled`. `flink_operator_options.txt` contains the
options of the autoscaler in the Flink Kubernetes operator (`AutoScalerOptions`).
"""

from __future__ import annotations

import difflib
from functools import cache, lru_cache
from pathlib import Path

from firesteel.common.options.declared import declared_options
from firesteel.common.options.deprecated_keys import deprecated_keys

__all__ = ["doubt_about", "flink_options", "known_options", "misspelt_option"]

_RECORDED = ("flink_options.txt", "flink_table_options.txt", "flink_operator_options.txt")

FREE_PREFIXES = (
    "spark.",
    "fs.",
    "s3.",
    "s3a.",
    "env.",
    "metrics.reporter.",
    "traces.reporter.",
    "events.reporter.",
    "external-resource.",
    "kubernetes.",
    "yarn.",
    "high-availability.zookeeper.client.authorization.",
)
"""Prefixes after which any option is accepted."""

_SIMILAR, _ALMOST_THE_SAME = 0.6, 0.9
_SLIPS = 2
"""As many letters may be wrong, missing, too many or swapped in a misspelt name; other names differ by whole words."""


@cache
def flink_options() -> frozenset[str]:
    """Return the names of Flink's options."""
    texts = (Path(__file__).with_name(name).read_text() for name in _RECORDED)
    return frozenset(name for text in texts for name in text.split())


@cache
def known_options() -> frozenset[str]:
    """Return the names of all options."""
    return flink_options().union(declared_options(), deprecated_keys())


@cache
def _namespaces() -> frozenset[str]:
    return frozenset(option.split(".")[0] for option in known_options())


@lru_cache(maxsize=1024)
def doubt_about(option: str) -> str | None:
    """Return a message about an unknown option, or None if it is known or the user's own.

    An unknown option is in doubt if its namespace has options, as a newer or older Flink may have it, or if its name is
    very similar to an option. Others are considered the user's own.

    Example:
        >>> doubt_about("state.backend.speed")
        "there is no option 'state.backend.speed'; did you mean 'state.backend.type'?"
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


@lru_cache(maxsize=1024)
def misspelt_option(option: str) -> str | None:
    """Return the option that an unknown one is a slip of, or None.

    Example:
        >>> misspelt_option("execution.checkpointing.intervall"), misspelt_option("execution.checkpointing.speed")
        ('execution.checkpointing.interval', None)
    """
    if option in known_options() or option.startswith(FREE_PREFIXES):
        return None
    alike = [known for known in sorted(known_options()) if abs(len(known) - len(option)) <= _SLIPS]
    nearest = min(
        difflib.get_close_matches(option, alike, cutoff=0.75), key=lambda one: _slips(option, one), default=""
    )
    return nearest if nearest and _slips(option, nearest) <= _SLIPS < len(option) / 4 else None


def _slips(text: str, other: str) -> int:
    """Return how many letters have to be inserted, removed, replaced or swapped to make one text of the other."""
    before, last = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, letter in enumerate(text):
        row = [i + 1]
        for j, another in enumerate(other):
            slips = min(last[j] + (letter != another), last[j + 1] + 1, row[j] + 1)
            if i and j and letter == other[j - 1] and text[i - 1] == another:
                slips = min(slips, before[j - 1] + 1)
            row.append(slips)
        before, last = last, row
    return last[-1]
