"""A source of numbers (module as `pyflink.datastream.connectors.number_seq`)."""

from __future__ import annotations

from firesteel.connectors.number_sequence import NumberSequenceSource

__all__ = ["NumberSequenceSource"]
