"""Static check of PyFlink programs: which names work, differ or are missing."""

from firesteel.migration.findings import Finding, Kind, Report
from firesteel.migration.program_check import check_program

__all__ = ["Finding", "Kind", "Report", "check_program"]
