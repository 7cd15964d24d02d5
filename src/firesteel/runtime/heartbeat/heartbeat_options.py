"""The check of the options of heartbeats, which planning a job needs without the heartbeats."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.common.options.option import InvalidOptionError
from firesteel.common.options.rpc_options import HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT

__all__ = ["check_heartbeats"]


def check_heartbeats(configuration: Mapping[str, str]) -> None:
    """Check that heartbeats come before their timeout.

    Raises:
        InvalidOptionError: they do not, so that each process would be taken for lost.
    """
    interval_s, timeout_s = HEARTBEAT_INTERVAL.of(configuration), HEARTBEAT_TIMEOUT.of(configuration)
    if timeout_s < interval_s:
        raise InvalidOptionError(
            f"option {HEARTBEAT_TIMEOUT.key!r}, {timeout_s:g} s, must not be less than {HEARTBEAT_INTERVAL.key!r}, "
            f"{interval_s:g} s"
        )
