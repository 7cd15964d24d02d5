"""Details of explanations (module as `pyflink.table.explain_detail`)."""

from __future__ import annotations

__all__ = ["ExplainDetail"]


class ExplainDetail:
    """Additional information in the output of `explain`.

    Example:
        >>> table_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        >>> words = table_env.from_elements([("to", 1)], ["word", "n"])
        >>> "changelogMode=[I]" in words.explain(ExplainDetail.CHANGELOG_MODE)
        True
    """

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3


DETAIL_NAMES = {
    ExplainDetail.ESTIMATED_COST: "ESTIMATED_COST",
    ExplainDetail.CHANGELOG_MODE: "CHANGELOG_MODE",
    ExplainDetail.JSON_EXECUTION_PLAN: "JSON_EXECUTION_PLAN",
    ExplainDetail.PLAN_ADVICE: "PLAN_ADVICE",
}
"""The word that EXPLAIN has for a detail."""
