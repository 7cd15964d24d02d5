"""Options of pipelines: names, parallelism, chaining."""

from __future__ import annotations

from firesteel.common.options.kinds import boolean, choice, duration, integer_from, key_groups, mapping, string
from firesteel.common.options.option import Option

DEFAULT_PARALLELISM = Option(
    "parallelism.default",
    integer_from(-1),
    None,
    "Parallelism of operators that set none",
    shown="number of cores",
)
PIPELINE_NAME = Option(
    "pipeline.name",
    string,
    None,
    "Name of the job, if `execute()` gives none",
    shown="Flink Streaming Job",
)
MAX_PARALLELISM = Option(
    "pipeline.max-parallelism",
    key_groups,
    "-1",
    "Largest parallelism that the job can be rescaled to; -1 derives it from the parallelism",
)
AUTO_WATERMARK_INTERVAL = Option(
    "pipeline.auto-watermark-interval",
    duration,
    "200 ms",
    "Least time between two periodic watermarks",
)
OPERATOR_CHAINING = Option(
    "pipeline.operator-chaining.enabled",
    boolean,
    "true",
    "Chain operators into one task where the rules allow it",
)
CHAIN_DIFFERENT_MAX_PARALLELISM = Option(
    "pipeline.operator-chaining.chain-operators-with-different-max-parallelism",
    boolean,
    "true",
    "Chain operators whose max parallelism differs",
)
OBJECT_REUSE = Option(
    "pipeline.object-reuse",
    boolean,
    "false",
    "Pass elements between chained operators without copying them",
)
AUTO_GENERATE_UIDS = Option(
    "pipeline.auto-generate-uids",
    boolean,
    "true",
    "Generate ids of operators without `uid()`; `false` refuses such operators",
)
GLOBAL_JOB_PARAMETERS = Option(
    "pipeline.global-job-parameters",
    mapping,
    None,
    "Parameters that functions and the dashboard can read",
    shown="{}",
)
VERTEX_DESCRIPTION_MODE = Option(
    "pipeline.vertex-description-mode",
    choice("TREE", "CASCADING"),
    "TREE",
    "`TREE` or `CASCADING`: how a vertex describes its chain",
)
VERTEX_NAME_INDEX_PREFIX = Option(
    "pipeline.vertex-name-include-index-prefix",
    boolean,
    "false",
    "Prefix vertex names with their topological index",
)
