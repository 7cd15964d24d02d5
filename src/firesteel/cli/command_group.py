"""What all commands of the command line share: groups whose help is not cut, and completion of options."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from firesteel.common.meant import meant

if TYPE_CHECKING:
    TextType = click.ParamType[str]
    TextChoice = click.Choice[str]
else:
    TextType = click.ParamType  # of one kind only before click 8.4
    TextChoice = click.Choice

__all__ = [
    "CommandGroup",
    "FileText",
    "Number",
    "OptionPair",
    "ProgramPath",
    "TextType",
    "ViewChoice",
    "Whole",
    "refuse_option",
]

_LONGEST = 500


class CommandGroup(click.Group):
    """A group that shows the whole first sentence of each command."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands with their summaries, wrapped rather than cut."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(_LONGEST)) for name, command in found if command is not None]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands that begin so with their summaries, which the shell cuts if the terminal is narrow."""
        found = super().shell_complete(ctx, incomplete)
        for item in found:
            if (command := self.get_command(ctx, item.value)) is not None:
                item.help = command.get_short_help_str(_LONGEST)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; the error about an unknown one names the command that is meant.

        click looks for it among the commands that were imported, which are none before the first is called.
        """
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"no such command {name!r}{meant(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)


def refuse_option(context: click.Context, word: str) -> None:
    """Refuse an unknown option where a program is expected: click leaves it there, as it may be the program's own.

    Raises:
        NoSuchOption: the word begins as an option does.
    """
    if word.startswith("-"):
        name = word.partition("=")[0]
        known = [one for param in context.command.get_params(context) for one in param.opts if one.startswith("-")]
        raise click.NoSuchOption(name, f"no such option {name!r}{meant(name, known)}", ctx=context)


class ProgramPath(click.Path):
    """A path of `click.Path`, in a command that passes options after it on to the program."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | os.PathLike[str]:
        """Refuse an unknown option in the place of the path."""
        if ctx is not None and not os.path.lexists(value):
            refuse_option(ctx, os.fspath(value))
        return super().convert(value, param, ctx)


class ViewChoice(TextChoice):
    """A choice of `click.Choice`, in front of a program."""

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Refuse an unknown option in the place of the choice."""
        if ctx is not None:
            refuse_option(ctx, str(value))
        return super().convert(value, param, ctx)


class Whole(click.IntRange):
    """A range of integers; click itself would call a word "not a valid integer range"."""

    name = "integer"


class Number(click.FloatRange):
    """A range of finite numbers, named as `Whole` is; NaN is in each range of click's."""

    name = "number"

    def convert(self, value: float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Refuse NaN and infinity."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number", param, ctx)
        return number


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
