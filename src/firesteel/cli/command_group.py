"""What all commands of the command line share: groups whose help is not cut, and completion of options."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    TextType = click.ParamType[str]
else:
    TextType = click.ParamType  # of one kind only before click 8.4

__all__ = ["CommandGroup", "FileText", "OptionPair", "TextType"]

_LONGEST = 500


class CommandGroup(click.Group):
    """A group that shows the whole first sentence of each command."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their summaries, wrapped rather than cut."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(_LONGEST)) for name, command in found if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


class FileText(TextType):
    """A text that may be the path of a file, which the shell completes; others, such as a URI, are taken, too."""

    name = "path"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Let the shell complete files."""
        return [CompletionItem(incomplete, type="file")]


class OptionPair(TextType):
    """`KEY=VALUE`, of which the shell completes the key."""

    name = "key=value"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Return the keys that begin so."""
        from firesteel.common.options.known_options import known_options  # late: it reads a file

        return [CompletionItem(f"{key}=") for key in sorted(known_options()) if key.startswith(incomplete)]
