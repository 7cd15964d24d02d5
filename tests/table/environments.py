"""The table environments of tests."""

from __future__ import annotations

from firesteel.table import EnvironmentSettings, TableEnvironment


def environment(mode="streaming", parallelism=1):
    """Return an environment without tables; the mode is `streaming` or `batch`."""
    settings = EnvironmentSettings.in_batch_mode() if mode == "batch" else EnvironmentSettings.in_streaming_mode()
    t_env = TableEnvironment.create(settings)
    t_env.get_config().set("parallelism.default", str(parallelism))
    return t_env
