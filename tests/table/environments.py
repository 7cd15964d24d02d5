"""The table environments of tests."""

from __future__ import annotations

from firesteel.table import EnvironmentSettings, TableEnvironment

MINI_BATCH = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "5 s",
    "table.exec.mini-batch.size": "1000",
}


def remaining(table):
    """Return the rows that a query's changes leave, in the order in which they came."""
    rows = []
    with table.execute().collect() as found:
        for row in found:
            is_added = row.get_row_kind().value in (0, 2)
            rows.append(tuple(row)) if is_added else rows.remove(tuple(row))
    return rows


def environment(mode="streaming", parallelism=1, **options):
    """Return an environment without tables; the mode is `streaming` or `batch`."""
    settings = EnvironmentSettings.in_batch_mode() if mode == "batch" else EnvironmentSettings.in_streaming_mode()
    t_env = TableEnvironment.create(settings)
    for key, value in {"parallelism.default": str(parallelism), **options}.items():
        t_env.get_config().set(key, value)
    return t_env
