"""The command line `firesteel`."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; the entry point of the console script."""
    try:
        from firesteel.cli.main import cli  # here, as its imports take a moment in which Ctrl-C may come

        cli(standalone_mode=True)
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        raise SystemExit(130) from None
    finally:
        sys.stdout.flush()
