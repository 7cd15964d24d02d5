"""The command line: parses arguments and reports each error as one message with an exit code.

Exit codes: 0 finished, 1 the job or program failed, 2 wrong usage, 130 interrupted.
"""

from __future__ import annotations

import importlib

import click

from firesteel.cli.command_group import CommandGroup
from firesteel.common.terminal_text import printable

_COMMANDS = {
    "run": "run",
    "sql": "sql",
    "sql-gateway": "sql_gateway.sql_gateway",
    "check": "check",
    "examples": "new_files",
    "init": "new_files",
    "info": "info",
    "plan": "plan",
    "list": "cluster_commands.list_jobs",
    "status": "watching",
    "cancel": "cluster_commands",
    "stop": "cluster_commands",
    "savepoint": "cluster_commands",
    "checkpoint": "cluster_commands",
    "rescale": "rescale",
    "profile": "profile",
    "upgrade": "upgrade",
    "diff": "diff",
    "jobmanager": "jobmanager",
    "historyserver": "history.historyserver",
    "logs": "watching",
    "top": "watching",
    "certificates": "certificates",
    "completion": "completion",
}
"""Module of each command, and its name there if that differs."""


class _Commands(CommandGroup):
    """A group that imports a command on demand, so that it starts without the imports of the others."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        module, _, name = _COMMANDS[cmd_name].partition(".")
        command: click.Command = getattr(importlib.import_module(f"firesteel.cli.{module}"), name or cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; click itself would say "Aborted!" after Ctrl-C, with exit code 1."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            click.echo(printable(str(error)) or "Interrupted.", err=True)
            ctx.exit(130)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="firesteel")
def cli() -> None:
    """Flink programs in Python and SQL, run on Spark."""
