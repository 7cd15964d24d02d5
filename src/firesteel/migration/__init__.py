"""Check of PyFlink programs: which names work, differ or are missing, and whether a trial reaches their plans.

program_check     the static check: names of PyFlink in a program's files
trial_run, trial  the program, run up to its plans in a process without network
repository_check  all programs below a directory
"""

from firesteel.migration.findings import Finding, Kind, Report
from firesteel.migration.program_check import check_program
from firesteel.migration.repository_check import CheckedProgram, RepositoryReport, programs_below
from firesteel.migration.trial_run import try_program

__all__ = [
    "CheckedProgram",
    "Finding",
    "Kind",
    "Report",
    "RepositoryReport",
    "check_program",
    "programs_below",
    "try_program",
]
