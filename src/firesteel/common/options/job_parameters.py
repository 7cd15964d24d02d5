"""The global parameters of a job, which all its functions can read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from firesteel.common.options.kinds import text_of
from firesteel.common.options.pipeline_options import GLOBAL_JOB_PARAMETERS

_PART = r"""(?:'(?:[^']|'')*'|"(?:[^"]|"")*"|[^'",:])*"""
_PAIR = re.compile(rf"({_PART}):((?:{_PART}:?)*)(?:,|$)")


def global_job_parameters(options: Mapping[str, object]) -> dict[str, str]:
    """Return the parameters that `pipeline.global-job-parameters` holds.

    Args:
        options: The options of a job. The value is a map in YAML's flow style (of which JSON is a part), or pairs such
            as `a:1,b:2`, in which quotes protect commas and colons.

    Raises:
        ValueError: The value is neither.
    """
    text = str(options.get(GLOBAL_JOB_PARAMETERS.key) or "").strip()
    if text.startswith("{"):
        found = _flow_map(text)
        assert isinstance(found, dict)
        return {str(key): _as_text(value) for key, value in found.items()}
    pairs: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _PAIR.match(text, position)
        if match is None or match.end() == position:
            raise ValueError(f"{GLOBAL_JOB_PARAMETERS} must be a map such as 'a:1,b:2', found {text!r}")
        pairs[_unquoted(match[1])] = _unquoted(match[2])
        position = match.end()
    return pairs


def _flow_map(text: str) -> object:
    try:
        found: object = json.loads(text)
    except ValueError:
        # Late imports: `set_global_job_parameters` writes JSON.
        import yaml

        from firesteel.common.options.core_schema import load_yaml

        try:
            found = load_yaml(text)
        except yaml.YAMLError as error:
            raise ValueError(f"{GLOBAL_JOB_PARAMETERS} must be a map such as 'a:1,b:2', found {text!r}") from error
    return found


def _as_text(value: object) -> str:
    return "" if value is None else text_of(value)


def _unquoted(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1].replace(text[0] * 2, text[0])
    return text
