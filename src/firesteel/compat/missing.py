"""Placeholders for names of PyFlink that firesteel does not have: they can be imported, but not used."""

from __future__ import annotations

from types import ModuleType
from typing import NoReturn

_OWN_SOURCE = "read it with a class derived from Source around a Python client (docs/concepts/source.md)"
_OWN_SINK = "write with a class derived from Sink around a Python client (docs/concepts/sink.md)"
_NO_JAVA = "there is no Java process of Flink behind a program; use the Python API only"
_ADVICE = {
    "datastream.connectors.cassandra": f"there is no connector for Cassandra; {_OWN_SINK}",
    "datastream.connectors.pulsar": f"there is no connector for Pulsar; {_OWN_SOURCE}",
    "datastream.connectors.rabbitmq": f"there is no connector for RabbitMQ; {_OWN_SOURCE}",
    "fn_execution": "it is internal to PyFlink; use pyflink.datastream",
    "gen_protos": "it is internal to PyFlink; use pyflink.datastream",
    "java_gateway": _NO_JAVA,
    "ml": "there is no Flink ML; use a Python library in map()",
    "serializers": "it is internal to PyFlink; use Types to declare how records are serialised",
    "table.functions": "it is internal to PyFlink; use pyflink.table.expressions",
    "table.serializers": "it is internal to PyFlink; use TableEnvironment.from_pandas and Table.to_pandas",
    "table.utils": "it is internal to PyFlink; use pyflink.table",
    "testing": "test with firesteel.testing",
    "util": _NO_JAVA,
}
"""Alternatives to modules of PyFlink and their submodules."""


def advice_for(module: str) -> str | None:
    """Return the alternative to a module, given without `pyflink.`, or None if PyFlink has no such module."""
    parts = module.split(".")
    prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((_ADVICE[prefix] for prefix in prefixes if prefix in _ADVICE), None)


class MissingName:
    """A placeholder for a class or function that firesteel does not have; its use raises an error with an alternative.

    A program that imports it without using it runs. It may be used in annotations.
    """

    def __init__(self, name: str, advice: str) -> None:
        self.name = name
        self.advice = advice

    def refuse(self) -> NoReturn:
        """Raise the error with the alternative.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(f"{self.name} is not available in firesteel: {self.advice}")

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        """Raise the error with the alternative."""
        self.refuse()

    def __mro_entries__(self, bases: tuple[object, ...]) -> NoReturn:
        self.refuse()

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self.refuse()

    def __getitem__(self, item: object) -> MissingName:
        return self

    def __or__(self, other: object) -> MissingName:
        return self

    __ror__ = __or__

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<{self.name}, not available in firesteel: {self.advice}>"


class MissingModule(ModuleType):
    """A placeholder for a module of PyFlink that firesteel does not have.

    Attributes:
        names: Names of the module in PyFlink; empty accepts any name.
    """

    def __init__(self, name: str, advice: str, names: frozenset[str]) -> None:
        super().__init__(name, f"Not available in firesteel: {advice}.")
        if not names:
            self.__path__: list[str] = []
        self.advice = advice
        self.names = names

    def __getattr__(self, name: str) -> MissingName:
        if name.startswith("__") or (self.names and name not in self.names):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}, nor has it in PyFlink 2.3")
        return MissingName(f"{self.__name__}.{name}", self.advice)
