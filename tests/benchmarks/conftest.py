import sys
from pathlib import Path

from firesteel.compat import alias_pyflink

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "benchmarks"))
alias_pyflink()
