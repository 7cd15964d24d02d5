"""YAML as Flink reads it: version 1.2, in whose core schema `off`, `1_0`, `+10:00` and dates are texts.

PyYAML's own schema is that of version 1.1. Flink: `YamlParserUtils`, `snakeyaml.engine.v2`.
"""

from __future__ import annotations

import re

import yaml

__all__ = ["load_yaml"]

_BASES = {"0o": 8, "0x": 16}


class _CoreLoader(yaml.SafeLoader):
    """Resolves plain scalars by the core schema."""

    # A dict of its own, as `add_implicit_resolver` would copy that of version 1.1.
    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 - as in PyYAML

    def construct_integer(self, node: yaml.ScalarNode) -> int:
        """Return an integer; zeros in front do not make it octal."""
        text = str(self.construct_scalar(node))
        return int(text, _BASES.get(text[:2], 10))


def _resolve(kind: str, pattern: str, first: str) -> None:
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{kind}", re.compile(rf"(?:{pattern})\Z"), list(first))


_resolve("bool", "true|True|TRUE|false|False|FALSE", "tTfF")
_resolve("int", "[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789")
_resolve("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789")
_resolve("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+.")
_resolve("null", "~|null|Null|NULL|", "~nN")
_CoreLoader.yaml_implicit_resolvers.setdefault("", []).append(("tag:yaml.org,2002:null", re.compile(r"\Z")))
_CoreLoader.add_constructor("tag:yaml.org,2002:int", _CoreLoader.construct_integer)


def load_yaml(text: str) -> object:
    """Return what a text says in YAML 1.2.

    Raises:
        yaml.YAMLError: it is not valid.

    Example:
        >>> load_yaml("[off, true, 1_0, 010, 1:30, +10:00, 2024-01-01, 1e3, 0x10, ~]")
        ['off', True, '1_0', 10, '1:30', '+10:00', '2024-01-01', 1000.0, 16, None]
    """
    loaded: object = yaml.load(text, _CoreLoader)
    return loaded
