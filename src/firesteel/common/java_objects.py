"""Attributes of PyFlink that return Java objects, which do not exist here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, NoReturn

from firesteel.errors import FiresteelError

_ADVICE = {
    "_j_stream_execution_environment": "use the methods of StreamExecutionEnvironment, and env.get_configuration()",
    "_j_data_stream": "use the methods of DataStream",
    "_j_function": "derive from SourceFunction's or SinkFunction's successors Source and Sink",
    "_j_configuration": "use the methods of Configuration, and to_dict()",
    "_j_checkpoint_config": "use the methods of CheckpointConfig",
    "_j_execution_config": "use the methods of ExecutionConfig",
    "_j_watermark_strategy": "use the methods of WatermarkStrategy",
    "_j_type_info": "use Types to declare types",
    "_j_typeinfo": "use Types to declare types",
    "_jvm": "use the Python API",
    "get_java_type_info": "use Types to declare types; firesteel's operators take them as they are",
    "get_java_function": "give the source or sink itself to from_source(), add_source(), sink_to() or add_sink()",
}
"""The alternative to each attribute of PyFlink that returns a Java object."""


def java_advice(attribute: str) -> str | None:
    """Return the alternative to an attribute that returns a Java object in PyFlink, or None for other attributes.

    Example:
        >>> java_advice("_j_data_stream")
        'there is no Java object behind it; use the methods of DataStream'
    """
    if attribute in _ADVICE or attribute.startswith(("_j_", "get_java_")):
        return f"there is no Java object behind it; {_ADVICE.get(attribute, 'use the Python API')}"
    return None


class NoJavaObjectError(FiresteelError, AttributeError):
    """An attribute was accessed that returns a Java object in PyFlink."""


class WithoutJava:
    """The base class of objects that wrap a Java object in PyFlink, but not here.

    Example:
        >>> env._j_stream_execution_environment
        Traceback (most recent call last):
        firesteel.common.java_objects.NoJavaObjectError: ...: there is no Java object behind it; use the methods ...
    """

    __slots__ = ()

    _elsewhere: ClassVar[Mapping[str, str]] = {}
    """Names of other classes that users look for here, and what to do first."""

    if not TYPE_CHECKING:  # otherwise type checkers would accept any attribute

        def __getattr__(self, name: str) -> NoReturn:
            """Raise an error that names the alternative to a Java object, or the usual one for other names."""
            advice, owner = java_advice(name), type(self).__name__
            if advice is not None:
                raise NoJavaObjectError(f"{owner}.{name}: {advice}", name=name, obj=self)
            elsewhere = f"; {self._elsewhere[name]}" if name in self._elsewhere else ""
            raise AttributeError(f"{owner!r} object has no attribute {name!r}{elsewhere}", name=name, obj=self)
