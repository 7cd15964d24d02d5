"""Serializers of Java's records, which `ExecutionConfig` took and Python's records never had."""

from __future__ import annotations

from firesteel.common.execution_config import ExecutionConfig
from firesteel.pyflink1.removed import Removed, note

_INSTEAD = "the types of fields in Types, since Python's values reach no serializer of Java's"


def add_default_kryo_serializer(
    self: ExecutionConfig, type_class_name: str, serializer_class_name: str
) -> ExecutionConfig:
    """Register a serializer, which has no effect."""
    return _without_effect(self, "add_default_kryo_serializer()")


def register_type_with_kryo_serializer(
    self: ExecutionConfig, type_class_name: str, serializer_class_name: str
) -> ExecutionConfig:
    """Register a serializer, which has no effect."""
    return _without_effect(self, "register_type_with_kryo_serializer()")


def register_pojo_type(self: ExecutionConfig, type_class_name: str) -> ExecutionConfig:
    """Register a class of Java, which has no effect."""
    return _without_effect(self, "register_pojo_type()")


def register_kryo_type(self: ExecutionConfig, type_class_name: str) -> ExecutionConfig:
    """Register a class of Java, which has no effect."""
    return _without_effect(self, "register_kryo_type()")


def enable_force_kryo(self: ExecutionConfig) -> ExecutionConfig:
    """Ask for Kryo, which has no effect."""
    return _without_effect(self, "enable_force_kryo()")


def disable_force_kryo(self: ExecutionConfig) -> ExecutionConfig:
    """Do without Kryo, as always."""
    return _without_effect(self, "disable_force_kryo()")


def is_force_kryo_enabled(self: ExecutionConfig) -> bool:
    """Return False: no record reaches Kryo."""
    note("is_force_kryo_enabled()", _INSTEAD)
    return False


def _without_effect(config: ExecutionConfig, name: str) -> ExecutionConfig:
    note(name, _INSTEAD)
    return config


REMOVED = tuple(
    Removed(("common.ExecutionConfig",), method.__name__, method, _INSTEAD)
    for method in (
        add_default_kryo_serializer,
        register_type_with_kryo_serializer,
        register_pojo_type,
        register_kryo_type,
        enable_force_kryo,
        disable_force_kryo,
        is_force_kryo_enabled,
    )
)
