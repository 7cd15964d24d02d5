"""The programs that PyFlink runs without more jars: what they leave is recorded."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PROGRAMS", "PYFLINK", "RECORDED"]

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
RECORDED = HERE / "recorded.json"

PYFLINK: dict[str, tuple[str, ...]] = {
    "broadcast": ("files", "print"),
    "connected": ("files", "print"),
    "csv_reader": ("files", "print"),
    "fraud": ("files", "print"),
    "functions": ("files", "print"),
    "interval_join": ("files",),
    "page_views": ("files",),
    "pandas_features": ("files",),
    "price_patterns": ("files", "print"),
    "product_changes": ("files",),
    "revenue_by_city": ("files",),
    "running_totals": ("files",),
    "sensor_windows": ("files", "print"),
    "sequence": ("datagen",),
    "sessions": ("files",),
    "split_orders": ("files",),
    "stream_to_table": ("files", "print"),
    "table_api": ("files",),
    "table_to_stream": ("files", "print"),
    "top_products": ("files",),
    "two_sinks": ("files",),
    "word_count": ("files",),
    "word_count_sql": ("files",),
}
"""Programs that PyFlink runs without more jars, with the systems they use; `record.py` has written what they leave."""
