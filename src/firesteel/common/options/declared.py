"""All options that firesteel declares, by area, in the order of the documentation."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from firesteel.common.options import (
    autoscaler_options,
    checkpointing_options,
    execution_options,
    file_options,
    gateway_options,
    ha_options,
    history_options,
    log_options,
    metric_options,
    pipeline_options,
    python_options,
    rescale_options,
    rest_options,
    restart_options,
    rpc_options,
    security_options,
    slot_options,
    state_options,
    stored_options,
    table_options,
)
from firesteel.common.options.option import Option

__all__ = ["AREAS", "declared_options", "effective_options", "options_of"]

AREAS: dict[str, tuple[ModuleType, ...]] = {
    "Jobs": (pipeline_options, execution_options, python_options),
    "Checkpoints and state": (checkpointing_options, state_options),
    "Restarts and scheduling": (restart_options, rescale_options),
    "Autoscaler": (autoscaler_options,),
    "Slots and TaskManagers": (slot_options,),
    "Network addresses and RPC": (rpc_options,),
    "REST API and dashboard": (rest_options,),
    "Security": (security_options,),
    "High availability": (ha_options,),
    "History of jobs": (history_options,),
    "Metrics": (metric_options,),
    "Logs": (log_options,),
    "File systems": (file_options,),
    "SQL": (table_options,),
    "SQL gateway": (gateway_options,),
}
"""The modules of options that have an effect, by heading of the documentation."""


def options_of(*modules: ModuleType) -> list[Option[object]]:
    """Return the options that modules declare, in their order."""
    return [value for module in modules for value in vars(module).values() if isinstance(value, Option)]


@cache
def effective_options() -> dict[str, Option[object]]:
    """Return the options that have an effect, by all keys under which they are read."""
    options = [option for modules in AREAS.values() for option in options_of(*modules)]
    return {key: option for option in options for key in (*option.fallback_keys, option.key)}


@cache
def declared_options() -> dict[str, Option[object]]:
    """Return all options with a type, by all keys under which they are read."""
    stored = {key: option for option in options_of(stored_options) for key in (*option.fallback_keys, option.key)}
    return stored | effective_options()
