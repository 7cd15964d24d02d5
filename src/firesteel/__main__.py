"""`python -m firesteel` is the command `firesteel`."""

from firesteel.cli import main

main()
