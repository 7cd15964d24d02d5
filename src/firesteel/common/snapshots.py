"""The state of operators outside of their tables."""

from __future__ import annotations

from typing import Any, TypeAlias

Snapshot: TypeAlias = Any
"""What an operator or a kernel returns for a version and gets back: plain values whose form only it knows."""
