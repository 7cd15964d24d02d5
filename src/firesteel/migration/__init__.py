"""Says before a PyFlink program runs what of it works, what differs and what is missing."""

from firesteel.migration.findings import Finding, Kind, Report
from firesteel.migration.program_check import check_program

__all__ = ["Finding", "Kind", "Report", "check_program"]
