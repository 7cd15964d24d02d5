"""Tags of side outputs (module as `pyflink.datastream.output_tag`)."""

from __future__ import annotations

from firesteel.functions.output_tag import OutputTag

__all__ = ["OutputTag"]
