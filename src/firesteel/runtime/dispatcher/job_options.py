"""Validation at submission of job options that are read only while the job runs or ends."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.common.options.declared import declared_options

__all__ = ["check_job_options"]


def check_job_options(configuration: Mapping[str, str]) -> None:
    """Reject a job with an invalid option.

    Args:
        configuration: The job's configuration, merged over the cluster's.

    Raises:
        InvalidOptionError: a value is invalid; the message names the option and the allowed values.
    """
    declared = declared_options()
    for key, text in configuration.items():
        if key in declared:
            declared[key].parse(text, key)
