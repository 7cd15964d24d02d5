"""What firesteel does differently from Flink in `expressions.py`, and why."""

from __future__ import annotations

DIFFERENT: dict[str, str] = {}
