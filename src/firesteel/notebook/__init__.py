"""firesteel in notebooks: `%load_ext firesteel` brings `%%sql`, a line of progress, and short errors.

magics    the cell magic `%%sql`, with results that change while a query runs
progress  a line of progress below the cell
errors    errors of one screen: the message and the user's lines
"""

from firesteel.notebook.magics import SqlMagic
from firesteel.notebook.notebook_errors import show_short_errors
from firesteel.notebook.progress import NotebookLine
from firesteel.notebook.shell import is_terminal

__all__ = ["NotebookLine", "SqlMagic", "is_terminal", "show_short_errors"]
